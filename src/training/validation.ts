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
import { unlessAborted } from '../tasks/unless-aborted'
import { type Batch, splitIntoBatches, centreBatch } from './batches'
import type { ImageLoader } from './image-loader'
import { measureConfusion, rowsOf } from './confusion'
import type { SeenCrop } from '../images/seen-crop'
import { pictureCrops } from './seen-crops'
import { type Quality, measureQuality } from './scores'
import { countPixels, emptyConfusion, meanIntersectionOverUnion } from './segmentation-scores'

interface ValidationRun {
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
  /** Told of the first crops of each validation, where they are to be seen. */
  readonly onCrops?: ((crops: readonly SeenCrop[]) => void) | undefined
}

/** Adds up the batches of a validation in turn. */
interface Tally {
  /** Before a batch runs, of which so many rows count; the others repeat the last one. */
  readonly before: (io: StepIo, batch: Batch, rows: number) => void
  readonly after: (io: StepIo, batch: Batch, rows: number) => void
  readonly quality: () => Quality
}

/** The mean loss of all batches, of a network that hands it out. */
interface LossTally {
  /** Hands the target over, of rows that are there. */
  readonly before: (io: StepIo, batch: Batch, rows: number) => void
  /** Adds the loss of the batch that ran. */
  readonly after: (io: StepIo) => void
  readonly mean: () => number
}

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
    after: (io) => {
      const targets = io.view('target')
      sum += io.view('loss')[0]!
      weight += weightOfTargets(loss, targets, true)!
      if (!loss.overlaps) return
      // An image of which nothing counts has no loss.
      const each = targets.length / batch
      overlaps += io.view('lossOfOverlap')[0]! * batch
      for (let image = 0; image < batch; image += 1)
        if (weightOfTargets(loss, targets.subarray(image * each, (image + 1) * each), true)! > 0) images += 1
    },
    mean: () => sum / (weight === 0 ? 1 : weight) + overlaps / (images === 0 ? 1 : images)
  }
}

const tallyOfImages = (loss: Node, classes: number, images: number, batch: number): Tally => {
  const values = new Float64Array(images * classes)
  const labels: number[] = []
  const losses = isNormalised(loss) ? tallyOfLoss(loss, batch) : undefined
  return {
    before: (io, loaded, rows) => losses?.before(io, loaded, rows),
    after: (io, { target }, rows) => {
      losses?.after(io)
      values.set(io.view('scores').subarray(0, rows * classes), labels.length * classes)
      labels.push(...Array.from(target).slice(0, rows))
    },
    quality: () => ({ ...measureQuality({ values, classes, labels }), ...(losses === undefined ? {} : { loss: losses.mean() }) })
  }
}

const tallyOfPixels = (loss: Node, classes: number, batch: number): Tally => {
  const confusion = emptyConfusion(classes)
  const losses = tallyOfLoss(loss, batch)
  let [right, counted, isFinite] = [0, 0, true]
  return {
    before: losses.before,
    after: (io) => {
      const labels = io.view('target')
      losses.after(io)
      // A score of -Infinity leaves the loss finite.
      if (!countPixels(confusion, labels, io.view('classes'))) isFinite = false
      right += io.view('loss')[1]!
      for (const label of labels) if (label !== ignoredLabel) counted += 1
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
 * one runs.
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
  signal,
  onCrops
}: ValidationRun): Outcome<Quality> => {
  const { examples } = dataset
  const io = createStepIo(section)
  const batches = splitIntoBatches(examples, batch)
  const load = (index: number): Promise<E.Either<Failure, Batch>> => centreBatch(batches[index] ?? [], crop, loader, classes)()
  return async () => {
    const kind = labelKind(dataset)
    const masked = kind === 'mask'
    const isShown = onCrops !== undefined && (kind === 'mask' || kind === 'class')
    const tally = masked ? tallyOfPixels(loss, classes, batch) : tallyOfImages(loss, classes, examples.length, batch)
    let next = load(0)
    for (let index = 0; index < batches.length; index += 1) {
      const loaded = await unlessAborted(signal, next)
      if (E.isLeft(loaded)) return loaded
      const rows = Math.min(batch, examples.length - index * batch)
      tally.before(io, loaded.right, rows)
      const pictured = isShown && index === 0 ? await pictureCrops(loaded.right, batches[0]!, crop, classes) : undefined
      const running = withAbort(signal, network, network.evaluate(io, loaded.right.images))()
      next = load(index + 1)
      const ran = await running
      if (E.isLeft(ran)) return ran
      if (pictured !== undefined) onCrops?.(pictured(io, masked ? 'mask' : 'class'))
      tally.after(io, loaded.right, rows)
    }
    return E.right(tally.quality())
  }
}
