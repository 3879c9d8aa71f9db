import * as E from 'fp-ts/Either'
import type { Image, StepIo } from '../../../native'
import type { Node } from '../../../staging'
import { type Dataset, labelKind } from '../../datasets/dataset'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { type Extent2, extentText } from '../../images/resolution'
import { type RunningNetwork, withAbort } from '../../running/running-network'
import { type Ranks, allGatherNumbers, failOnAllRanks } from '../../ranks/ranks'
import { unlessAborted } from '../../tasks/unless-aborted'
import { type Batch, splitIntoBatches, centreBatch } from '../batches/batches'
import { tallyFor } from '../batches/batch-tally'
import type { ImageLoader } from '../batches/image-loader'
import type { SeenCrop } from '../../images/seen-crop'
import { chooseDescription } from './describe-prediction'
import { pictureCrops, chooseShownPlaces } from './seen-crops'
import type { Quality } from '../../metrics/quality'

/** A network that runs forward alone. */
export interface Evaluating {
  readonly network: RunningNetwork
  /** What the evaluation takes and hands out. */
  readonly io: StepIo
  readonly evaluate: (images: readonly Image[]) => Outcome<number>
}

/** All that a validation on middle crops needs. */
export interface ValidationRun {
  /** Asked once for each validation. */
  readonly evaluating: () => Evaluating
  /** The loss that the network ends in. */
  readonly loss: Node
  readonly dataset: Dataset
  readonly batch: number
  readonly classes: number
  readonly crop: Extent2
  readonly loader: ImageLoader
  readonly signal: AbortSignal | undefined
  readonly ranks?: Ranks | undefined
  /** Told of some crops of each validation, where they are to be seen. */
  readonly onCrops?: ((crops: readonly SeenCrop[]) => void) | undefined
  /** Told how many images are evaluated, of how many. */
  readonly onValidating?: ((done: number, total: number) => void) | undefined
}

/** The failure of masks that are ignored all over the middles of their images. */
export const allIgnoredFailure = (crop: Extent2): Failure =>
  inputFailure(
    `in the crop of ${extentText(crop)} in the middle of each validation image no pixel counts: give a larger --crop, or --validate-on image`
  )

/**
 * Evaluates the middle of every image, without dropout; the next batch is decoded while the current
 * one runs. Of ranks each evaluates every so manyth batch.
 */
export const validate = ({
  evaluating,
  loss,
  dataset,
  batch,
  classes,
  crop,
  loader,
  signal: asked,
  ranks,
  onCrops,
  onValidating
}: ValidationRun): Outcome<Quality> => {
  const { rank, size } = ranks ?? { rank: 0, size: 1 }
  // Ranks end together, after a step.
  const signal = ranks === undefined ? asked : undefined
  const { examples } = dataset
  const batches = splitIntoBatches(examples, batch)
  const load = (index: number): Promise<E.Either<Failure, Batch>> => centreBatch(batches[index] ?? [], crop, loader, classes)()
  return async () => {
    const { network, io, evaluate } = evaluating()
    const kind = labelKind(dataset) ?? 'class'
    const describe = kind === 'mask' ? undefined : chooseDescription(kind, loss, classes, dataset.names)
    const tally = tallyFor(kind, loss, classes, examples.length, batch)
    const own = examples.flatMap((_, place) => (Math.floor(place / batch) % size === rank ? [place] : []))
    const shown = chooseShownPlaces(onCrops === undefined ? [] : own)
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
      const pictured = await pictureCrops(loaded.right, batches[index]!, shownRows, crop)
      const running = withAbort(signal, network, evaluate(loaded.right.images))()
      next = load(index + size)
      const ran = await running
      if (E.isLeft(ran)) return ran
      seen.push(...pictured(io, describe))
      return E.right(tally.measure(io, loaded.right, rows))
    }
    for (let first = 0; first < batches.length; first += size) {
      const all = await allGatherNumbers(ranks, await evaluateBatch(first + rank))
      if (E.isLeft(all)) return all
      all.right.forEach((measured) => {
        if (measured.length > 0) tally.add(measured)
      })
      onValidating?.(Math.min((first + size) * batch, examples.length), examples.length)
    }
    onCrops?.(seen)
    const quality = tally.quality()
    return quality === undefined ? failOnAllRanks(ranks, allIgnoredFailure(crop))() : E.right(quality)
  }
}
