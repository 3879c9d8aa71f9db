import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { PlanFile } from '../../../dsl'
import { decodePlanFile } from '../../../staging'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import type { SetupGraph } from '../../plans/plan-network'
import { type Ranks, decodeJson } from '../../ranks/ranks'
import { agreeOn } from './agree-on-options'
import { encodeTold, toldFailure } from './told-failure'

/** Fails on all ranks where one would plan otherwise by what it has read: they would not meet. */
export const agreeBefore = (ranks: Ranks, { setup, objective }: SetupGraph): Outcome<void> =>
  agreeOn(ranks, E.right({ objective: { ...objective, shard: undefined }, plan: setup.plan }))

const decodeFound = (value: unknown): E.Either<Failure, PlanFile> => {
  if (toldFailure.is(value)) return E.left(value.failure)
  return pipe(
    decodePlanFile((value as { readonly file?: unknown }).file),
    E.bimap(inputFailure, ({ plan }) => plan)
  )
}

/** The first rank's plan, or why there is none, on all ranks. */
export const tellPlan =
  ({ rank, allGather }: Ranks, own: Outcome<PlanFile>): Outcome<PlanFile> =>
  async () => {
    const found = rank === 0 ? await own() : undefined
    const gathered = await allGather(E.right(found === undefined ? new Uint8Array(0) : encodeTold('file', found)))()
    if (E.isLeft(gathered)) return gathered
    // The first rank's own failure has more to say.
    return found !== undefined && E.isLeft(found) ? found : decodeFound(decodeJson(gathered.right[0]!))
  }
