import { type Node, getIgnoredLabel, isNormalised, uncountedTarget } from '../../../staging'
import type { LabelKind } from '../../datasets/labels'
import { measureConfusion, makeConfusionMatrix } from '../../metrics/confusion'
import { measureLabelSets } from '../../metrics/label-sets'
import type { Quality } from '../../metrics/quality'
import { measureQuality } from '../../metrics/scores'
import { countPixels, emptyConfusion } from '../../metrics/segmentation-scores'
import { measureValues } from '../../metrics/values'
import { weightOfTargets } from '../../running/normaliser'
import { getScoreKind } from '../../running/score-kind'
import type { StepIo } from '../../../native'
import type { Batch } from './batches'

/**
 * Adds up the batches of a validation. What is measured of a batch are numbers, so that ranks can
 * exchange them: added in the order of batches, they give the same bits wherever each was measured.
 */
export interface Tally {
  /** Before a batch runs, of which so many rows count; the others repeat the last one. */
  readonly before: (io: StepIo, batch: Batch, rows: number) => void
  readonly measure: (io: StepIo, batch: Batch, rows: number) => readonly number[]
  readonly add: (measured: readonly number[]) => void
  /** Undefined where nothing of all that was measured counts. */
  readonly quality: () => Quality | undefined
}

/** The mean loss of all batches, of a network that hands it out. */
interface LossTally {
  /** Hands the target over, of rows that are there. */
  readonly before: (io: StepIo, batch: Batch, rows: number) => void
  /**
   * Measures the batch that ran: the sum of its losses, its weight, the loss of overlaps, and
   * images.
   */
  readonly measure: (io: StepIo) => readonly number[]
  readonly add: (measured: readonly number[]) => void
  readonly mean: () => number
}

/** Numbers that a loss's tally measures of a batch. */
const lossNumbers = 4

/**
 * Losses of pixels, rows or elements are added up over all batches, and Dice and Tversky over
 * images.
 */
const tallyOfLoss = (loss: Node, batch: number): LossTally => {
  let [sum, weight, overlaps, images] = [0, 0, 0, 0]
  return {
    before: (io, { target }, rows) => {
      const targets = io.view('target')
      targets.set(target)
      targets.fill(uncountedTarget(loss), (rows * targets.length) / batch)
      io.view('normaliser')[0] = 1
    },
    measure: (io) => {
      const targets = io.view('target')
      const plain = [io.view('loss')[0]!, weightOfTargets(loss, targets, true)!]
      if (!loss.overlaps) return [...plain, 0, 0]
      // An image of which nothing counts has no loss.
      const each = targets.length / batch
      let counted = 0
      for (let image = 0; image < batch; image += 1)
        if (weightOfTargets(loss, targets.subarray(image * each, (image + 1) * each), true)! > 0) counted += 1
      return [...plain, io.view('lossOfOverlap')[0]! * batch, counted]
    },
    add: ([ofBatch, weightOfBatch, overlapsOfBatch, imagesOfBatch]) => {
      sum += ofBatch!
      weight += weightOfBatch!
      overlaps += overlapsOfBatch!
      images += imagesOfBatch!
    },
    mean: () => sum / (weight === 0 ? 1 : weight) + overlaps / (images === 0 ? 1 : images)
  }
}

/** What is added up of images: scores, and labels or numbers, of each row so many. */
interface RowTally {
  /** Scores of an image, and targets. */
  readonly scores: number
  readonly targets: number
  /** What all of them say, row-major; a loss only where the network hands none out. */
  readonly measure: (scores: Float64Array, targets: Float64Array) => Omit<Quality, 'loss'> & Partial<Pick<Quality, 'loss'>>
}

const meanSquaredError = (values: Float64Array, targets: Float64Array): number =>
  values.reduce((sum, value, index) => sum + (value - targets[index]!) ** 2, 0) / values.length

/** By kind of labels; a loss is measured here of networks that hand none out. */
const rowTallies = (loss: Node, classes: number): Readonly<Record<Exclude<LabelKind, 'mask'>, RowTally>> => {
  const [, channels, height, width] = loss.input
  const count = channels * height * width
  return {
    class: { scores: classes, targets: 1, measure: (values, labels) => measureQuality({ values, classes, labels: Array.from(labels) }) },
    'class-set': {
      ...{ scores: classes, targets: classes },
      measure: (values, targets) => ({
        loss: meanSquaredError(values, targets),
        // A probability of 1/2: what a sigmoid has at 0.
        ...measureLabelSets({ values, targets, classes, threshold: getScoreKind(loss) === 'sigmoid' ? 0 : 0.5 })
      })
    },
    values: {
      ...{ scores: count, targets: count },
      measure: (predicted, targets) => ({ loss: meanSquaredError(predicted, targets), ...measureValues({ predicted, targets, count }) })
    }
  }
}

/** Scores and targets of the rows, after their loss where the network hands one out. */
const tallyOfImages = (loss: Node, { scores, targets, measure }: RowTally, images: number, batch: number): Tally => {
  const [allScores, allTargets] = [new Float64Array(images * scores), new Float64Array(images * targets)]
  const losses = isNormalised(loss) ? tallyOfLoss(loss, batch) : undefined
  const ofLoss = losses === undefined ? 0 : lossNumbers
  let rowsSoFar = 0
  return {
    before: (io, loaded, rows) => losses?.before(io, loaded, rows),
    measure: (io, { target }, rows) => [
      ...(losses?.measure(io) ?? []),
      ...Array.from(target).slice(0, rows * targets),
      ...io.view('scores').subarray(0, rows * scores)
    ],
    add: (measured) => {
      losses?.add(measured.slice(0, ofLoss))
      const rows = (measured.length - ofLoss) / (scores + targets)
      allTargets.set(measured.slice(ofLoss, ofLoss + rows * targets), rowsSoFar * targets)
      allScores.set(measured.slice(ofLoss + rows * targets), rowsSoFar * scores)
      rowsSoFar += rows
    },
    quality: () => {
      const { loss: ownLoss = NaN, ...measures } = measure(allScores, allTargets)
      return { ...measures, loss: losses?.mean() ?? ownLoss }
    }
  }
}

/**
 * Pixels that are right and that count, whether all scores are finite, and the confusion, after
 * their loss.
 */
const tallyOfPixels = (loss: Node, classes: number, batch: number): Tally => {
  const confusion = emptyConfusion(classes)
  const losses = tallyOfLoss(loss, batch)
  const ignored = getIgnoredLabel(loss)
  let [right, counted, isFinite] = [0, 0, true]
  return {
    before: losses.before,
    measure: (io) => {
      const labels = io.view('target')
      const ofBatch = emptyConfusion(classes)
      // A score of -Infinity leaves the loss finite.
      const finite = countPixels(ofBatch, labels, io.view('classes'), ignored)
      let counting = 0
      for (const label of labels) if (label !== ignored) counting += 1
      return [...losses.measure(io), io.view('loss')[1]!, counting, finite ? 1 : 0, ...ofBatch.counts]
    },
    add: (measured) => {
      losses.add(measured.slice(0, lossNumbers))
      const [rightOfBatch, countedOfBatch, finite, ...counts] = measured.slice(lossNumbers)
      right += rightOfBatch!
      counted += countedOfBatch!
      isFinite &&= finite === 1
      counts.forEach((count, index) => (confusion.counts[index]! += count))
    },
    // A loss of nothing would be 0, the best for ever.
    quality: () =>
      counted === 0
        ? undefined
        : {
            loss: isFinite ? losses.mean() : NaN,
            accuracy: right / counted,
            ...measureConfusion(makeConfusionMatrix(confusion.counts, classes))
          }
  }
}

/** The tally of a validation of so many images with labels of one kind. */
export const tallyFor = (kind: LabelKind, loss: Node, classes: number, images: number, batch: number): Tally =>
  kind === 'mask' ? tallyOfPixels(loss, classes, batch) : tallyOfImages(loss, rowTallies(loss, classes)[kind], images, batch)
