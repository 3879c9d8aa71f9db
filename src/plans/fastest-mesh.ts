import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Training, checkObjective, microBatches } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { type Mesh, plannedRank, trainingOnMesh } from './mesh'
import { type Planned, type SetupGraph, isLimited, planNetwork, stagingFailure, withBudgetInBytes } from './plan-network'
import type { Setup } from './setup'
import { type PlanSpeed, betterWay, wholeOrSharded } from './sharded-optimizer'
import { type ToldSharing, checkToldMesh } from './told-mesh'
import type { Watching } from './watching'

/** What of a setup does not go with ranks; one sentence. */
const reasonAgainst = ({ objective }: SetupGraph): string | undefined =>
  objective.kind === 'train' ? undefined : '--ranks is for training steps: leave --evaluate out'

const divisorsOf = (whole: number): readonly number[] =>
  Array.from({ length: whole }, (_, index) => index + 1).filter((divisor) => whole % divisor === 0)

/**
 * How many ranks are to share updates, and whether they shard the optimizer all the same; how they
 * share micro-batches, where that is told.
 */
export interface SharingRanks extends Partial<ToldSharing> {
  readonly ranks?: number | undefined
}

/** Every mesh that so many ranks can have. */
const listMeshes = (asked: Training, batch: number, ranks: number): readonly Mesh[] =>
  divisorsOf(ranks)
    .filter((count) => microBatches(asked) % (ranks / count) === 0)
    .flatMap((count) =>
      divisorsOf(count)
        .filter((images) => batch % images === 0)
        .map((images): Mesh => ({ microBatches: ranks / count, rows: count / images, ...(images > 1 && { images }) }))
    )

/**
 * A training by each mesh that so many ranks can have: groups that each get as many micro-batches,
 * and within a group parts of as many images, and rows; by one alone where that is told. Fails
 * with one sentence where it is none.
 */
export const listObjectives = (
  asked: Training,
  batch: number,
  { ranks, shardOptimizer = false, shardRows, shardImages }: SharingRanks & { readonly ranks: number }
): E.Either<Failure, readonly Training[]> => {
  const objective = shardOptimizer ? { ...asked, shardOptimizer } : asked
  const isTold = shardRows !== undefined || shardImages !== undefined
  const told: ToldSharing = { shardRows: shardRows ?? false, shardImages: shardImages ?? false, shardOptimizer }
  return pipe(
    isTold
      ? E.map((mesh: Mesh): readonly Mesh[] => [mesh])(checkToldMesh(told, microBatches(asked), ranks))
      : E.right(listMeshes(asked, batch, ranks)),
    E.map((meshes) => meshes.map((mesh) => trainingOnMesh(objective, mesh, plannedRank(mesh))))
  )
}

/** A setup on a mesh, with its plan. */
type PlannedMesh = readonly [SetupGraph, Planned]

const planOnMesh = (built: SetupGraph, objective: Training, watching: Watching): E.Either<Failure, PlannedMesh> =>
  pipe(
    checkObjective(built.graph, objective),
    E.mapLeft(stagingFailure),
    E.chain(() => planNetwork({ ...built, objective }, watching)),
    E.map((planned): PlannedMesh => [{ ...built, objective }, planned])
  )

const speedOf = ([, { staged }]: PlannedMesh): PlanSpeed => staged

/** Whether kernels are measured before it is planned for good, which may change the plan. */
const isMeasuredFirst = ({ measure, device }: Setup): boolean => measure !== undefined && typeof device === 'string'

/** A mesh's plan, with a sharded optimizer where that is better. */
const planWays = (asked: SetupGraph, objective: Training, watching: Watching): E.Either<Failure, PlannedMesh> =>
  pipe(
    withBudgetInBytes({ ...asked, objective }),
    E.chain((built) => wholeOrSharded(built, objective, (one) => planOnMesh(built, one, watching), speedOf))
  )

/**
 * The setup as one of so many ranks has it, by the mesh whose plan is the fastest; with a sharded
 * optimizer where that is asked for, nothing fits without, or it is faster. Fails where none can
 * be, with the sentence of what needs the least memory.
 */
export const onRanks = (built: SetupGraph, { ranks, ...sharing }: SharingRanks, watching: Watching): E.Either<Failure, SetupGraph> => {
  const { objective } = built
  if (ranks === undefined) return E.right(built)
  const reason = reasonAgainst(built)
  if (reason !== undefined || objective.kind !== 'train') return E.left(inputFailure(reason ?? '--ranks is for training steps'))
  const objectives = listObjectives(objective, built.graph.input[0], { ranks, ...sharing })
  if (E.isLeft(objectives)) return objectives
  const [first, ...others] = objectives.right
  // There is nothing to choose, and nothing that must fit.
  if (others.length === 0 && !isLimited(built.setup)) {
    return E.bimap(stagingFailure, () => ({ ...built, objective: first! }))(checkObjective(built.graph, first!))
  }
  const ways = [first!, ...others].map((one) => planWays(built, one, watching))
  const fastest = ways.reduce(betterWay(speedOf))
  return E.map(([one, planned]: PlannedMesh) => (isMeasuredFirst(built.setup) ? one : { ...one, known: { ...one, planned } }))(fastest)
}
