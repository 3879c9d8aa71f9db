import type { Outcome } from '../failure'
import { interruption } from '../interruption'
import type { Planned } from '../planning'
import type { Watching } from '../profile'

/** What a command answers: the same as data and in words. */
export type CommandResult = Outcome<{ readonly json: object; readonly text: string }>

/** Says on standard error where a given plan runs otherwise than it was made for, and what of its device is a guess. */
export const sayChange = ({ change, guess }: Planned): void => {
  for (const sentence of [change, guess]) if (sentence !== undefined) process.stderr.write(`${sentence}.\n`)
}

/** Says on standard error how far measuring is. */
export const sayKernel: NonNullable<Watching['onKernel']> = (done, total, { kind }) => {
  if (done % 20 === 0 || done === total) process.stderr.write(`${done}/${total} kernels, ${kind}\n`)
}

/** Runs with a signal that the first Ctrl-C aborts; a second one ends the process at once. */
export const interruptible =
  (use: (signal: AbortSignal) => CommandResult): CommandResult =>
  () =>
    interruption().during((signal) => use(signal)())

/** Runs what only plans: where it measures first, it says so and Ctrl-C stops it. */
export const watchingMeasurements = <O extends Watching & { readonly measure?: boolean }>(
  options: O,
  use: (options: O) => CommandResult
): CommandResult => (options.measure === true ? interruptible((signal) => use({ ...options, onKernel: sayKernel, signal })) : use(options))
