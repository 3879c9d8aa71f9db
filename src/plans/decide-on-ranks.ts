import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Decision, type PlanRequest, type Training, checkObjective, decideEach } from '../../staging'
import type { Failure } from '../failure'
import { type SharingRanks, listObjectives } from './fastest-mesh'
import { makeMesh } from './mesh'
import { type SetupGraph, planRequest, stagingFailure, withBudgetInBytes } from './plan-network'
import { type PlanSpeed, betterWay, mayShardOptimizer } from './sharded-optimizer'
import type { Watching } from './watching'

/** Decides by one strategy and budget after the other. */
export type DecideInTurn = (choice: Pick<PlanRequest, 'strategy' | 'budget'>) => E.Either<Failure, Decision>

/** A request without limits on the device. */
const withoutLimits = ({ budget: _, memory: _m, strategy: _s, given: _g, ...request }: PlanRequest): Parameters<typeof decideEach>[1] =>
  request

/** Decides for a setup's graph in turn, within its device's memory or beyond; nothing is prepared before it is asked. */
export const decideInTurn = (built: SetupGraph, watching: Watching): DecideInTurn => {
  let prepared: E.Either<Failure, ReturnType<typeof decideEach>> | undefined
  return (choice) => {
    prepared ??= pipe(
      E.mapLeft(stagingFailure)(checkObjective(built.graph, built.objective)),
      E.chain(() => planRequest(built, watching)),
      E.map((request) => decideEach(built.graph, withoutLimits(request)))
    )
    return pipe(
      prepared,
      E.chain((decide) => E.mapLeft(stagingFailure)(decide(choice)))
    )
  }
}

const speedOf = ({ budget, plain, chosen }: Decision): PlanSpeed => ({
  budget,
  predicted: { plainPeakBytes: plain.peakBytes(), stepMilliseconds: chosen.milliseconds() }
})

/** Decides by a mesh, and with a sharded optimizer where that may be better. */
const decideOnMesh = (asked: SetupGraph, objective: Training, watching: Watching): DecideInTurn => {
  const inBytes = withBudgetInBytes({ ...asked, objective })
  if (E.isLeft(inBytes)) return () => inBytes
  const built = inBytes.right
  const whole = decideInTurn(built, watching)
  const sharded = decideInTurn({ ...built, objective: { ...objective, shardOptimizer: true } }, watching)
  return (choice) => {
    const found = whole(choice)
    return mayShardOptimizer(built, makeMesh(objective), E.map(speedOf)(found)) ? betterWay(speedOf)(found, sharded(choice)) : found
  }
}

/**
 * Decides for one of so many ranks, for each strategy and budget by the mesh, and with the
 * optimizer whole or sharded, whose plan is the fastest, as `onRanks` does for one budget.
 */
export const decideOnRanks = (
  built: SetupGraph,
  objective: Training,
  sharing: SharingRanks & { readonly ranks: number },
  watching: Watching
): DecideInTurn => {
  const ways = listObjectives(objective, built.graph.input[0], sharing).map((one) => decideOnMesh(built, one, watching))
  return (choice) => ways.map((way) => way(choice)).reduce(betterWay(speedOf))
}
