import type { Outcome } from '../failure'
import { interruption } from '../interruption'

/** What a command answers: the same as data and in words. */
export type CommandResult = Outcome<{ readonly json: object; readonly text: string }>

/** Runs with a signal that the first Ctrl-C aborts; a second one ends the process at once. */
export const interruptible =
  (use: (signal: AbortSignal) => CommandResult): CommandResult =>
  () =>
    interruption().during((signal) => use(signal)())
