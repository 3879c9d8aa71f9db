import type { Outcome } from '../failure'
import { interruption } from './interruption'
import type { Planned } from '../plans/plan-network'
import { printable, printableLines } from '../text/printable'
import { throttle, type Watching } from '../plans/watching'

/** The answer of a command, as data and in words. */
export type CommandResult = Outcome<{
  readonly json: object
  readonly text: string
  /** True if another process answers. */
  readonly isSilent?: true
}>

/** How a command is to say what it says. */
export interface Words {
  /** Whether the answer is one JSON object. */
  readonly json: boolean
  /** Whether nothing is said but the answer and what the user should see. */
  readonly quiet: boolean
}

/** Writes lines for people, whatever names stand in them. */
export const say = (stream: NodeJS.WritableStream, text: string): void => void stream.write(`${printableLines(text)}\n`)

/**
 * Returns which options change nothing of the model, where a given plan has earlier names or runs
 * otherwise than it was made for, and what of its device is a guess.
 */
export const planNotes = ({ modelNotice, planNotice, change, guess }: Planned): readonly string[] =>
  [modelNotice, planNotice, change, guess].filter((sentence) => sentence !== undefined)

/** Says on standard error what there is to say of a plan. */
export const sayPlanNotes = (planned: Planned): void => planNotes(planned).forEach(sayNotice)

/** Says on standard error what the user should see. */
export const sayNotice = (sentence: string): void => void process.stderr.write(`${noticeText(sentence)}\n`)

/** A sentence that the user should see, as a line. */
export const noticeText = (sentence: string): string => printableLines(`${printable(sentence)}.`)

/** Says on standard error how far measuring is. */
const sayKernel: NonNullable<Watching['onKernel']> = (done, total, { kind }) => {
  if (done % 20 === 0 || done === total) process.stderr.write(`${done}/${total} kernels, ${kind}\n`)
}

/** Says on standard error how far the search for a plan is. */
const saySearch: NonNullable<Watching['onSearch']> = ({ plans, segments }) => {
  process.stderr.write(`planning: ${segments} segments, ${plans} plans looked at\n`)
}

/** Milliseconds between lines of a log, which a terminal has each second. */
const betweenLogLines = 30_000

/** Callbacks that tell people how far the search for a plan is. */
const searchProgress = ({ quiet }: Words): Pick<Watching, 'onSearch'> =>
  quiet ? {} : { onSearch: process.stderr.isTTY === true ? saySearch : throttle(betweenLogLines, saySearch) }

/** Says on standard error what is about to happen, once for each network that is new here. */
const saySample: NonNullable<Watching['onSample']> = (seconds) => {
  process.stderr.write(`measuring this network's kernels on this machine, once, for at most ${seconds} s (--no-measure leaves it out)\n`)
}

/** Callbacks that tell people how far measuring and the search for a plan are. */
export const planningProgress = (words: Words): Pick<Watching, 'onKernel' | 'onSample' | 'onSearch'> =>
  words.quiet ? {} : { ...searchProgress(words), onKernel: sayKernel, onSample: saySample }

/**
 * What a command measures before it plans: where nothing is said a sample, unless the environment
 * refuses it.
 */
export const resolveMeasure = ({ measure }: { readonly measure?: boolean | 'sample' | undefined }): boolean | 'sample' =>
  measure ?? (process.env['TILEFOLD_NO_MEASURE'] ? false : 'sample')

/**
 * Runs with a signal that the first Ctrl-C aborts; a second one ends the process at once. Calling
 * `keep` says that there is something to save from then on.
 */
export const withInterrupt =
  (use: (signal: AbortSignal, keep: () => void) => CommandResult): CommandResult =>
  () =>
    interruption().during((signal, keep) => use(signal, keep)())

/** What a batch system, a container's end or a closed terminal sends to a process by itself. */
export const endingSignals = ['SIGTERM', 'SIGHUP'] as const
/** What launchers and batch systems send besides before they end a rank. */
export const rankSignals = [...endingSignals, 'SIGUSR1', 'SIGUSR2'] as const

/** A signal that what the process is sent aborts too. */
export interface ListeningSignal {
  readonly signal: AbortSignal
  /** Begins to listen, where it does not yet: what is sent aborts, as often as it is sent. */
  readonly listen: () => void
  readonly stop: () => void
}

/** The signal, which what the process is sent aborts too, once it listens. */
export const withSentSignals =
  (names: readonly NodeJS.Signals[]) =>
  (signal: AbortSignal): ListeningSignal => {
    const controller = new AbortController()
    // Shells and launchers send it again to whom it was sent already.
    const abort = (): void => controller.abort()
    const stop = (): void => names.forEach((name) => process.off(name, abort))
    let listens = false
    const listen = (): void => {
      // Whoever listens anew misses what was sent just before.
      if (!listens) names.forEach((name) => process.on(name, abort))
      listens = true
    }
    return { signal: AbortSignal.any([signal, controller.signal]), listen, stop }
  }

/** Runs what only plans, and says how far it is; where it measures first, Ctrl-C stops that. */
export const withMeasuring = <O extends { readonly measure?: boolean | 'sample' | undefined }>(
  options: O,
  words: Words,
  use: (options: O) => CommandResult
): CommandResult => {
  const measure = resolveMeasure(options)
  return measure === false
    ? use({ ...options, ...searchProgress(words), onNotice: sayNotice })
    : withInterrupt((signal) => use({ ...options, measure, ...planningProgress(words), onNotice: sayNotice, signal }))
}
