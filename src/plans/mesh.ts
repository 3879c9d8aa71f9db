import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Training, checkObjective, microBatches } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { type Planned, type SetupGraph, planNetwork, stagingFailure } from './plan-network'
import type { Watching } from './watching'

/** How ranks share an update: micro-batches beside each other, and parts of each image. */
export interface Mesh {
  readonly microBatches: number
  readonly rows: number
  /** Each rank keeps, and updates by, its slices of the optimizer state alone. */
  readonly shardsOptimizer?: true
}

const sharesText = ({ microBatches, rows }: Mesh): string => {
  const beside = `${microBatches} micro-batches beside each other`
  if (rows === 1 && microBatches > 1) return beside
  return microBatches === 1 ? `rows of each image, ${rows} parts` : `${beside}, and rows of each image, ${rows} parts`
}

/** How ranks share an update, in words. */
export const meshText = (mesh: Mesh): string => `${sharesText(mesh)}${mesh.shardsOptimizer ? '; the optimizer state is sharded' : ''}`

const trainingOnMesh = (objective: Training, { microBatches: ranks, rows: count, shardsOptimizer }: Mesh, index: number): Training => ({
  ...objective,
  ...(shardsOptimizer && { shardOptimizer: shardsOptimizer }),
  // Of one micro-batch there are no groups.
  ...((count === 1 || microBatches(objective) > 1) && { ranks }),
  ...(count > 1 && { shard: { count, index } })
})

/** A setup's training on a mesh, as the rank at an index has it of those that share rows. */
export const onMesh = (built: SetupGraph, mesh: Mesh, index: number): SetupGraph =>
  built.objective.kind === 'train' ? { ...built, objective: trainingOnMesh(built.objective, mesh, index) } : built

/** How ranks share the updates of a training. */
export const makeMesh = ({ shard, ranks, shardOptimizer }: Training): Mesh => ({
  microBatches: ranks ?? 1,
  rows: shard?.count ?? 1,
  ...(shardOptimizer && { shardsOptimizer: shardOptimizer })
})

/** What of a setup does not go with ranks; one sentence. */
const reasonAgainst = ({ objective }: SetupGraph): string | undefined =>
  objective.kind === 'train' ? undefined : '--ranks is for training steps: leave --evaluate out'

/**
 * The meshes that so many ranks can have: groups that each get as many micro-batches, and rows
 * within a group. Of those who share rows the earlier of the two in the middle is planned for,
 * which has as many as any.
 */
const listObjectives = (objective: Training, ranks: number): readonly Training[] => {
  const counts = Array.from({ length: ranks }, (_, index) => index + 1).filter((count) => ranks % count === 0)
  return counts
    .filter((count) => microBatches(objective) % (ranks / count) === 0)
    .map((count) => trainingOnMesh(objective, { microBatches: ranks / count, rows: count }, (count - 1) >> 1))
}

/** How many ranks are to share updates, and whether they shard the optimizer all the same. */
export interface SharingRanks {
  readonly ranks?: number | undefined
  readonly shardOptimizer?: boolean
}

/** The setup on the mesh whose plan is the fastest; the first failure where none can be. */
const onFastestMesh = (built: SetupGraph, objectives: readonly Training[], watching: Watching): E.Either<Failure, SetupGraph> => {
  const checked = objectives.map((objective) =>
    pipe(
      checkObjective(built.graph, objective),
      E.bimap(stagingFailure, () => ({ ...built, objective }))
    )
  )
  // There is nothing to choose, and nothing that must fit.
  if (checked.length === 1 && built.setup.budget === undefined) return checked[0]!
  const planned = checked.map(E.chain((one) => E.map((found: Planned) => [one, found] as const)(planNetwork(one, watching))))
  const millisecondsOf = ([, { staged }]: readonly [SetupGraph, Planned]): number => staged.predicted.stepMilliseconds
  const fastest = planned.reduce((best, one) => {
    const isBetter = E.isRight(one) && (E.isLeft(best) || millisecondsOf(one.right) < millisecondsOf(best.right))
    return isBetter ? one : best
  })
  return E.map(([one]: readonly [SetupGraph, Planned]) => one)(fastest)
}

/** What fits a budget; where that does not, another, if that does. */
const unlessItFits = <A>(found: E.Either<Failure, A>, other: () => E.Either<Failure, A>): E.Either<Failure, A> => {
  if (E.isRight(found) || found.left.code !== 'budget') return found
  const instead = other()
  return E.isRight(instead) ? instead : found
}

/**
 * The setup as one of so many ranks has it, by the mesh whose plan is the fastest; with a sharded
 * optimizer where that is asked for, or nothing fits without. Fails where none can be, with the
 * sentence of the first.
 */
export const onRanks = (built: SetupGraph, { ranks, shardOptimizer }: SharingRanks, watching: Watching): E.Either<Failure, SetupGraph> => {
  const { objective } = built
  if (ranks === undefined) return E.right(built)
  const reason = reasonAgainst(built)
  if (reason !== undefined || objective.kind !== 'train') return E.left(inputFailure(reason ?? '--ranks is for training steps'))
  const objectives = listObjectives(objective, ranks)
  const sharded = () =>
    onFastestMesh(
      built,
      objectives.map((one) => ({ ...one, shardOptimizer: true })),
      watching
    )
  return shardOptimizer === true ? sharded() : unlessItFits(onFastestMesh(built, objectives, watching), sharded)
}
