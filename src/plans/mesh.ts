import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Training, checkObjective } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { type Planned, type SetupGraph, planNetwork, stagingFailure } from './plan-network'
import type { Watching } from './watching'

/** How ranks share an update: micro-batches beside each other, or parts of each image. */
export interface Mesh {
  readonly microBatches: number
  readonly rows: number
}

/** How ranks share an update, in words. */
export const meshText = ({ microBatches, rows }: Mesh): string =>
  rows > 1 || microBatches === 1 ? `rows of each image, ${rows} parts` : `${microBatches} micro-batches beside each other`

/** How ranks share the updates of a training. */
export const meshOf = ({ shard, ranks }: Training): Mesh => ({ microBatches: ranks ?? 1, rows: shard?.count ?? 1 })

/** What of a setup does not go with ranks; one sentence. */
const reasonAgainst = ({ setup, objective }: SetupGraph): string | undefined => {
  if (objective.kind !== 'train') return '--ranks is for training steps: leave --evaluate out'
  if (setup.hostBudget !== undefined) return '--host-budget is not for --ranks yet: leave it out'
  return setup.device === 'cuda' ? 'ranks train on processors: give --device cpu, or a file that describes a device' : undefined
}

/**
 * The meshes that so many ranks can have: micro-batches where each rank gets as many, and rows. Of
 * those who share rows the earlier of the two in the middle is planned for, which has as many as
 * any.
 */
const objectivesOf = (objective: Training, ranks: number): readonly Training[] => [
  ...((objective.accumulate ?? 1) % ranks === 0 ? [{ ...objective, ranks }] : []),
  { ...objective, shard: { count: ranks, index: (ranks - 1) >> 1 } }
]

/**
 * The setup as one of so many ranks has it, by the mesh whose plan is the fastest. Fails where none
 * can be, with the sentence of the first.
 */
export const onRanks = (built: SetupGraph, ranks: number | undefined, watching: Watching): E.Either<Failure, SetupGraph> => {
  if (ranks === undefined) return E.right(built)
  const reason = reasonAgainst(built)
  if (reason !== undefined || built.objective.kind !== 'train') return E.left(inputFailure(reason ?? '--ranks is for training steps'))
  const candidates = objectivesOf(built.objective, ranks).map((objective) =>
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
