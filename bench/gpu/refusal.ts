import * as E from 'fp-ts/Either'
import type { Deadline } from './deadline'

/**
 * Why a measurement has no figures: the sentence of who refused, and whether memory was what
 * lacked.
 */
export interface Refusal {
  readonly message: string
  readonly outOfMemory: boolean
  /** Nobody tried: that says nothing of whether it would have run. */
  readonly isUntried?: true
}

/** Why there is no figure, in one sentence. */
export const refusal = (message: string, outOfMemory = false): Refusal => ({ message, outOfMemory })

/** For what a deadline did not leave time for. */
export const timeIsUp: Refusal = { ...refusal('not run: the time was up'), isUntried: true }

/** For what is more than something that failed. */
export const failedBefore = (what: number, { outOfMemory }: Refusal): Refusal => ({
  ...refusal(`not tried: it failed at ${what}`, outOfMemory),
  isUntried: true
})

/** What a run said, unless it was ended for its deadline: that tells nothing of it. */
export const unlessOver = <A>(deadline: Deadline, found: E.Either<Refusal, A>): E.Either<Refusal, A> =>
  E.isLeft(found) && !found.left.outOfMemory && deadline.isOver() ? E.left(timeIsUp) : found
