import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { decodePlanFile, toPlanFile } from '../../staging'
import { type Outcome, inputFailure } from '../failure'
import { onMesh } from '../plans/mesh'
import { type SetupGraph, planNetwork } from '../plans/plan-network'
import { type Ranks, decodeJson, encodeJson } from '../ranks/ranks'
import { type PlanTraining, planInProcess } from './prepare'

/** A training whose micro-batches so many ranks share. */
const sharedBy = (built: SetupGraph, microBatches: number): SetupGraph => onMesh(built, { microBatches, rows: 1 }, 0)

/**
 * The first rank plans, as for one rank, so that the plan is the same however many there are; all
 * run what it found.
 */
export const planMicroBatches =
  (ranks: Ranks): PlanTraining =>
  (built, options) =>
  async () => {
    const own: Outcome<Uint8Array> =
      ranks.rank === 0
        ? pipe(
            planInProcess(sharedBy(built, 1), options),
            TE.map(({ staged }) => encodeJson(toPlanFile(staged)))
          )
        : TE.right(new Uint8Array(0))
    return pipe(
      ranks.allGather(await own()),
      TE.chainEitherK(([file]) => E.mapLeft(inputFailure)(decodePlanFile(decodeJson(file!)))),
      TE.chainEitherK(({ plan }) => planNetwork(sharedBy({ ...built, setup: { ...built.setup, plan } }, ranks.size)))
    )()
  }
