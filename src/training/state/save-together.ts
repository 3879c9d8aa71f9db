import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { createStepIo } from '../../../native'
import type { Program } from '../../../staging/program/program'
import type { Failure, Outcome } from '../../failure'
import type { Ranks } from '../../ranks/ranks'
import type { RunningNetwork } from '../../running/running-network'
import type { StateWriter } from './state-writer'

/** What the first rank tells the others: to save with it, or to go on. */
const [goOn, saveNow] = [Uint8Array.of(0), Uint8Array.of(1)]

/** Whether all ranks end by this failure, after the same step. */
const isShared = (failure: Failure): boolean => failure.isShared === true

/** The failure of an answer, once something else is done that may fail too. */
const whateverComesOf =
  (last: Outcome<unknown>) =>
  (failed: Outcome<never>): Outcome<never> =>
  async () => {
    const answer = await failed()
    await last()
    return answer
  }

/**
 * The writer of a training whose ranks hold slices of the optimizer state, so that all of it is
 * gathered from all ranks: whenever the first saves, the others do too. After a step, and where the
 * weights are the best, they follow it until it goes on. Where one rank ends alone, what was learnt
 * is written from the last copy.
 */
export const saveTogether = (
  { rank, allGather }: Ranks,
  network: RunningNetwork,
  program: Program,
  createWriter: (network: RunningNetwork) => StateWriter
): StateWriter => {
  const tell = (what: Uint8Array): Outcome<Uint8Array> =>
    pipe(
      allGather(E.right(what)),
      TE.map(([told]) => told!)
    )
  if (rank === 0) {
    const writer = createWriter({
      ...network,
      save: (io) =>
        pipe(
          tell(saveNow),
          TE.chain(() => network.save(io))
        )
    })
    const goingOn = TE.chainFirst<Failure, void, Uint8Array>(() => tell(goOn))
    return {
      afterStep: (record, isStateDue) => goingOn(writer.afterStep(record, isStateDue)),
      keepLast: writer.keepLast,
      best: (steps) => goingOn(writer.best(steps)),
      finish: (record) => goingOn(writer.finish(record)),
      afterFailure: (record, failure, isBetweenSteps) =>
        isShared(failure)
          ? pipe(writer.afterFailure(record, failure, isBetweenSteps), whateverComesOf(tell(goOn)))
          : writer.afterFailure(record, failure, false)
    }
  }
  const follow: Outcome<void> = async () => {
    for (;;) {
      const told = await tell(goOn)()
      if (E.isLeft(told)) return told
      if (told.right[0] !== saveNow[0]) return E.right(undefined)
      const saved = await network.save(createStepIo(program.save))()
      if (E.isLeft(saved)) return saved
    }
  }
  return {
    afterStep: () => follow,
    keepLast: () => TE.right(undefined),
    best: () => follow,
    finish: () => follow,
    afterFailure: (_, failure) => pipe(TE.left(failure), isShared(failure) ? whateverComesOf(follow) : (left) => left)
  }
}
