import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { identity, pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { PlanFile } from '../../../dsl'
import { decodePlanFile, toPlanFile } from '../../../staging'
import { type Outcome, inputFailure } from '../../failure'
import { type Mesh, meshCodec, onMesh } from '../../plans/mesh'
import { planNetwork } from '../../plans/plan-network'
import { type Ranks, decodeJsonAs, encodeJson } from '../../ranks/ranks'
import { type PlanTraining, planInProcess } from '../prepare'
import { shardWhereItPays, withWholeState } from './shard-where-it-pays'

const plannedCodec = t.readonly(t.type({ mesh: meshCodec, planned: t.unknown }), 'plan on a mesh')

/**
 * The first rank plans, as for one rank, so that the plan is the same however many there are; all
 * run what it found. Where the optimizer is sharded it plans for as many as there are.
 */
export const planMicroBatches =
  (ranks: Ranks, launched: Mesh): PlanTraining =>
  (asked, options) =>
  async () => {
    const built = withWholeState(asked, launched)
    const planOn = (mesh: Mesh): Outcome<PlanFile> =>
      pipe(
        planInProcess(onMesh(built, mesh.shardsOptimizer ? mesh : { ...mesh, microBatches: 1 }, 0), options),
        TE.map(({ staged }) => toPlanFile(staged))
      )
    const own: Outcome<Uint8Array> =
      ranks.rank === 0 ? pipe(shardWhereItPays(built, launched, planOn, identity), TE.map(encodeJson)) : TE.right(new Uint8Array(0))
    return pipe(
      ranks.allGather(await own()),
      TE.chainEitherK(([told]) => decodeJsonAs(plannedCodec)(told!)),
      TE.chainEitherK(({ mesh, planned }) =>
        pipe(
          E.mapLeft(inputFailure)(decodePlanFile(planned)),
          E.chain(({ plan }) => planNetwork(onMesh({ ...built, setup: { ...built.setup, plan } }, mesh, 0)))
        )
      )
    )()
  }
