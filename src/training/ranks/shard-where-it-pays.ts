import * as E from 'fp-ts/Either'
import * as T from 'fp-ts/Task'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PlanFile } from '../../../dsl'
import type { Outcome } from '../../failure'
import { type Mesh, onMesh, plannedRank } from '../../plans/mesh'
import { type SetupGraph, withBudgetInBytes } from '../../plans/plan-network'
import { type PlanSpeed, betterWay, mayShardOptimizer } from '../../plans/sharded-optimizer'

/** What was planned, and for which mesh. */
export interface PlannedOn<A> {
  readonly mesh: Mesh
  readonly planned: A
}

/**
 * A training whose budgets are of what plain needs with all of the optimizer's state, whoever has
 * it in the end, and of one group of ranks, however many there are. Where that cannot be told,
 * planning fails alike, and all ranks hear of it.
 */
export const withWholeState = (asked: SetupGraph, launched: Mesh): SetupGraph => {
  if (launched.shardsOptimizer) return asked
  const ofOneGroup = onMesh(asked, { ...launched, microBatches: 1 }, plannedRank(launched))
  return pipe(
    withBudgetInBytes(ofOneGroup),
    E.match(
      () => asked,
      ({ setup }) => ({ ...asked, setup })
    )
  )
}

/**
 * Plans for a mesh, and where that may be better, for the same with a sharded optimizer: the
 * faster of both. Where neither fits, the failure that asks for less memory.
 */
export const shardWhereItPays = <A>(
  built: SetupGraph,
  mesh: Mesh,
  planOn: (mesh: Mesh) => Outcome<A>,
  fileOf: (planned: A) => PlanFile
): Outcome<PlannedOn<A>> => {
  const on = (one: Mesh): Outcome<PlannedOn<A>> => TE.map((planned: A) => ({ mesh: one, planned }))(planOn(one))
  const speedOf = ({ planned }: PlannedOn<A>): PlanSpeed => fileOf(planned)
  return pipe(
    on(mesh),
    T.chain((whole) =>
      mayShardOptimizer(built, mesh, E.map(speedOf)(whole))
        ? pipe(
            on({ ...mesh, shardsOptimizer: true }),
            T.map((sharded) => betterWay(speedOf)(whole, sharded))
          )
        : T.of(whole)
    )
  )
}
