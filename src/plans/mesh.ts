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
}

/** How ranks share an update, in words. */
export const meshText = ({ microBatches, rows }: Mesh): string => {
  const beside = `${microBatches} micro-batches beside each other`
  if (rows === 1 && microBatches > 1) return beside
  return microBatches === 1 ? `rows of each image, ${rows} parts` : `${beside}, and rows of each image, ${rows} parts`
}

const trainingOnMesh = (objective: Training, { microBatches: ranks, rows: count }: Mesh, index: number): Training => ({
  ...objective,
  // Of one micro-batch there are no groups.
  ...((count === 1 || microBatches(objective) > 1) && { ranks }),
  ...(count > 1 && { shard: { count, index } })
})

/** A setup's training on a mesh, as the rank at an index has it of those that share rows. */
export const onMesh = (built: SetupGraph, mesh: Mesh, index: number): SetupGraph =>
  built.objective.kind === 'train' ? { ...built, objective: trainingOnMesh(built.objective, mesh, index) } : built

/** How ranks share the updates of a training. */
export const makeMesh = ({ shard, ranks }: Training): Mesh => ({ microBatches: ranks ?? 1, rows: shard?.count ?? 1 })

/** What of a setup does not go with ranks; one sentence. */
const reasonAgainst = ({ setup, objective }: SetupGraph): string | undefined => {
  if (objective.kind !== 'train') return '--ranks is for training steps: leave --evaluate out'
  if (setup.hostBudget !== undefined) return '--host-budget is not for --ranks yet: leave it out'
  return setup.device === 'cuda' ? 'ranks train on processors: give --device cpu, or a file that describes a device' : undefined
}

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

/**
 * The setup as one of so many ranks has it, by the mesh whose plan is the fastest. Fails where none
 * can be, with the sentence of the first.
 */
export const onRanks = (built: SetupGraph, ranks: number | undefined, watching: Watching): E.Either<Failure, SetupGraph> => {
  if (ranks === undefined) return E.right(built)
  const reason = reasonAgainst(built)
  if (reason !== undefined || built.objective.kind !== 'train') return E.left(inputFailure(reason ?? '--ranks is for training steps'))
  const candidates = listObjectives(built.objective, ranks).map((objective) =>
    pipe(
      checkObjective(built.graph, objective),
      E.bimap(stagingFailure, () => ({ ...built, objective }))
    )
  )
  const possible = candidates.flatMap((one) => (E.isRight(one) ? [one.right] : []))
  if (possible.length <= 1) return possible[0] === undefined ? candidates[0]! : E.right(possible[0])
  const planned = possible.map((one) =>
    pipe(
      planNetwork(one, watching),
      E.map((found) => [one, found] as const)
    )
  )
  const fitting = planned.flatMap((one) => (E.isRight(one) ? [one.right] : []))
  const millisecondsOf = ([, { staged }]: readonly [SetupGraph, Planned]): number => staged.predicted.stepMilliseconds
  const fastest = fitting.reduce<(typeof fitting)[number] | undefined>(
    (best, one) => (best === undefined || millisecondsOf(one) < millisecondsOf(best) ? one : best),
    undefined
  )
  return fastest === undefined ? E.map(([one]: readonly [SetupGraph, Planned]) => one)(planned[0]!) : E.right(fastest[0])
}
