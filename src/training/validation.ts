import * as E from 'fp-ts/Either'
import type { Section } from '../../staging/program/program'
import { type Dataset, labelKind } from '../images/dataset'
import { type StepIo, createStepIo } from '../running/step-io'
import { type Failure, type Outcome } from '../failure'
import type { Extent2 } from '../images/resolution'
import { ignoredLabel } from '../images/class-list'
import { type RunningNetwork, withAbort } from '../running/running-network'
import { unlessAborted } from '../tasks/unless-aborted'
import { type Batch, splitIntoBatches, centreBatch } from './batches'
import type { ImageLoader } from './image-loader'
import { type Quality, measureQuality } from './scores'
import { countPixels, emptyConfusion, meanIntersectionOverUnion } from './segmentation-scores'

interface ValidationRun {
  readonly network: RunningNetwork
  /** The Program's `evaluate`. */
  readonly section: Section
  readonly dataset: Dataset
  readonly batch: number
  readonly classes: number
  readonly crop: Extent2
  readonly loader: ImageLoader
  readonly signal: AbortSignal | undefined
}

/** Adds up the batches of a validation in turn. */
interface Tally {
  /** Before a batch runs, of which so many rows count; the others repeat the last one. */
  readonly before: (io: StepIo, batch: Batch, rows: number) => void
  readonly after: (io: StepIo, batch: Batch, rows: number) => void
  readonly quality: () => Quality
}

const tallyOfImages = (classes: number, images: number): Tally => {
  const values = new Float64Array(images * classes)
  const labels: number[] = []
  return {
    before: () => undefined,
    after: (io, { target }, rows) => {
      values.set(io.view('scores').subarray(0, rows * classes), labels.length * classes)
      labels.push(...Array.from(target).slice(0, rows))
    },
    quality: () => measureQuality({ values, classes, labels })
  }
}

const tallyOfPixels = (classes: number, batch: number): Tally => {
  const confusion = emptyConfusion(classes)
  let [loss, right, counted] = [0, 0, 0]
  return {
    before: (io, { target }, rows) => {
      const labels = io.view('target')
      labels.set(target)
      labels.fill(ignoredLabel, (rows * labels.length) / batch)
      // Losses are added up here, over all batches.
      io.view('normaliser')[0] = 1
    },
    after: (io) => {
      const labels = io.view('target')
      const [batchLoss, batchRight] = io.view('loss')
      // A score of -Infinity leaves the loss finite.
      loss += countPixels(confusion, labels, io.view('classes')) ? batchLoss! : NaN
      right += batchRight!
      for (const label of labels) if (label !== ignoredLabel) counted += 1
    },
    quality: () => {
      const each = counted === 0 ? 1 : counted
      return { loss: loss / each, accuracy: right / each, iou: meanIntersectionOverUnion(confusion) }
    }
  }
}

/**
 * Evaluates the middle of every image, without dropout; the next batch is decoded while the current
 * one runs.
 */
export const validate = ({ network, section, dataset, batch, classes, crop, loader, signal }: ValidationRun): Outcome<Quality> => {
  const { examples } = dataset
  const io = createStepIo(section)
  const batches = splitIntoBatches(examples, batch)
  const load = (index: number): Promise<E.Either<Failure, Batch>> => centreBatch(batches[index] ?? [], crop, loader, classes)()
  return async () => {
    const masked = labelKind(dataset) === 'mask'
    const tally = masked ? tallyOfPixels(classes, batch) : tallyOfImages(classes, examples.length)
    let next = load(0)
    for (let index = 0; index < batches.length; index += 1) {
      const loaded = await unlessAborted(signal, next)
      if (E.isLeft(loaded)) return loaded
      const rows = Math.min(batch, examples.length - index * batch)
      tally.before(io, loaded.right, rows)
      const running = withAbort(signal, network, network.evaluate(io, loaded.right.images))()
      next = load(index + 1)
      const ran = await running
      if (E.isLeft(ran)) return ran
      tally.after(io, loaded.right, rows)
    }
    return E.right(tally.quality())
  }
}
