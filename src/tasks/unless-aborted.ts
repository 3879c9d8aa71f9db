import * as E from 'fp-ts/Either'
import type { Failure } from '../failure'

/**
 * The result of `running`, or that it was interrupted as soon as the signal is aborted: it may wait
 * for a file that never answers.
 */
export const unlessAborted = <A>(
  signal: AbortSignal | undefined,
  running: Promise<E.Either<Failure, A>>
): Promise<E.Either<Failure, A>> => {
  if (signal === undefined) return running
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(E.left({ code: 'interrupted', message: 'interrupted while images were read' }))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    running.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
