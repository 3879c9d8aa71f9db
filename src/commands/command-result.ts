import type { Outcome } from '../failure'

/** What a command answers: the same as data and in words. */
export type CommandResult = Outcome<{ readonly json: object; readonly text: string }>

/** Runs with a signal that the first Ctrl-C aborts; a second one ends the process at once. */
export const interruptible =
  (use: (signal: AbortSignal) => CommandResult): CommandResult =>
  () => {
    const controller = new AbortController()
    const onInterrupt = () => (controller.signal.aborted ? process.exit(130) : controller.abort())
    process.on('SIGINT', onInterrupt)
    return use(controller.signal)().finally(() => process.off('SIGINT', onInterrupt))
  }
