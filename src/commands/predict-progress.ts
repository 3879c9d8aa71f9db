import * as TE from 'fp-ts/TaskEither'
import { type Failure, type Outcome, clause } from '../failure'
import type { ImagePrediction } from '../option-tables/predict-options'
import type { ListedImage } from '../predicting/listed-images'
import type { Predictions, UsedByImages } from './gather-predictions'
import type { DecodedPredictOptions } from './prepare-prediction'

/** An image of a list. */
export interface PlacedImage extends ListedImage {
  /** Its place in the list. */
  readonly at: number
}

/** What was found so far; grows while images are predicted. */
interface Found extends Predictions {
  readonly images: (readonly [at: number, predicted: ImagePrediction])[]
  readonly skipped: { at: number; path: string; message: string }[]
  firstFailure?: NonNullable<Predictions['firstFailure']>
  kind?: NonNullable<Predictions['kind']>
  used?: UsedByImages
}

/** How far a prediction is. */
export interface Progress {
  readonly found: Found
  /** Images that are to be predicted here, once they are opened. */
  total?: number
  saidWindows?: boolean
}

/** Failures of one image; those of the device, or of a hand that stops it, are of all. */
const isOfImage = ({ code }: Failure): boolean => code === 'input' || code === 'budget' || code === 'loss'

/** Tells how many images are predicted, or left out, of how many. */
export const tellProgress = ({ onPredicting }: DecodedPredictOptions, { found: { images, skipped }, total }: Progress): void => {
  if (total !== undefined && total > 1) onPredicting?.(images.length + skipped.length, total)
}

/** Leaves an image out where that is asked for, and fails otherwise. */
export const skip =
  (options: DecodedPredictOptions, progress: Progress) =>
  ({ at, path }: PlacedImage, failure: Failure): Outcome<void> => {
    const { skipBad, onNotice } = options
    const { found } = progress
    if (!skipBad || !isOfImage(failure)) return TE.left(failure)
    if (found.firstFailure === undefined || at < found.firstFailure.at) found.firstFailure = { at, failure }
    found.skipped.push({ at, path, message: failure.message })
    tellProgress(options, progress)
    onNotice?.(`${clause(failure)}; ${path} is left out`)
    return TE.right(undefined)
  }
