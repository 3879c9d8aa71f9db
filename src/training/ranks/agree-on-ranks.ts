import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { Failure, Outcome } from '../../failure'
import { extentText } from '../../images/resolution'
import { type Ranks, decodeJsonAs, encodeJson } from '../../ranks/ranks'
import { optionFlag } from '../../options/option'
import { type Choices, choicesCodec, refuseDifference } from './agree-on-options'
import { digestData } from './data-digest'
import { programHash } from './rank-programs'
import { splitsMicroBatch } from './launched-mesh'
import type { PreparedTraining } from '../prepare'
import { recordCodec } from '../state/record-codec'
import { emptyRecord } from '../state/record'
import { choiceText } from '../state/resume-fingerprint'

/** All that must be the same on all ranks once they have planned. */
const listChoices = (prepared: PreparedTraining): Outcome<Choices> => {
  const { request, planned, fingerprint, rates, steps, validationGroups } = prepared
  const { skipBad, signal } = request.options
  return pipe(
    // Of copies that may be damaged only one may be.
    skipBad ? TE.right('any') : digestData(prepared, signal),
    TE.map((files) => {
      const { staged, device, math, threads } = planned
      const { validateEvery, earlyStop, bestBy } = request.options
      const named = (choices: Choices, text: (name: string) => string): Choices =>
        Object.fromEntries(Object.entries(choices).map(([name, value]) => [text(name), value]))
      return {
        ...named({ ...fingerprint, ...rates }, choiceText),
        ...named({ steps, validateEvery, earlyStop, bestBy, device, precision: math, threads }, optionFlag),
        ...(splitsMicroBatch(request) ? {} : { 'program of hash': programHash(staged.program) }),
        'data files of hash': files,
        'validation by': validationGroups?.map(({ window }) => extentText(window)).join(', ') ?? 'crops'
      }
    })
  )
}

const toldCodec = t.readonly(t.type({ choices: choicesCodec, record: recordCodec }), 'choice of a training')

/** Compares what was prepared on all ranks; the others go on from the first one's state. */
export const agreeOnRanks = (ranks: Ranks, prepared: E.Either<Failure, PreparedTraining>): Outcome<PreparedTraining> => {
  const told = pipe(
    TE.fromEither(prepared),
    TE.chain((found) =>
      TE.map((choices: Choices) => encodeJson({ choices, record: found.state?.record ?? emptyRecord }))(listChoices(found))
    )
  )
  return pipe(
    TE.fromTask(told),
    TE.chain(ranks.allGather),
    TE.chainEitherK(E.traverseArray(decodeJsonAs(toldCodec))),
    TE.chainFirst((all) =>
      refuseDifference(
        ranks,
        all.map(({ choices }) => choices)
      )
    ),
    TE.chainEitherK(([first]) =>
      E.map((found: PreparedTraining): PreparedTraining => {
        const { record } = first!
        return ranks.rank === 0 || record.loss.length === 0 ? found : { ...found, state: { record, restore: () => TE.right(undefined) } }
      })(prepared)
    )
  )
}
