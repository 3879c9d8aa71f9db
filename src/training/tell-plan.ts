import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { PlanFile } from '../../dsl'
import { decodePlanFile } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import type { SetupGraph } from '../plans/plan-network'
import { type Ranks, decodeJson, encodeJson } from '../ranks/ranks'
import { bug, encodeTold, toldFailure } from './told-failure'

/** What ranks must have alike to plan together, beside their options (`agreeOnOptions`). */
const listAlike = ({ setup, objective }: SetupGraph): Readonly<Record<string, unknown>> => ({
  objective: { ...objective, shard: undefined },
  plan: setup.plan
})

const namedTexts = t.array(t.tuple([t.string, t.string]))

/** Fails on all ranks where one would plan otherwise: they would not meet. */
export const agreeBefore = ({ allGather }: Ranks, built: SetupGraph): Outcome<void> =>
  pipe(
    allGather(E.right(encodeJson(Object.entries(listAlike(built)).map(([name, value]) => [name, JSON.stringify(value) ?? 'none'])))),
    TE.chainEitherK(
      E.traverseArray((bytes) => E.fromPredicate(namedTexts.is, () => bug('a rank told of its options what is none'))(decodeJson(bytes)))
    ),
    TE.chainEitherK(([first, ...others]) => {
      const differing = others.flatMap((other, index) =>
        first!.flatMap(([name, value], at) => (other[at]?.[1] === value ? [] : [{ rank: index + 1, name }]))
      )[0]
      return differing === undefined
        ? E.right(undefined)
        : E.left(
            inputFailure(
              `rank ${differing.rank} has another ${differing.name} than rank 0: start all ranks with the same options, data and build`
            )
          )
    })
  )

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
