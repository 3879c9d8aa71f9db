import * as E from 'fp-ts/Either'
// Not all of native: help and the version need no device.
import { type Wait, watchInterrupts } from '../../native/system/interrupts'
import { exitStatus, interrupted } from '../failure'
import { failureText } from './failure-text'

/**
 * Ctrl-C, for the whole process: what runs and can end by itself is asked to, and has little time
 * for it; anything else ends at once.
 */
interface Interruption {
  /**
   * Hands `use` a signal that the first Ctrl-C aborts; a second one ends the process. `keep` says
   * that from then on there is something to save, for which the process may take as long as it
   * needs.
   */
  readonly during: <A>(use: (signal: AbortSignal, keep: () => void) => Promise<A>) => Promise<A>
  /** Says that the command's answer is about to be written: a Ctrl-C says no more. */
  readonly beginOutput: () => void
  /** All is said: the process ends soon, whatever still waits for a file that does not answer. */
  readonly finish: () => void
}

/**
 * Milliseconds that an interrupted command has to end by itself: within a second, as long as one
 * waits before one looks for another way.
 */
const briefMilliseconds = 700

/**
 * Listens for Ctrl-C where the addon is not built: a computation without a break cannot be
 * interrupted then.
 */
const listenHere = (json: boolean, onInterrupt: () => void): ((wait: Wait) => void) => {
  let wait: Wait = 'not'
  let count = 0
  process.on('SIGINT', () => {
    count += 1
    if (wait === 'not' || count > 1) {
      const { error, output } = failureText(json, interrupted)
      process.stderr.write(error)
      process.stdout.write(output)
      process.exit(exitStatus.interrupted)
    }
    onInterrupt()
  })
  return (next) => void (wait = next)
}

const listen = (json: boolean): Interruption => {
  let running: AbortController | undefined
  const onInterrupt = (): void => running?.abort()
  const farewell = { status: exitStatus.interrupted, milliseconds: briefMilliseconds, ...failureText(json, interrupted) }
  const waitFor = E.getOrElse(() => listenHere(json, onInterrupt))(watchInterrupts(farewell, onInterrupt))
  return {
    during: (use) => {
      running = new AbortController()
      waitFor('briefly')
      return use(running.signal, () => waitFor('long'))
    },
    beginOutput: () => waitFor('long'),
    finish: () => waitFor('ended')
  }
}

let listening: Interruption | undefined

/** Listens from the first call on, which says whether failures are told in JSON too. */
export const interruption = (json = false): Interruption => (listening ??= listen(json))
