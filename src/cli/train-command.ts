import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type TrainReport, train } from '../commands/train'
import type { TrainOptions } from '../option-tables/train-options'
import { trainingProgress } from './progress'
import { planText } from '../plans/plan-report'
import { formatBytes, formatMilliseconds } from '../text/format'
import type { Quality } from '../metrics/quality'
import { findRankRole } from './rank-role'
import { remainingProgress } from './remaining-progress'
import { weightsText } from './weights-text'
import { type CommandResult, type Words, withInterrupt, say, sayPlanNotes, planningProgress, noticeText } from './command-result'

/** Measures in the order in which they are told. */
const told = {
  accuracy: 'accuracy',
  auc: 'AUC',
  iou: 'mean IoU',
  dice: 'mean Dice',
  kappa: 'kappa',
  f1: 'mean F1',
  mae: 'mean absolute error',
  r2: 'R²'
} as const satisfies Partial<Record<keyof Quality, string>>

const qualityText = (quality: Quality): string => {
  const known = (Object.keys(told) as (keyof typeof told)[]).flatMap((measure) => {
    const value = quality[measure]
    if (value === undefined || value === null) return []
    // Errors are in units of the data, of any size.
    return [`${told[measure]} ${measure === 'mae' ? value.toPrecision(4) : value.toFixed(3)}`]
  })
  return [`loss ${quality.loss.toFixed(4)}`, ...known].join(', ')
}

const mostNamed = 10

/** The first of several files, and how many there are more; --json has all. */
const namesText = (files: readonly string[]): string =>
  `${files.slice(0, mostNamed).join(', ')}${files.length > mostNamed ? ` and ${files.length - mostNamed} more` : ''}`

const reportText = (report: TrainReport): string => {
  const {
    steps,
    loss,
    stepMs,
    best,
    peakDeviceBytes,
    predictedPeakBytes,
    cropBytes,
    repeatedTiles,
    skippedCrops = 0,
    skippedCropsOf = [],
    skippedImages = [],
    skippedFiles = []
  } = report
  const time = stepMs.reduce((sum, milliseconds) => sum + milliseconds, 0)
  const peak = `peak ${formatBytes(peakDeviceBytes)} measured, ${formatBytes(predictedPeakBytes)} predicted`
  const validated = best === undefined ? [] : [`best validation after step ${best.step} (${qualityText(best)})`]
  return [
    `${steps} ${steps === 1 ? 'step' : 'steps'}, ${formatMilliseconds(time)} of computing`,
    `loss ${loss[0]?.toFixed(4)} to ${loss.at(-1)?.toFixed(4)}`,
    ...validated,
    ...(peakDeviceBytes === 0 ? [] : [peak]),
    ...(cropBytes === undefined ? [] : [`crops read into ${formatBytes(cropBytes)} of host memory`]),
    ...(repeatedTiles === undefined ? [] : [`${repeatedTiles} tiles of one colour taken from the one before`]),
    ...(skippedCrops === 0
      ? []
      : [
          `${skippedCrops} ${skippedCrops === 1 ? 'crop could not be read and was' : 'crops could not be read and were'} drawn anew${skippedCropsOf.length === 0 ? '' : ` (of ${namesText(skippedCropsOf)})`}`
        ]),
    ...(skippedImages.length === 0 ? [] : [`left out of validation, since they cannot be read: ${namesText(skippedImages)}`]),
    ...(skippedFiles.length === 0 ? [] : [`left out of the data, since they cannot be read: ${namesText(skippedFiles)}`])
  ].join(', ')
}

const betweenSentences = 2000

/** Says now and then how far reading the data is. */
const sayChecked = (): ((done: number, total: number) => void) => {
  let said = performance.now()
  return (done, total) => {
    if (performance.now() - said < betweenSentences && done !== total) return
    said = performance.now()
    process.stderr.write(`${done}/${total} images read whole\n`)
  }
}

/** What says on the terminal how a training goes. */
const saying = (words: Words, progress: ReturnType<typeof trainingProgress>): Partial<TrainOptions> => {
  const { json, quiet } = words
  return {
    onPlan: (planned) => {
      sayPlanNotes(planned)
      if (!quiet) say(json ? process.stderr : process.stdout, planText(planned))
    },
    onWeights: (weights) => {
      if (!quiet) say(json ? process.stderr : process.stdout, weightsText(weights))
    },
    onStep: progress.onStep,
    onNotice: (sentence) => progress.say(noticeText(sentence)),
    ...(quiet
      ? {}
      : {
          onValidation: (validation) => progress.say(`validation after step ${validation.step}: ${qualityText(validation)}`),
          onValidating: remainingProgress('validating', (text) => progress.say(text)),
          onCheck: sayChecked()
        }),
    ...planningProgress(words)
  }
}

/** The command `train`: trains a network; of ranks the first one speaks. */
export const trainCommand = (options: TrainOptions, words: Words): CommandResult =>
  withInterrupt((asked, keep) => {
    const { speaks, measuring, withSignals, named, silence } = findRankRole()
    const progress = trainingProgress({ quiet: words.quiet || !speaks })
    const { signal, listen, stop } = withSignals(asked)
    const { onStep, ...others } = speaks ? saying(words, progress) : { onStep: undefined }
    const training = train({
      ...options,
      measure: measuring(options),
      ...others,
      onStep: (report) => {
        keep()
        listen()
        onStep?.(report)
      },
      signal
    })
    return pipe(
      () =>
        training().finally(() => {
          progress.stop()
          stop()
        }),
      TE.bimap(named, (report) => ({ json: report, text: reportText(report), ...silence }))
    )
  })
