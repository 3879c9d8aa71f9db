import { clearLine, cursorTo } from 'node:readline'
import type { WriteStream } from 'node:tty'
import type CliProgress from 'cli-progress'
import { formatBytes, formatRemaining, threeDigits } from '../text/format'
import { sparkline } from '../text/sparkline'
import type { StepReport } from '../training/step-report'
import { trainingPace } from './pace'
import { swappedBytes } from './swapped-bytes'

interface Progress {
  readonly onStep: (report: StepReport) => void
  /** Writes lines to the same stream, above what stands there. */
  readonly say: (text: string) => void
  readonly stop: () => void
}

/** Where progress goes; a terminal says its width, and whether it has colours. */
export type ProgressStream = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'hasColors'>>

const secondsBetweenLines = 2

/** Of large images pixels, so that one training has one unit. */
const throughputText = (imagesPerSecond: number, pixelsPerSecond: number): string =>
  pixelsPerSecond < 1e6 * imagesPerSecond ? `${threeDigits(imagesPerSecond)} images/s` : `${threeDigits(pixelsPerSecond / 1e6)} Mpixels/s`

/** What is told of a step beside its loss, in words. */
const createWords = (): ((report: StepReport) => readonly string[]) => {
  const paceAfter = trainingPace()
  return (report) => {
    const { imagesPerSecond, pixelsPerSecond, secondsLeft } = paceAfter(report)
    const swapped = swappedBytes()
    return [
      throughputText(imagesPerSecond, pixelsPerSecond),
      formatBytes(report.peakDeviceBytes),
      ...(swapped === 0 ? [] : [`${formatBytes(swapped)} swapped out`]),
      ...(report.step + 1 === report.steps ? [] : [`${formatRemaining(secondsLeft)} left`])
    ]
  }
}

const placeText = ({ epoch, step, steps, loss }: StepReport): readonly string[] => [
  `step ${step + 1}/${steps}`,
  `epoch ${epoch.toFixed(1)}`,
  `loss ${loss.toFixed(4)}`
]

/** The widest a row of losses is, and the escapes of its colour. */
const [mostLosses, cyan, plain] = [24, '\x1b[36m', '\x1b[39m']
const barWidth = 12

/** The line beside the bar; the row of losses gets what room there is. */
const progressLine = (stream: ProgressStream, losses: readonly number[], place: readonly string[], words: readonly string[]): string => {
  const without = [...place, ...words].join('  ')
  const room = Math.min(mostLosses, (stream.columns ?? 80) - barWidth - without.length - 4)
  const row = sparkline(losses, room)
  if (row.length < 4) return without
  // Node's streams say that there are none under NO_COLOR.
  return [...place, stream.hasColors?.() === true ? `${cyan}${row}${plain}` : row, ...words].join('  ')
}

const progressBar = (stream: ProgressStream): Progress => {
  const { MultiBar, Presets } = require('cli-progress') as typeof CliProgress
  const options = { format: '{bar} {line}', stream, barsize: barWidth, gracefulExit: false, forceRedraw: true, emptyOnZero: true }
  const bars = new MultiBar(options, Presets.shades_classic)
  const wordsOf = createWords()
  const losses: number[] = []
  let bar: CliProgress.SingleBar | undefined
  return {
    onStep: (report) => {
      losses.push(report.loss)
      if (losses.length > mostLosses) losses.shift()
      const line = progressLine(stream, losses, placeText(report), wordsOf(report))
      bar ??= bars.create(report.steps, report.step, { line })
      bar.update(report.step + 1, { line })
    },
    say: (text) => {
      if (bar !== undefined) {
        cursorTo(stream, 0)
        clearLine(stream, 0)
      }
      stream.write(`${text}\n`)
    },
    stop: () => (bar === undefined ? undefined : bars.stop())
  }
}

const progressLines = (stream: ProgressStream): Progress => {
  const wordsOf = createWords()
  let writtenAt = -Infinity
  return {
    onStep: (report) => {
      const words = wordsOf(report)
      const now = performance.now()
      if (report.step + 1 < report.steps && now - writtenAt < 1000 * secondsBetweenLines) return
      writtenAt = now
      stream.write(`${[...placeText(report), ...words].join('  ')}\n`)
    },
    say: (text) => void stream.write(`${text}\n`),
    stop: () => undefined
  }
}

/** Nothing but what must be seen. */
const noProgress = (stream: ProgressStream): Progress => ({
  onStep: () => undefined,
  say: (text) => void stream.write(`${text}\n`),
  stop: () => undefined
})

/**
 * Tells on standard error how far a training is: in one line that stays, with a row of the latest
 * losses, on a terminal; elsewhere (a log, a pipe) in a line every other second; and nothing of it
 * where `quiet`.
 */
export const trainingProgress = ({
  stream = process.stderr,
  quiet = false
}: { readonly stream?: ProgressStream; readonly quiet?: boolean } = {}): Progress => {
  if (quiet) return noProgress(stream)
  return stream.isTTY === true && process.env['TERM'] !== 'dumb' ? progressBar(stream) : progressLines(stream)
}
