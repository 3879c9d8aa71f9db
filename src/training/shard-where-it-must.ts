import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Failure, Outcome } from '../failure'
import type { Mesh } from '../plans/mesh'

/** What was planned, and for which mesh. */
export interface PlannedOn<A> {
  readonly mesh: Mesh
  readonly planned: A
}

/**
 * Plans for a mesh; where that does not fit the budget, for the same with a sharded optimizer. The
 * first failure where neither fits.
 */
export const shardWhereItMust = <A>(mesh: Mesh, planOn: (mesh: Mesh) => Outcome<A>): Outcome<PlannedOn<A>> => {
  const on = (one: Mesh): Outcome<PlannedOn<A>> => TE.map((planned: A) => ({ mesh: one, planned }))(planOn(one))
  return pipe(
    on(mesh),
    TE.orElse((failure: Failure) =>
      failure.code !== 'budget' || mesh.shardsOptimizer === true || mesh.microBatches * mesh.rows === 1
        ? TE.left(failure)
        : TE.mapLeft(() => failure)(on({ ...mesh, shardsOptimizer: true }))
    )
  )
}
