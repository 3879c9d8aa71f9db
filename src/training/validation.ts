import * as E from 'fp-ts/Either'
import { type Node, isNormalised, uncountedTarget } from '../../staging'
import type { Section } from '../../staging/program/program'
import { type Dataset, labelKind } from '../images/dataset'
import { weightOfTargets } from '../running/normaliser'
import { type StepIo, createStepIo } from '../running/step-io'
import { type Failure, type Outcome } from '../failure'
import type { Extent2 } from '../images/resolution'
import { ignoredLabel } from '../images/class-list'
import { type RunningNetwork, withAbort } from '../running/running-network'
import { type Ranks, allGatherNumbers } from '../ranks/ranks'
import { unlessAborted } from '../tasks/unless-aborted'
import { type Batch, splitIntoBatches, centreBatch } from './batches'
import type { ImageLoader } from './image-loader'
import { measureConfusion, rowsOf } from '../metrics/confusion'
import type { SeenCrop } from '../images/seen-crop'
import { pictureCrops, shownPlaces } from './seen-crops'
import { type Quality, measureQuality } from '../metrics/scores'
import { countPixels, emptyConfusion, meanIntersectionOverUnion } from '../metrics/segmentation-scores'

export interface ValidationRun {
  readonly network: RunningNetwork
  /** The loss that the network ends in. */
  readonly loss: Node
  /** The Program's `evaluate`. */
  readonly section: Section
  readonly dataset: Dataset
  readonly batch: number
  readonly classes: number
  readonly crop: Extent2
  readonly loader: ImageLoader
  readonly signal: AbortSignal | undefined
  readonly ranks?: Ranks | undefined
  /** Told of some crops of each validation, where they are to be seen. */
  readonly onCrops?: ((crops: readonly SeenCrop[]) => void) | undefined
}

/**
 * Adds up the batches of a validation. What is measured of a batch are numbers, so that ranks can
 * exchange them: added in the order of batches, they give the same bits wherever each was measured.
 */
interface Tally {
  /** Before a batch runs, of which so many rows count; the others repeat the last one. */
  readonly before: (io: StepIo, batch: Batch, rows: number) => void
  readonly measure: (io: StepIo, batch: Batch, rows: number) => readonly number[]
  readonly add: (measured: readonly number[]) => void
  readonly quality: () => Quality
}

/** The mean loss of all batches, of a network that hands it out. */
interface LossTally {
  /** Hands the target over, of rows that are there. */
  readonly before: (io: StepIo, batch: Batch, rows: number) => void
  /** Of the batch that ran: the sum of its losses, its weight, the loss of overlaps, and images. */
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

/** Scores and labels of the rows, after their loss where the network hands one out. */
const tallyOfImages = (loss: Node, classes: number, images: number, batch: number): Tally => {
  const values = new Float64Array(images * classes)
  const labels: number[] = []
  const losses = isNormalised(loss) ? tallyOfLoss(loss, batch) : undefined
  const ofLoss = losses === undefined ? 0 : lossNumbers
  return {
    before: (io, loaded, rows) => losses?.before(io, loaded, rows),
    measure: (io, { target }, rows) => [
      ...(losses?.measure(io) ?? []),
      ...Array.from(target).slice(0, rows),
      ...io.view('scores').subarray(0, rows * classes)
    ],
    add: (measured) => {
      losses?.add(measured.slice(0, ofLoss))
      const rows = (measured.length - ofLoss) / (classes + 1)
      values.set(measured.slice(ofLoss + rows), labels.length * classes)
      labels.push(...measured.slice(ofLoss, ofLoss + rows))
    },
    quality: () => ({ ...measureQuality({ values, classes, labels }), ...(losses === undefined ? {} : { loss: losses.mean() }) })
  }
}

/**
 * Pixels that are right and that count, whether all scores are finite, and the confusion, after
 * their loss.
 */
const tallyOfPixels = (loss: Node, classes: number, batch: number): Tally => {
  const confusion = emptyConfusion(classes)
  const losses = tallyOfLoss(loss, batch)
  let [right, counted, isFinite] = [0, 0, true]
  return {
    before: losses.before,
    measure: (io) => {
      const labels = io.view('target')
      const ofBatch = emptyConfusion(classes)
      // A score of -Infinity leaves the loss finite.
      const finite = countPixels(ofBatch, labels, io.view('classes'))
      let counting = 0
      for (const label of labels) if (label !== ignoredLabel) counting += 1
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
    quality: () => ({
      loss: isFinite ? losses.mean() : NaN,
      accuracy: right / (counted === 0 ? 1 : counted),
      iou: meanIntersectionOverUnion(confusion),
      ...measureConfusion(rowsOf(confusion.counts, classes))
    })
  }
}

/**
 * Evaluates the middle of every image, without dropout; the next batch is decoded while the current
 * one runs. Of ranks each evaluates every so manyth batch.
 */
export const validate = ({
  network,
  loss,
  section,
  dataset,
  batch,
  classes,
  crop,
  loader,
  signal: asked,
  ranks,
  onCrops
}: ValidationRun): Outcome<Quality> => {
  const { rank, size } = ranks ?? { rank: 0, size: 1 }
  // Ranks end together, after a step.
  const signal = ranks === undefined ? asked : undefined
  const { examples } = dataset
  const io = createStepIo(section)
  const batches = splitIntoBatches(examples, batch)
  const load = (index: number): Promise<E.Either<Failure, Batch>> => centreBatch(batches[index] ?? [], crop, loader, classes)()
  return async () => {
    const kind = labelKind(dataset)
    const masked = kind === 'mask'
    const isShown = onCrops !== undefined && (kind === 'mask' || kind === 'class')
    const tally = masked ? tallyOfPixels(loss, classes, batch) : tallyOfImages(loss, classes, examples.length, batch)
    const own = examples.flatMap((_, place) => (Math.floor(place / batch) % size === rank ? [place] : []))
    const shown = shownPlaces(isShown ? own : [])
    const seen: SeenCrop[] = []
    let next = load(rank)
    const evaluateBatch = async (index: number): Promise<E.Either<Failure, readonly number[]>> => {
      // The last ranks may have no batch in the last round.
      if (index >= batches.length) return E.right([])
      const loaded = await unlessAborted(signal, next)
      if (E.isLeft(loaded)) return loaded
      const rows = Math.min(batch, examples.length - index * batch)
      tally.before(io, loaded.right, rows)
      const shownRows = Array.from({ length: rows }, (_, row) => row).filter((row) => shown.has(index * batch + row))
      const pictured = await pictureCrops(loaded.right, batches[index]!, shownRows, crop, classes)
      const running = withAbort(signal, network, network.evaluate(io, loaded.right.images))()
      next = load(index + size)
      const ran = await running
      if (E.isLeft(ran)) return ran
      seen.push(...pictured(io, masked ? 'mask' : 'class'))
      return E.right(tally.measure(io, loaded.right, rows))
    }
    for (let first = 0; first < batches.length; first += size) {
      const all = await allGatherNumbers(ranks, await evaluateBatch(first + rank))
      if (E.isLeft(all)) return all
      all.right.forEach((measured) => {
        if (measured.length > 0) tally.add(measured)
      })
    }
    if (isShown) onCrops(seen)
    return E.right(tally.quality())
  }
}
