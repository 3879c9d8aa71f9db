import * as E from 'fp-ts/Either'
import type { Section } from '../../staging/program/program'
import type { Dataset } from '../dataset'
import { type Exchange, exchangeFor } from '../exchange'
import { type Failure, type Outcome } from '../failure'
import type { Extent2 } from '../images'
import { ignoredLabel } from '../masks'
import { type RunningNetwork, stoppable } from '../session'
import { unlessAborted } from '../unless-aborted'
import { type Batch, type Pictures, inBatches, middles } from './batches'
import { type Quality, qualityOf } from './scores'
import { countPixels, emptyConfusion, meanIntersectionOverUnion } from './segmentation-scores'

export interface ValidationRun {
  readonly network: RunningNetwork
  /** The Program's `evaluate`. */
  readonly section: Section
  readonly dataset: Dataset
  readonly batch: number
  readonly classes: number
  readonly crop: Extent2
  readonly pictures: Pictures
  readonly signal: AbortSignal | undefined
}

/** What is made of the batches of a validation in turn. */
interface Tally {
  /** Before a batch runs, of which so many rows count; the others repeat the last one. */
  readonly before: (exchange: Exchange, batch: Batch, rows: number) => void
  readonly after: (exchange: Exchange, batch: Batch, rows: number) => void
  readonly quality: () => Quality
}

const tallyOfImages = (classes: number, images: number): Tally => {
  const values = new Float64Array(images * classes)
  const labels: number[] = []
  return {
    before: () => undefined,
    after: (exchange, { target }, rows) => {
      values.set(exchange.view('scores').subarray(0, rows * classes), labels.length * classes)
      labels.push(...Array.from(target).slice(0, rows))
    },
    quality: () => qualityOf({ values, classes, labels })
  }
}

const tallyOfPixels = (classes: number, batch: number): Tally => {
  const confusion = emptyConfusion(classes)
  let [loss, right, counted] = [0, 0, 0]
  return {
    before: (exchange, { target }, rows) => {
      const labels = exchange.view('target')
      labels.set(target)
      labels.fill(ignoredLabel, (rows * labels.length) / batch)
      // Losses are added up here, over all batches.
      exchange.view('normaliser')[0] = 1
    },
    after: (exchange) => {
      const labels = exchange.view('target')
      const [batchLoss, batchRight] = exchange.view('loss')
      // A score of -Infinity leaves the loss finite.
      loss += countPixels(confusion, labels, exchange.view('classes')) ? batchLoss! : NaN
      right += batchRight!
      for (const label of labels) if (label !== ignoredLabel) counted += 1
    },
    quality: () => {
      const each = counted === 0 ? 1 : counted
      return { loss: loss / each, accuracy: right / each, iou: meanIntersectionOverUnion(confusion) }
    }
  }
}

/** Evaluates the middle of every image, without dropout; the next batch is decoded while the current one runs. */
export const validate = ({ network, section, dataset, batch, classes, crop, pictures, signal }: ValidationRun): Outcome<Quality> => {
  const { examples } = dataset
  const exchange = exchangeFor(section)
  const batches = inBatches(examples, batch)
  const load = (index: number): Promise<E.Either<Failure, Batch>> => middles(batches[index] ?? [], crop, pictures)()
  return async () => {
    const masked = typeof examples[0]?.label !== 'number'
    const tally = masked ? tallyOfPixels(classes, batch) : tallyOfImages(classes, examples.length)
    let next = load(0)
    for (let index = 0; index < batches.length; index += 1) {
      const loaded = await unlessAborted(signal, next)
      if (E.isLeft(loaded)) return loaded
      const rows = Math.min(batch, examples.length - index * batch)
      tally.before(exchange, loaded.right, rows)
      const running = stoppable(signal, network, network.evaluate(exchange, loaded.right.images))()
      next = load(index + 1)
      const ran = await running
      if (E.isLeft(ran)) return ran
      tally.after(exchange, loaded.right, rows)
    }
    return E.right(tally.quality())
  }
}
