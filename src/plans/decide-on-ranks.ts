import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import {
  type Decision,
  type Objective,
  type PlanRequest,
  type ProfiledModel,
  type Training,
  checkObjective,
  decideEach
} from '../../staging'
import { lazy } from '../../staging/memoize'
import type { Failure } from '../failure'
import { type SharingRanks, listObjectives } from './fastest-mesh'
import { type SetupGraph, planRequest, stagingFailure, withBudgetInBytes } from './plan-network'
import { type PlanSpeed, betterWay, wholeOrSharded } from './sharded-optimizer'
import type { Watching } from './watching'

/** Decides by one strategy and budget after the other. */
export type DecideInTurn = (choice: Pick<PlanRequest, 'strategy' | 'budget'>) => E.Either<Failure, Decision>

/** Who watches, and the device as it was loaded. */
type Known = Watching & { readonly known: ProfiledModel }

/** A request without limits on the device. */
const withoutLimits = ({ budget: _, memory: _m, strategy: _s, given: _g, ...request }: PlanRequest): Parameters<typeof decideEach>[1] =>
  request

/** Decides for a setup's graph, which is prepared when it is first asked; any budget will do. */
const decideInTurn = (built: SetupGraph, known: Known): DecideInTurn => {
  const prepared = lazy(() =>
    pipe(
      E.mapLeft(stagingFailure)(checkObjective(built.graph, built.objective)),
      E.chain(() => planRequest(built, known)),
      E.map((request) => decideEach(built.graph, withoutLimits(request)))
    )
  )
  return (choice) =>
    pipe(
      prepared(),
      E.chain((decide) => E.mapLeft(stagingFailure)(decide(choice)))
    )
}

const speedOf = ({ budget, plain, chosen }: Decision): PlanSpeed => ({
  budget,
  predicted: { plainPeakBytes: plain.peakBytes(), stepMilliseconds: chosen.milliseconds() }
})

/** Decides by a mesh, and with a sharded optimizer where that may be better. */
const decideOnMesh = (asked: SetupGraph, objective: Training, known: Known): DecideInTurn => {
  const inBytes = withBudgetInBytes({ ...asked, objective })
  if (E.isLeft(inBytes)) return () => inBytes
  const built = { ...inBytes.right, objective }
  const whole = decideInTurn(built, known)
  const sharded = decideInTurn({ ...built, objective: { ...objective, shardOptimizer: true } }, known)
  return (choice) => wholeOrSharded(built, objective, (one) => (one === objective ? whole : sharded)(choice), speedOf)
}

/**
 * Decides for one of so many ranks, for each strategy and budget by the mesh, and with the
 * optimizer whole or sharded, whose plan is the fastest, as `onRanks` does for one budget; without
 * ranks for the setup as it is.
 */
export const decideOnRanks = (built: SetupGraph, objective: Objective, { ranks, ...sharing }: SharingRanks, known: Known): DecideInTurn => {
  if (ranks === undefined || objective.kind !== 'train') return decideInTurn(built, known)
  const meshes = listObjectives(objective, built.graph.input[0], { ranks, ...sharing })
  if (E.isLeft(meshes)) return () => meshes
  const ways = meshes.right.map((one) => decideOnMesh(built, one, known))
  return (choice) => ways.map((way) => way(choice)).reduce(betterWay(speedOf))
}
