import { type LossFunctions, type Node, getIgnoredLabel, countLabels, lossFunctions, runExpression, makeTargetWeight } from '../../staging'
import type { ImageWindow } from '../../native'
import type { Extent2 } from '../images/resolution'
import { measureConfusion, makeConfusionMatrix } from './confusion'
import { meanOfKnown } from './mean-of-known'
import type { Quality } from './quality'
import { type ScoreCounts, countScore, emptyScoreCounts } from './score-areas'

/** How the scores of pixels are measured, by the loss that the network is trained by. */
export interface PixelMeasure {
  /** Channels of scores, and classes that they tell apart. */
  readonly channels: number
  readonly classes: number
  readonly ignored: number
  readonly functions: LossFunctions
  /** What a pixel of a label adds to that by which the loss is divided. */
  readonly weightOf: (label: number) => number
  /** Classes whose areas under curves are measured: of two, the second alone. */
  readonly areas: readonly number[]
}

/** All that is counted of one image, or of several. */
export interface PixelCounts {
  /** Row-major [classes of the mask, classes of the network]. */
  readonly confusion: Float64Array
  lossSum: number
  lossWeight: number
  /** The loss of Dice and Tversky: the mean over classes, summed over images. */
  overlapLoss: number
  /** Images in which a pixel counts. */
  images: number
  isFinite: boolean
}

/** Finds how a network is measured that ends in a loss of pixels. */
export const makePixelMeasure = (loss: Node): PixelMeasure => {
  const channels = loss.input[1]
  const classes = countLabels(loss)
  const formula = 'loss' in loss.args ? loss.args.loss : 'cross-entropy'
  return {
    channels,
    classes,
    ignored: getIgnoredLabel(loss) ?? 255,
    functions: lossFunctions(formula, channels),
    weightOf: makeTargetWeight(loss, true) ?? (() => 1),
    areas: classes === 2 ? [1] : Array.from({ length: classes }, (_, index) => index)
  }
}

/** The channel of a class's own score; a single channel is of the second class. */
const classChannel = ({ channels }: PixelMeasure, ofClass: number): number => (channels === 1 ? 0 : ofClass)

/** Log-odds of a class: of softmax against all others, else its score. */
const logOdds = ({ functions, channels }: PixelMeasure, inputs: readonly Float64Array[], channel: number, at: number): number => {
  const own = inputs[channel]![at]!
  if (!functions.softmax) return own
  return channels === 2 ? own - inputs[1 - channel]![at]! : own - Math.log(-Math.expm1(own))
}

const atOnce = 4096

/** Counts the pixels of one image, window by window. */
export interface ImageTally {
  /**
   * Counts those of a window that lie within `area`, both in pixels of the window. `scores` are
   * [channels, height, width], `labels` [height, width].
   */
  readonly add: (scores: ArrayLike<number>, labels: ArrayLike<number>, window: Extent2, area: ImageWindow) => void
  /** Returns the counts, once all windows were counted. */
  readonly finish: () => { readonly counts: PixelCounts; readonly scoreCounts: ScoreCounts }
}

const emptyPixelCounts = (classes: number): PixelCounts => ({
  confusion: new Float64Array(classes * classes),
  ...{ lossSum: 0, lossWeight: 0, overlapLoss: 0, images: 0, isFinite: true }
})

/** Starts the count of one image, of whose pixels none has been seen. */
export const tallyImage = (measure: PixelMeasure): ImageTally => {
  const { channels, classes, ignored, functions, weightOf, areas } = measure
  const counts = emptyPixelCounts(classes)
  const scoreCounts = emptyScoreCounts(areas.length)
  const inputs = Array.from({ length: channels }, () => new Float64Array(atOnce))
  const labelled = new Uint8Array(atOnce)
  const second = new Float64Array(atOnce)
  /** Of each channel the sums of p t, p and t. */
  const overlaps = Array.from({ length: channels }, () => ({ both: 0, predicted: 0, wanted: 0 }))
  let held = 0

  const addLoss = (channel: number): void => {
    const input = inputs[channel]!
    for (let at = 0; at < held; at += 1) second[at] = (channels === 1 ? labelled[at] === 1 : labelled[at] === channel) ? 1 : 0
    const losses = runExpression(functions.forward, { input, second }, held)
    for (let at = 0; at < held; at += 1) counts.lossSum += losses[at]!
    if (functions.overlap === undefined) return
    const sums = overlaps[channel]!
    for (let at = 0; at < held; at += 1) {
      const probability = functions.softmax ? Math.exp(input[at]!) : 1 / (1 + Math.exp(-input[at]!))
      sums.both += probability * second[at]!
      sums.predicted += probability
      sums.wanted += second[at]!
    }
  }

  const flush = (): void => {
    for (const [place, ofClass] of areas.entries())
      for (let at = 0; at < held; at += 1)
        countScore(scoreCounts, place, labelled[at] === ofClass, logOdds(measure, inputs, classChannel(measure, ofClass), at))
    for (let channel = 0; channel < channels; channel += 1) addLoss(channel)
    held = 0
  }

  /** Takes one pixel, whose scores stand `plane` apart. */
  const take = (scores: ArrayLike<number>, first: number, plane: number, label: number): void => {
    let [found, highest] = [0, -Infinity]
    for (let channel = 0; channel < channels; channel += 1) {
      const score = scores[first + channel * plane]!
      if (!Number.isFinite(score)) counts.isFinite = false
      inputs[channel]![held] = score
      if (score > highest) [found, highest] = [channel, score]
    }
    if (!counts.isFinite) return
    if (functions.softmax) {
      let sum = 0
      for (let channel = 0; channel < channels; channel += 1) sum += Math.exp(inputs[channel]![held]! - highest)
      for (let channel = 0; channel < channels; channel += 1) inputs[channel]![held]! -= highest + Math.log(sum)
    }
    counts.confusion[label * classes + (channels === 1 ? (highest > 0 ? 1 : 0) : found)]! += 1
    counts.lossWeight += weightOf(label)
    labelled[held] = label
    held += 1
    if (held === atOnce) flush()
  }

  const overlapLoss = (): number => {
    const { overlap } = functions
    if (overlap === undefined || counts.lossWeight === 0) return 0
    const { alpha, beta, smooth, weight } = overlap
    const sum = overlaps.reduce((total, { both, predicted, wanted }) => {
      const index = (both + smooth) / (both + alpha * (predicted - both) + beta * (wanted - both) + smooth)
      return total + 1 - index
    }, 0)
    return (weight * sum) / channels
  }

  return {
    add: (scores, labels, { height, width }, area) => {
      for (let row = area.top; row < area.top + area.height; row += 1)
        for (let column = area.left; column < area.left + area.width; column += 1) {
          const at = row * width + column
          if (labels[at] !== ignored) take(scores, at, height * width, labels[at]!)
        }
    },
    finish: () => {
      flush()
      return { counts: { ...counts, overlapLoss: overlapLoss(), images: counts.lossWeight > 0 ? 1 : 0 }, scoreCounts }
    }
  }
}

/** The counts of several images together. */
export const sumCounts = ({ classes }: PixelMeasure, all: readonly PixelCounts[]): PixelCounts => {
  const sum = emptyPixelCounts(classes)
  for (const one of all) {
    one.confusion.forEach((count, index) => (sum.confusion[index]! += count))
    sum.lossSum += one.lossSum
    sum.lossWeight += one.lossWeight
    sum.overlapLoss += one.overlapLoss
    sum.images += one.images
    sum.isFinite &&= one.isFinite
  }
  return sum
}

/** What counts say; `areas` are those under the curves of the measured classes. */
export const computeQuality = (
  { classes }: PixelMeasure,
  { confusion, lossSum, lossWeight, overlapLoss, images, isFinite }: PixelCounts,
  areas: readonly (number | null)[]
): Quality => {
  const all = confusion.reduce((sum, count) => sum + count, 0)
  const right = Array.from({ length: classes }, (_, index) => confusion[index * (classes + 1)]!).reduce((sum, count) => sum + count, 0)
  return {
    loss: isFinite ? lossSum / Math.max(lossWeight, Number.MIN_VALUE) + overlapLoss / Math.max(images, 1) : NaN,
    accuracy: right / Math.max(all, 1),
    auc: meanOfKnown(areas),
    ...(areas.length > 1 ? { classAuc: areas } : {}),
    ...measureConfusion(makeConfusionMatrix(confusion, classes))
  }
}
