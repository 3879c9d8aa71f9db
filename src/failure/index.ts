import { types } from 'node:util'
import * as E from 'fp-ts/Either'
import type { TaskEither } from 'fp-ts/TaskEither'
import type { DeviceError } from '../../native'

/**
 * A failure, as a value. `message` is one sentence with the figures and the remedy. Codes: `input`,
 * usage or bad input; `budget`, it does not fit; `loss`, not finite; `missing`, a part of the
 * installation; `device`, the device failed; `interrupted`, by the user; `bug`, ours.
 */
export interface Failure {
  readonly code: 'input' | 'budget' | 'loss' | 'missing' | 'device' | 'interrupted' | 'bug'
  readonly message: string
  /**
   * Smallest budget in bytes that this strategy was found to meet, if any; with code `budget`
   * only.
   */
  readonly smallestFeasibleBudgetBytes?: number
  /**
   * The report that --json writes beside the error, where that is more than the budget that would
   * do; with code `budget` only.
   */
  readonly report?: object
  /** Set where all ranks fail with it, so that the first of them tells it. */
  readonly isShared?: true
  /** The value that was thrown; with code `bug` only. */
  readonly thrown?: unknown
}

/** Work that ends with a value, or with a failure that one sentence tells. */
export type Outcome<A> = TaskEither<Failure, A>

/** The process's exit status for each code, as the command line promises. */
export const exitStatus: { readonly [C in Failure['code']]: number } = {
  bug: 1,
  device: 1,
  input: 2,
  missing: 2,
  budget: 3,
  loss: 4,
  interrupted: 130
}

/** A failure of what the user gave: options, files or a model. */
export const inputFailure = (message: string): Failure => ({ code: 'input', message })

/** Less memory or fewer threads than were asked for, or an image, are no fault of the device's. */
export const deviceFailure = ({ code, message }: DeviceError): Failure => ({
  code: code === 'memory' || code === 'threads' || code === 'image' ? 'input' : code,
  message
})

/** A failure of ours, not of the user, that was seen before anything was thrown. */
export const bug = (message: string): Failure => ({ code: 'bug', message })

/** Whether this is an error, of any realm: Jest runs tests in one that Node's own are not of. */
export const isError = (thrown: unknown): thrown is Error => thrown instanceof Error || types.isNativeError(thrown)

/** Any relative path is resolved against the working folder, which someone may remove meanwhile. */
const isFolderGone = (thrown: unknown): boolean => isError(thrown) && /, uv_cwd$/.test(thrown.message)

/** A failure by something that nobody expected to be thrown. */
export const bugFailure = (thrown: unknown): Failure =>
  isFolderGone(thrown)
    ? inputFailure('the working folder was removed: change to one that exists')
    : { code: 'bug', message: `a bug of Tilefold: ${errorReason(thrown)}`, thrown }

/** Stopped by the user. */
export const interrupted: Failure = { code: 'interrupted', message: 'interrupted' }

/** Stopped by the user while steps ran; `step` of them are complete. */
export const interruptedFailure = (step: number, steps: number): Failure => ({
  code: 'interrupted',
  message: `interrupted after ${step} of ${steps} steps`
})

/** Anything may be thrown, even what has no text. */
const thrownText = (thrown: unknown): string =>
  E.getOrElse(() => 'something without a text')(
    E.tryCatch(
      () => String(thrown),
      () => undefined
    )
  )

/** Number of failures that are told in full, of several. */
const maxSentences = 3

/** All values, or the first failures as one: of so many files each has its sentence. */
export const collectFailures = <A>(results: readonly E.Either<Failure, A>[]): E.Either<Failure, readonly A[]> => {
  const failures = results.flatMap((result) => (E.isLeft(result) ? [result.left] : []))
  const [first] = failures
  if (first === undefined) return E.right(results.flatMap((result) => (E.isLeft(result) ? [] : [result.right])))
  const sentences = failures.slice(0, maxSentences).map(({ message }) => message)
  const more = failures.length > maxSentences ? [`and so it is with ${failures.length - maxSentences} more of ${results.length}`] : []
  return E.left({ ...first, message: [...sentences, ...more].join('; ') })
}

/** A failure's sentence, for use inside another one. */
export const clause = ({ message }: Pick<Failure, 'message'>): string => message.replace(/\.$/, '')

/** The first line of what a library or the system threw, for use inside a sentence of ours. */
export const errorReason = (thrown: unknown): string => {
  const text = isError(thrown) ? `${thrown.message}` : thrownText(thrown)
  // Of "ENOENT: no such file or directory, open '...'" only the middle is for people.
  const [, system] = /^E[A-Z]+: ([^,]+), /.exec(text) ?? []
  return system ?? text.trim().split('\n')[0]!.replace(/\.$/, '')
}
