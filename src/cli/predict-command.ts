import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { largest } from '../numbers/extremes'
import { type PredictReport, predict } from '../commands/predict'
import type { PredictOptions } from '../option-tables/command-options'
import { printable } from '../text/printable'
import { table } from '../text/table'
import { percent } from '../text/format'
import { formatBytes, formatMilliseconds } from '../text/format'
import { type CommandResult, type Words, withInterrupt, kernelProgress, sayNotice } from './command-result'

const shown = 5

/** The highest scores, as probabilities too (softmax). */
const scoresText = (scores: readonly number[]): string => {
  const highest = largest(scores)
  const sum = scores.reduce((total, score) => total + Math.exp(score - highest), 0)
  const ranked = [...scores.entries()].sort(([, a], [, b]) => b - a).slice(0, shown)
  return table(
    ['class', 'score', 'probability'],
    ranked.map(([index, score]) => [`${index}`, score.toFixed(4), percent(Math.exp(score - highest) / sum)])
  )
}

const pixelsText = (pixels: readonly number[], { height, width }: PredictReport): string =>
  table(
    ['class', 'share of pixels'],
    [...pixels.entries()].filter(([, count]) => count > 0).map(([index, count]) => [`${index}`, percent(count / (height * width))])
  )

export const predictCommand = (options: PredictOptions, words: Words): CommandResult =>
  withInterrupt((signal) =>
    pipe(
      predict({ ...options, ...kernelProgress(words), onNotice: sayNotice, signal }),
      TE.map((report) => {
        const { height, width, milliseconds, peakDeviceBytes, predictedPeakBytes, windowBytes, scores, pixels = [] } = report
        const run = `${height}x${width} in ${formatMilliseconds(milliseconds)}, peak ${formatBytes(peakDeviceBytes)} measured, ${formatBytes(predictedPeakBytes)} predicted${windowBytes === undefined ? '' : `, image read into at most ${formatBytes(windowBytes)} of host memory`}`
        const text =
          scores === undefined
            ? `${pixelsText(pixels, report)}\n${run}; classes are in ${printable(options.out ?? '')}`
            : `${scoresText(scores)}\n${run}`
        return { json: report, text }
      })
    )
  )
