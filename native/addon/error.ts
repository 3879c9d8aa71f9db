import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { promise } from './codecs'

/**
 * A failure of a device; the message is one sentence. Codes: `memory` and `threads`, more was asked
 * for than this process may have; `missing`, the addon is not built or cannot be loaded; `image`,
 * pixels that a section asked for could not be read; `device`, any other; `interrupted`, the user
 * stopped it.
 */
export interface DeviceError {
  readonly code: 'device' | 'interrupted' | 'memory' | 'threads' | 'missing' | 'image'
  readonly message: string
}

/** A failure of a device; the message is one sentence. */
export const deviceError = (code: DeviceError['code'], message: string): DeviceError => ({ code, message })

const failed = t.type({
  error: t.type({ code: t.keyof({ device: null, interrupted: null, memory: null, threads: null }), message: t.string })
})

/** What to do with an addon that does not go with this code. */
export const rebuildRemedy = 'build it again with "npm run build" in a clone, or "npx tilefold-build" in a project'

/** Decodes an answer of the addon: `{ value }` of the given form, or `{ error }`. */
export const decodeAnswer =
  <A>(codec: t.Type<A, unknown>) =>
  (answer: unknown): E.Either<DeviceError, A> => {
    if (failed.is(answer)) return E.left(answer.error)
    const value = (answer as { readonly value?: unknown } | undefined)?.value
    return codec.is(value) ? E.right(value) : E.left(deviceError('device', `the addon answered with no ${codec.name}: ${rebuildRemedy}`))
  }

/** Decodes an answer that is a promise of anything. */
export const promiseAnswer = decodeAnswer(promise)

/** Decodes an answer that is promised: at once that it is, and what it then is by the codec. */
export const decodePromised =
  <A>(codec: t.Type<A, unknown>) =>
  async (answer: unknown): Promise<E.Either<DeviceError, A>> => {
    const promised = promiseAnswer(answer)
    return E.isLeft(promised) ? promised : decodeAnswer(codec)(await promised.right)
  }
