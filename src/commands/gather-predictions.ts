import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { Failure, Outcome } from '../failure'
import { failureJson } from '../failure/failure-json'
import { type Extent2, extentText } from '../images/resolution'
import type { ImagePrediction } from '../option-tables/predict-options'
import { type Ranks, allGatherJson } from '../ranks/ranks'
import type { PredictedKind } from '../predicting/prediction'
import { scoreKindCodec } from '../running/score-kind'

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
  readonly firstFailure?: { readonly at: number; readonly failure: Failure }
}

const numbers = t.readonlyArray(t.number)
const texts = t.readonlyArray(t.string)

const imagePrediction = t.readonly(
  t.intersection([
    t.type({ path: t.string, height: t.number, width: t.number, milliseconds: t.number }),
    t.partial({ scores: numbers, class: t.number, classes: numbers, values: numbers, pixels: numbers, files: texts })
  ])
)

const predictionsCodec = t.readonly(
  t.intersection([
    t.type({
      images: t.readonlyArray(t.readonly(t.tuple([t.number, imagePrediction]))),
      skipped: t.readonlyArray(t.type({ at: t.number, path: t.string, message: t.string }))
    }),
    t.partial({
      kind: t.type({
        of: t.keyof({ image: null, pixels: null }),
        classes: t.number,
        scores: scoreKindCodec,
        names: texts,
        isNamed: t.boolean
      }),
      used: t.intersection([
        t.type({ strategy: t.string, milliseconds: t.number, peakDeviceBytes: t.number, predictedPeakBytes: t.number }),
        t.partial({ windowBytes: t.number, repeatedTiles: t.number })
      ]),
      firstFailure: t.type({ at: t.number, failure: failureJson })
    })
  ]),
  'list of predictions'
)

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
  const [firstFailure] = parts.flatMap((part) => part.firstFailure ?? []).sort((a, b) => a.at - b.at)
  const used = parts.flatMap((part) => part.used ?? [])
  return {
    images: parts.flatMap(({ images }) => images).sort(([a], [b]) => a - b),
    skipped: parts.flatMap(({ skipped }) => skipped).sort((a, b) => a.at - b.at),
    ...(kind && { kind }),
    ...(firstFailure && { firstFailure }),
    ...(used.length > 0 && { used: used.reduce(addUsage) })
  }
}

/** What there is to predict: pixels, and extents, of which each is planned. */
export interface Work {
  readonly pixels: number
  readonly extents: number
}

const workCodec = t.type({ pixels: t.number, extents: t.number }, 'work')

/** The work that some images are. */
export const workOf = (images: readonly Extent2[]): Work => ({
  pixels: images.reduce((sum, { height, width }) => sum + height * width, 0),
  extents: new Set(images.map(extentText)).size
})

/**
 * Milliseconds that the rank with the most work takes at the pace of one that did some of it in so
 * many; Infinity where that one did nothing, and so has no pace.
 */
export const busiestMilliseconds = (all: readonly Work[], done: Work, milliseconds: number): number => {
  const timesOf = ({ pixels, extents }: Work): number => Math.max(pixels / done.pixels, extents / done.extents)
  return done.pixels === 0 ? Infinity : milliseconds * all.map(timesOf).reduce((most, times) => Math.max(most, times), 0)
}

/**
 * Adds the work of every rank, by rank, to what this one has opened; the failure of the first that
 * fails, on all of them.
 */
export const gatherWork =
  <A>(ranks: Ranks | undefined, imagesOf: (opened: A) => readonly Extent2[]) =>
  (opening: Outcome<A>): Outcome<A & { readonly work: readonly Work[] }> =>
  async () => {
    const opened = await opening()
    const gathering = () => allGatherJson(ranks, workCodec, E.map((own: A) => workOf(imagesOf(own)))(opened))
    // Reading weights and images' headers may take any time, unless it is said otherwise.
    const work = await (ranks === undefined ? gathering : ranks.whileExpecting(Infinity)(gathering))()
    return E.isLeft(work) ? work : E.map((own: A) => ({ ...own, work: work.right }))(opened)
  }

/**
 * The predictions of all ranks, in the order of the list, on each of them, or the failure of the
 * first that fails; those of the only process where there are no ranks. What a rank has found once
 * it is done with its own says how long it waits for the others, which have `work`.
 */
export const gatherPredictions =
  (ranks: Ranks | undefined, work: readonly Work[], found: Predictions) =>
  (predicting: Outcome<unknown>): Outcome<Predictions> =>
    pipe(async () => {
      const begun = performance.now()
      const own = E.map(() => found)(await predicting())
      const gathering = (): Promise<E.Either<Failure, readonly Predictions[]>> => allGatherJson(ranks, predictionsCodec, own)
      if (ranks === undefined) return gathering()
      // What it took counts planning too, which no prediction does.
      const done = workOf(found.images.map(([, image]) => image))
      return ranks.whileExpecting(busiestMilliseconds(work, done, performance.now() - begun))(gathering)()
    }, TE.map(joinPredictions))
