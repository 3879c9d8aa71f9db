import * as E from 'fp-ts/Either'
import type { Failure } from '../failure'
import { findLauncher } from '../ranks/launcher'
import { type ListeningSignal, endingSignals, rankSignals, resolveMeasure, withSentSignals } from './command-result'

/** What a command writes, measures and listens to on this one of the processes of a launcher. */
export interface RankRole {
  /** True of the first rank, which alone writes to the terminal. */
  readonly speaks: boolean
  /** What is measured first: ranks that measured at once would measure each other. */
  readonly measuring: typeof resolveMeasure
  /** The signal that ends it: a rank listens already, others once there is something to keep. */
  readonly withSignals: (asked: AbortSignal) => ListeningSignal
  /** A failure as this rank tells it. */
  readonly named: (failure: Failure) => Failure
  /** What a report is marked with where another rank tells it. */
  readonly silence: { readonly isSilent?: true }
}

/** The role of this process, by its rank; all of it where no launcher started it. */
export const findRankRole = (): RankRole => {
  const found = findLauncher(process.env)
  const launcher = E.isRight(found) ? found.right : undefined
  if (launcher === undefined)
    return {
      ...{ speaks: true, measuring: resolveMeasure, named: (failure) => failure, silence: {} },
      withSignals: withSentSignals(endingSignals)
    }
  const speaks = launcher.rank === 0
  return {
    speaks,
    measuring: ({ measure }) => measure === true,
    withSignals: (asked) => {
      const listening = withSentSignals(rankSignals)(asked)
      listening.listen()
      return listening
    },
    named: (failure) =>
      speaks || failure.isShared === true ? failure : { ...failure, message: `rank ${launcher.rank}: ${failure.message}` },
    silence: speaks ? {} : { isSilent: true }
  }
}
