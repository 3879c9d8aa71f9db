import type CliProgress from 'cli-progress'
import { formatBytes, formatMilliseconds } from '../text/format'
import type { StepReport } from '../training/step-report'

interface Progress {
  readonly onStep: (report: StepReport) => void
  readonly stop: () => void
}

const secondsBetweenLines = 2

/**
 * A bar on a terminal; elsewhere (a log, a pipe) a line every other second. Both on standard error.
 */
export const trainingProgress = (): Progress => (process.stderr.isTTY ? progressBar() : progressLines())

const progressBar = (): Progress => {
  const { SingleBar, Presets } = require('cli-progress') as typeof CliProgress
  const format = '{bar} step {value}/{total}  loss {loss}  {time} a step  {bytes}  {eta_formatted} left'
  const bar = new SingleBar({ format, stream: process.stderr, hideCursor: true, etaBuffer: 5 }, Presets.shades_classic)
  let started = false
  return {
    onStep: ({ step, steps, loss, milliseconds, peakDeviceBytes }) => {
      if (!started) bar.start(steps, 0)
      started = true
      bar.update(step + 1, { loss: loss.toFixed(4), time: formatMilliseconds(milliseconds), bytes: formatBytes(peakDeviceBytes) })
    },
    stop: () => (started ? bar.stop() : undefined)
  }
}

const progressLines = (): Progress => {
  let writtenAt = -Infinity
  return {
    onStep: ({ step, steps, loss, milliseconds, peakDeviceBytes }) => {
      const now = performance.now()
      if (step + 1 < steps && now - writtenAt < 1000 * secondsBetweenLines) return
      writtenAt = now
      const figures = [`loss ${loss.toFixed(4)}`, `${formatMilliseconds(milliseconds)} a step`, formatBytes(peakDeviceBytes)]
      process.stderr.write(`step ${step + 1}/${steps}  ${figures.join('  ')}\n`)
    },
    stop: () => undefined
  }
}
