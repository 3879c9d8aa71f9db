import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Training, microBatches } from '../../staging'
import type { Failure } from '../failure'
import { type Mesh, makeMesh, ranksOfGroup } from './mesh'
import type { SetupGraph } from './plan-network'

/** What of a plan tells whether another, with a sharded optimizer, may be better. */
export interface PlanSpeed {
  /** Bytes; absent or null where there is no limit. */
  readonly budget?: number | null | undefined
  readonly predicted?: { readonly plainPeakBytes?: number; readonly stepMilliseconds?: number } | undefined
}

/**
 * Whether ranks that were not asked to shard the optimizer may do so: nothing fits without, or a
 * budget below the plain step's bytes makes the step slower. The latter is not for several
 * micro-batches, whose plan is to be the same on any number of ranks, nor for a given plan.
 */
export const mayShardOptimizer = ({ setup, objective }: SetupGraph, mesh: Mesh, found: E.Either<Failure, PlanSpeed>): boolean =>
  mesh.shardsOptimizer !== true &&
  mesh.microBatches * ranksOfGroup(mesh) > 1 &&
  pipe(
    found,
    E.match(
      ({ code }) => code === 'budget',
      ({ budget, predicted }) =>
        setup.plan === undefined &&
        objective.kind === 'train' &&
        microBatches(objective) === 1 &&
        (predicted?.plainPeakBytes ?? 0) > (budget ?? Infinity)
    )
  )

const millisecondsOf = ({ predicted }: PlanSpeed): number => predicted?.stepMilliseconds ?? Infinity
const bytesAskedBy = ({ smallestFeasibleBudgetBytes }: Failure): number => smallestFeasibleBudgetBytes ?? Infinity

/**
 * The better of two ways to plan: what fits, and then what is faster; of two failures the one that
 * asks for less memory. The first where they are alike.
 */
export const betterWay =
  <A>(speedOf: (planned: A) => PlanSpeed) =>
  (first: E.Either<Failure, A>, second: E.Either<Failure, A>): E.Either<Failure, A> => {
    if (E.isLeft(first)) return E.isRight(second) || bytesAskedBy(second.left) < bytesAskedBy(first.left) ? second : first
    return E.isRight(second) && millisecondsOf(speedOf(second.right)) < millisecondsOf(speedOf(first.right)) ? second : first
  }

/** What is found for a training, or with its optimizer sharded, where that is better. */
export const wholeOrSharded = <A>(
  built: SetupGraph,
  objective: Training,
  find: (objective: Training) => E.Either<Failure, A>,
  speedOf: (found: A) => PlanSpeed
): E.Either<Failure, A> => {
  const whole = find(objective)
  return mayShardOptimizer(built, makeMesh(objective), E.map(speedOf)(whole))
    ? betterWay(speedOf)(whole, find({ ...objective, shardOptimizer: true }))
    : whole
}
