import * as E from 'fp-ts/Either'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
import { linkAbort } from '../tasks/linked-abort'

type Callback = (...given: readonly unknown[]) => unknown

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'

/**
 * The failure of a run that a callback has stopped: the callback's failure, and what the run itself
 * says of its end.
 */
const stoppedFailure = (fault: string, result: E.Either<Failure, unknown>): Failure =>
  inputFailure(E.isLeft(result) ? `${fault}; ${result.left.message}` : fault)

/**
 * Runs with callbacks that throw nothing: where one throws, or a promise that it gave is rejected,
 * none is called again and the run is interrupted, so that it keeps and closes what an interrupted
 * one does; it fails with code `input` and a sentence that names the callback.
 */
export const withCallbacks =
  <O extends object, A>(run: (options: O) => Outcome<A>) =>
  (options: O): Outcome<A> => {
    const { signal } = options as { readonly signal?: AbortSignal }
    const callbacks = Object.entries(options).filter((entry): entry is [string, Callback] => typeof entry[1] === 'function')
    if (callbacks.length === 0 && signal === undefined) return run(options)
    return async () => {
      const { controller, leave } = linkAbort(signal)
      let fault: string | undefined
      const fail =
        (name: string) =>
        (thrown: unknown): void => {
          fault ??= `${name} threw an error (${errorReason(thrown)})`
          controller.abort()
        }
      const guarded = callbacks.map(([name, callback]) => {
        const call = (...given: readonly unknown[]): void => {
          if (fault !== undefined) return
          try {
            const answer = callback(...given)
            if (isPromise(answer)) answer.then(undefined, fail(name))
          } catch (thrown) {
            fail(name)(thrown)
          }
        }
        return [name, call] as const
      })
      const result = await run({ ...options, ...Object.fromEntries(guarded), signal: controller.signal })().finally(leave)
      return fault === undefined ? result : E.left(stoppedFailure(fault, result))
    }
  }
