import type { Outcome } from '../failure'
import { interruption } from './interruption'
import type { Planned } from '../plans/plan-network'
import { printable, printableLines } from '../text/printable'
import type { Watching } from '../plans/watching'

/** The answer of a command, as data and in words. */
export type CommandResult = Outcome<{ readonly json: object; readonly text: string }>

/** Writes lines for people, whatever names stand in them. */
export const say = (stream: NodeJS.WritableStream, text: string): void => void stream.write(`${printableLines(text)}\n`)

/**
 * Says on standard error where a given plan has earlier names or runs otherwise than it was made
 * for, and what of its device is a guess.
 */
export const sayPlanNotes = ({ planNotice, change, guess }: Planned): void => {
  for (const sentence of [planNotice, change, guess]) if (sentence !== undefined) sayNotice(sentence)
}

/** Says on standard error what the user should see. */
export const sayNotice = (sentence: string): void => say(process.stderr, `${printable(sentence)}.`)

/** Says on standard error how far measuring is. */
export const sayKernel: NonNullable<Watching['onKernel']> = (done, total, { kind }) => {
  if (done % 20 === 0 || done === total) process.stderr.write(`${done}/${total} kernels, ${kind}\n`)
}

/**
 * Runs with a signal that the first Ctrl-C aborts; a second one ends the process at once. Calling
 * `keep` says that there is something to save from then on.
 */
export const withInterrupt =
  (use: (signal: AbortSignal, keep: () => void) => CommandResult): CommandResult =>
  () =>
    interruption().during((signal, keep) => use(signal, keep)())

/** Runs what only plans: where it measures first, it says so and Ctrl-C stops it. */
export const withMeasuring = <O extends Watching & { readonly measure?: boolean }>(
  options: O,
  use: (options: O) => CommandResult
): CommandResult => (options.measure === true ? withInterrupt((signal) => use({ ...options, onKernel: sayKernel, signal })) : use(options))
