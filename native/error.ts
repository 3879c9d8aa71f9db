import * as E from 'fp-ts/Either'
import * as t from 'io-ts'

/**
 * What went wrong on a device; the message is one sentence. `memory` and `threads`: more was asked
 * for than this process may have; `missing`: the addon is not built or cannot be loaded; `image`:
 * pixels that were to be read while a section runs could not be.
 */
export interface DeviceError {
  readonly code: 'device' | 'interrupted' | 'memory' | 'threads' | 'missing' | 'image'
  readonly message: string
}

export const deviceError = (code: DeviceError['code'], message: string): DeviceError => ({ code, message })

const failed = t.type({
  error: t.type({ code: t.keyof({ device: null, interrupted: null, memory: null, threads: null }), message: t.string })
})

/** What the addon answers: `{ value }` of the given form, or `{ error }`. */
export const answerOf =
  <A>(codec: t.Type<A, unknown>) =>
  (answer: unknown): E.Either<DeviceError, A> => {
    if (failed.is(answer)) return E.left(answer.error)
    const value = (answer as { readonly value?: unknown } | undefined)?.value
    return codec.is(value)
      ? E.right(value)
      : E.left(deviceError('device', `the addon unwrapAnswer with no ${codec.name}: build it again with "npm run build"`))
  }
