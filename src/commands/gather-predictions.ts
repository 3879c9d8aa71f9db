import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Failure, Outcome } from '../failure'
import type { ImagePrediction } from '../option-tables/predict-options'
import { type Ranks, allGatherJson } from '../ranks/ranks'
import type { PredictedKind } from '../predicting/prediction'

/** Strategy, milliseconds and bytes of the images that were predicted. */
export interface UsedByImages {
  /** The strategy of the last plan. */
  readonly strategy: string
  /** Milliseconds of all forward passes. */
  readonly milliseconds: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  /** Host memory of the windows that are read of an image in tiles. */
  readonly windowBytes?: number
  /** Tiles of one colour that followed such a tile, and so were not computed again. */
  readonly repeatedTiles?: number
}

/** What came of the images of a list, or of one rank's part of it. */
export interface Predictions {
  /** By their places in the list. */
  readonly images: readonly (readonly [at: number, predicted: ImagePrediction])[]
  readonly skipped: readonly { readonly at: number; readonly path: string; readonly message: string }[]
  /** `isNamed`: the names are more than numbers. */
  readonly kind?: PredictedKind & { readonly names: readonly string[]; readonly isNamed: boolean }
  readonly used?: UsedByImages
  /** The failure of the first image that was left out. */
  readonly firstFailure?: Failure
}

/** What two parts of a list took: time and tiles of both, memory of the one that took more. */
export const addUsage = (a: UsedByImages, b: UsedByImages): UsedByImages => {
  const windowBytes = Math.max(a.windowBytes ?? 0, b.windowBytes ?? 0)
  const repeatedTiles = (a.repeatedTiles ?? 0) + (b.repeatedTiles ?? 0)
  return {
    strategy: b.strategy,
    milliseconds: a.milliseconds + b.milliseconds,
    peakDeviceBytes: Math.max(a.peakDeviceBytes, b.peakDeviceBytes),
    predictedPeakBytes: Math.max(a.predictedPeakBytes, b.predictedPeakBytes),
    ...(windowBytes > 0 && { windowBytes }),
    ...(repeatedTiles > 0 && { repeatedTiles })
  }
}

const joinPredictions = (parts: readonly Predictions[]): Predictions => {
  const [kind] = parts.flatMap((part) => part.kind ?? [])
  const [firstFailure] = parts.flatMap((part) => part.firstFailure ?? [])
  const used = parts.flatMap((part) => part.used ?? [])
  return {
    images: parts.flatMap(({ images }) => images).sort(([a], [b]) => a - b),
    skipped: parts.flatMap(({ skipped }) => skipped).sort((a, b) => a.at - b.at),
    ...(kind && { kind }),
    ...(firstFailure && { firstFailure }),
    ...(used.length > 0 && { used: used.reduce(addUsage) })
  }
}

/**
 * The predictions of all ranks, in the order of the list, on each of them, or the failure of the
 * first that fails; those of the only process where there are no ranks.
 */
export const gatherPredictions =
  (ranks: Ranks | undefined) =>
  (own: Outcome<Predictions>): Outcome<Predictions> =>
    pipe(async () => allGatherJson(ranks, await own()), TE.map(joinPredictions))
