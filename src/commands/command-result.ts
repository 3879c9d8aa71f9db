import type { Outcome } from '../failure'
import type { Planned } from '../planning'

/** What a command answers: the same as data and in words. */
export type CommandResult = Outcome<{ readonly json: object; readonly text: string }>

/** Says on standard error where a given plan runs otherwise than it was made for. */
export const sayChange = ({ change }: Planned): void => {
  if (change !== undefined) process.stderr.write(`${change}.\n`)
}

/** Runs with a signal that the first Ctrl-C aborts; a second one ends the process at once. */
export const interruptible =
  (use: (signal: AbortSignal) => CommandResult): CommandResult =>
  () => {
    const controller = new AbortController()
    const onInterrupt = () => (controller.signal.aborted ? process.exit(130) : controller.abort())
    process.on('SIGINT', onInterrupt)
    return use(controller.signal)().finally(() => process.off('SIGINT', onInterrupt))
  }
