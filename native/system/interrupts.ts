import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { loadAddon } from '../addon/addon'
import { call } from '../addon/codecs'
import { decodeAnswer, type DeviceError } from '../addon/error'

/**
 * The time that the process may still run after a Ctrl-C: `not` at all; `briefly`, to end by
 * itself; as `long` as it takes, to save what there is. `ended`: it has said what it came to, and
 * after a Ctrl-C has little time left to end.
 */
export type Wait = 'not' | 'briefly' | 'long' | 'ended'

interface InterruptReply {
  /** The process's exit status, where it does not end by itself. */
  readonly status: number
  /**
   * Text that is written to standard error before the process ends; `output` goes to standard
   * output.
   */
  readonly error: string
  readonly output: string
  /** Milliseconds that `briefly` takes. */
  readonly milliseconds: number
}

/**
 * Takes SIGINT over for the whole process, once, and answers with a setter of the wait, which is
 * `not` at first. A thread of its own listens, so that planning, or a file that does not answer,
 * keeps nobody waiting. The first SIGINT calls `onInterrupt`; after the wait, and at the second
 * SIGINT, the process ends with the farewell.
 */
export const watchInterrupts = (farewell: InterruptReply, onInterrupt: () => void): E.Either<DeviceError, (wait: Wait) => void> =>
  pipe(
    loadAddon(),
    E.chain((addon) => decodeAnswer(call)(addon.watchInterrupts(farewell, onInterrupt))),
    E.map((set) => (wait) => void set(wait))
  )
