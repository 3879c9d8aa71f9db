import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { softmax, sigmoid } from '../results/softmax'
import { predict } from '../commands/predict'
import type { PredictReport } from '../commands/predict-report'
import type { ImagePrediction, PredictOptions } from '../option-tables/predict-options'
import { printable } from '../text/printable'
import { table } from '../text/table'
import { formatBytes, formatMilliseconds, percent } from '../text/format'
import { type CommandResult, type Words, planNotes, withInterrupt, planningProgress, say, sayNotice } from './command-result'
import { findRankRole } from './rank-role'
import { remainingProgress } from './remaining-progress'
import type { Planned } from '../plans/plan-network'

const shown = 5

/** The name of a class or value, or its number. */
const nameIn =
  ({ names }: PredictReport) =>
  (index: number): string =>
    printable(names?.[index] ?? `${index}`)

/** The highest scores, as probabilities too: softmax, or of classes by themselves the sigmoid. */
const scoresText = (scores: readonly number[], isByItself: boolean, name: (index: number) => string): string => {
  const probabilities = isByItself ? scores.map(sigmoid) : softmax(scores)
  const ranked = [...scores.entries()].sort(([, a], [, b]) => b - a).slice(0, shown)
  return table(
    ['class', 'score', 'probability'],
    ranked.map(([index, score]) => [name(index), score.toFixed(4), percent(probabilities[index]!)])
  )
}

const valuesText = (values: readonly number[], name: (index: number) => string): string =>
  table(
    ['value', 'prediction'],
    [...values.entries()].map(([index, value]) => [name(index), value.toPrecision(6)])
  )

const pixelsText = (pixels: readonly number[], { height = 0, width = 0 }: PredictReport, name: (index: number) => string): string =>
  table(
    ['class', 'share of pixels'],
    [...pixels.entries()].filter(([, count]) => count > 0).map(([index, count]) => [name(index), percent(count / (height * width))])
  )

const runText = ({ milliseconds, peakDeviceBytes, predictedPeakBytes, windowBytes, repeatedTiles }: PredictReport): string => {
  const peak = `peak ${formatBytes(peakDeviceBytes)} measured, ${formatBytes(predictedPeakBytes)} predicted`
  const host = windowBytes === undefined ? '' : `, image read into at most ${formatBytes(windowBytes)} of host memory`
  const repeated = repeatedTiles === undefined ? '' : `, ${repeatedTiles} tiles of one colour taken from the one before`
  return `in ${formatMilliseconds(milliseconds)}, ${peak}${host}${repeated}`
}

/** Images of a list that are told; all are in `--out`. */
const mostListed = 20

/** What was found of each of the first images of a list; undefined where that is in files. */
const imagesText = (report: PredictReport): string | undefined => {
  const { images = [] } = report
  const name = nameIn(report)
  const [first] = images
  if (first?.scores === undefined && first?.values === undefined) return undefined
  const foundIn = ({ scores = [], class: of, classes, values }: ImagePrediction): readonly string[] =>
    values !== undefined
      ? [values.map((value) => value.toPrecision(6)).join(' ')]
      : of === undefined
        ? [classes!.map(name).join(', ')]
        : [name(of), percent(softmax(scores)[of]!)]
  const columns = first.values !== undefined ? ['values'] : first.class === undefined ? ['classes'] : ['class', 'probability']
  const more = images.length > mostListed ? `\n${images.length - mostListed} more: give --out *.csv for all` : ''
  return `${table(
    ['image', ...columns],
    images.slice(0, mostListed).map((image) => [printable(image.path), ...foundIn(image)])
  )}${more}`
}

const listText = (list: PredictReport, { out }: PredictOptions): string => {
  const { images = [], skipped = [], ...report } = list
  const found = out === undefined ? imagesText(list) : undefined
  const left = skipped.length === 0 ? '' : `, ${skipped.length} left out`
  const where = out === undefined ? '' : `; results are in ${printable(out)}`
  return `${found === undefined ? '' : `${found}\n`}${images.length} ${images.length === 1 ? 'image' : 'images'}${left}, ${runText(report)}${where}`
}

const reportText = (report: PredictReport, options: PredictOptions): string => {
  const { images, height, width, scores, classes, values, pixels = [], heatMap } = report
  if (images !== undefined) return listText(report, options)
  const [run, name] = [`${height}x${width} ${runText(report)}`, nameIn(report)]
  if (heatMap !== undefined) {
    const { kind, class: of, lowest, highest, ...map } = heatMap
    const values = `${map.height}x${map.width} values from ${lowest.toPrecision(4)} to ${highest.toPrecision(4)}`
    return `${kind} of class ${name(of)}: ${values}\n${run}; it is in ${printable(options.out ?? '')}`
  }
  if (values !== undefined) return `${valuesText(values, name)}\n${run}`
  return scores === undefined
    ? `${pixelsText(pixels, report, name)}\n${run}; ${options.probabilities === undefined ? 'classes' : 'probabilities'} are in ${printable(options.out ?? '')}`
    : `${scoresText(scores, classes !== undefined, name)}\n${run}${options.out === undefined ? '' : `; it is in ${printable(options.out)}`}`
}

/** What is said of the plans, of each image's extent one, is said once. */
const sayNotesOnce = (): ((planned: Planned) => void) => {
  const told = new Set<string>()
  return (planned) =>
    planNotes(planned).forEach((sentence) => {
      if (!told.has(sentence)) sayNotice(sentence)
      told.add(sentence)
    })
}

/** The command `predict`: predicts one image or a list; of ranks the first one speaks. */
export const predictCommand = (options: PredictOptions, words: Words): CommandResult =>
  withInterrupt((asked) => {
    const { speaks, measuring, withSignals, named, silence } = findRankRole()
    const { signal, stop } = withSignals(asked)
    const predicting = predict({
      ...options,
      measure: measuring(options),
      ...(speaks ? { ...planningProgress(words), onPlan: sayNotesOnce(), onNotice: sayNotice } : {}),
      ...(speaks && !words.quiet ? { onPredicting: remainingProgress('predicting', (text) => say(process.stderr, text)) } : {}),
      signal
    })
    return pipe(
      () => predicting().finally(stop),
      TE.bimap(named, (report) => ({ json: report, text: reportText(report, options), ...silence }))
    )
  })
