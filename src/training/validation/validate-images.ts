import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type DeviceName, type Image, type ImageWindow, type StepIo, copyTensors } from '../../../native'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { isMask } from '../../datasets/labels'
import type { Extent2 } from '../../images/resolution'
import type { SeenCrop } from '../../images/seen-crop'
import { type Ranks, allGatherJson, allGatherNumbers, failOnAllRanks } from '../../ranks/ranks'
import { runInTurn } from '../../running/run-in-turn'
import { type RunningNetwork, withAbort } from '../../running/running-network'
import { noUpdate } from '../../running/step-parameters'
import { type CropPlacement, centreCrop, placeUnflippedCrop } from '../../images/crop-placement'
import type { ImageLoader } from '../batches/image-loader'
import type { Quality } from '../../metrics/quality'
import { pictureCrops, chooseShownPlaces } from './seen-crops'
import { type WindowSpan, windowSpans } from '../../running/window-spans'
import { type PixelCounts, type PixelMeasure, computeQuality, sumCounts, tallyImage } from '../../metrics/pixel-tally'
import type { ValidatedImage, ValidationGroup } from './plan-validation'
import { type Unread, unreadCodec } from './unread-images'
import { type ScoreCounts, areasUnderCurves, emptyScoreCounts } from '../../metrics/score-areas'

/** The measures of one image in a validation. */
export interface ImageQuality {
  readonly path: string
  /** Pixels that count. */
  readonly pixels: number
  readonly quality: Quality
}

/** A validation of all images, and of each in their order. */
export interface WholeQuality {
  readonly quality: Quality
  readonly images: readonly ImageQuality[]
}

interface WholeValidation {
  readonly groups: readonly ValidationGroup[]
  readonly measure: PixelMeasure
  /** The network that is trained, whose device is given back meanwhile. */
  readonly network: RunningNetwork
  readonly device: DeviceName
  readonly loader: ImageLoader
  readonly crop: Extent2
  readonly signal: AbortSignal | undefined
  readonly ranks?: Ranks | undefined
  /** Told of an image that cannot be read and is left out; it ends the validation where absent. */
  readonly onSkipped?: ((failure: Failure, image: ValidatedImage) => void) | undefined
  /** Told how many windows are evaluated, of how many of this rank. */
  readonly onValidating?: ((done: number, total: number) => void) | undefined
  /** Told of some crops, where they are to be seen. */
  readonly onCrops?: ((crops: readonly SeenCrop[]) => void) | undefined
}

/** The counts of one image. */
interface Counted {
  readonly image: ValidatedImage
  readonly counts: PixelCounts
  readonly areas: readonly (number | null)[]
}

/** Collects the classes that are predicted in a part of an image, window by window. */
const collectClasses = ({ channels }: PixelMeasure, part: ImageWindow) => {
  const classes = new Uint8Array(part.height * part.width)
  return {
    classes,
    add: (scores: ArrayLike<number>, window: Extent2, rows: WindowSpan, columns: WindowSpan): void => {
      const plane = window.height * window.width
      for (let row = Math.max(rows.from, part.top); row < Math.min(rows.to, part.top + part.height); row += 1)
        for (let column = Math.max(columns.from, part.left); column < Math.min(columns.to, part.left + part.width); column += 1) {
          const at = (row - rows.start) * window.width + column - columns.start
          let best = channels === 1 ? (scores[at]! > 0 ? 1 : 0) : 0
          for (let channel = 1; channel < channels; channel += 1)
            if (scores[at + channel * plane]! > scores[at + best * plane]!) best = channel
          classes[(row - part.top) * part.width + column - part.left] = best
        }
    }
  }
}

/** Validates the images of one group, and takes the device for it; one at a time. */
const validateGroup = (
  run: WholeValidation,
  { planned, window, fields }: ValidationGroup,
  images: readonly ValidatedImage[],
  shown: ReadonlySet<number>,
  weights: Pick<StepIo, 'view'>,
  take: (counted: Counted, scoreCounts: ScoreCounts, crops: readonly SeenCrop[]) => void,
  onWindow: () => void
): Outcome<void> => {
  const { measure, loader, crop, signal, onSkipped } = run
  const { restore } = planned.staged.program
  const windowLoader = loader.inCropsOf(window)
  const fill = (io: StepIo): Outcome<void> => {
    copyTensors(restore.stepIo, weights, io)
    return TE.right(undefined)
  }

  const runWindow = (network: RunningNetwork, { example }: ValidatedImage, rows: WindowSpan, columns: WindowSpan): Outcome<Uint8Array> => {
    const place = (): CropPlacement => placeUnflippedCrop(rows.start, columns.start)
    const { label } = example
    return pipe(
      windowLoader.image(example, place),
      TE.bindTo('image'),
      TE.bind('labels', () => (isMask(label) ? windowLoader.classes(example, label, place) : TE.right(new Uint8Array(0)))),
      TE.chainFirst(({ image }) => withAbort(signal, network, network.step(noUpdate, [image]))),
      TE.map(({ labels }) => labels)
    )
  }

  const validateImage = (network: RunningNetwork, image: ValidatedImage) => async (): Promise<E.Either<Failure, void>> => {
    const { extent, place } = image
    const tally = tallyImage(measure)
    const { cropTop: top, cropLeft: left } = centreCrop(crop)(extent)
    const middle = shown.has(place) ? collectClasses(measure, { top, left, ...crop }) : undefined
    for (const rows of windowSpans(extent.height, window.height, fields?.H))
      for (const columns of windowSpans(extent.width, window.width, fields?.W)) {
        const labels = await runWindow(network, image, rows, columns)()
        if (E.isLeft(labels)) return labels
        const scores = network.io.view('scores')
        tally.add(scores, labels.right, window, {
          top: rows.from - rows.start,
          left: columns.from - columns.start,
          height: rows.to - rows.from,
          width: columns.to - columns.from
        })
        middle?.add(scores, window, rows, columns)
        network.io.leaveToFile()
        onWindow()
      }
    const crops = middle === undefined ? E.right([]) : await pictureMiddle(run, image, middle.classes)()
    if (E.isLeft(crops)) return crops
    const { counts, scoreCounts } = tally.finish()
    take({ image, counts, areas: areasUnderCurves(scoreCounts) }, scoreCounts, crops.right)
    return E.right(undefined)
  }

  return runInTurn({
    ...{ planned, device: run.device, state: fill, images, what: 'the scores of a validation' },
    run: (network, image) =>
      TE.fold<Failure, void, E.Either<Failure, Failure | undefined>>(
        (failure) => TE.right(failure),
        () => TE.right(undefined)
      )(validateImage(network, image)),
    onFailure: (image, failure) => {
      if (onSkipped === undefined || failure.code !== 'input') return TE.left(failure)
      return TE.fromIO(() => onSkipped(failure, image))
    }
  })
}

/** A small picture of the middle of an image, beside the classes that are predicted there. */
const pictureMiddle = (
  { loader, crop }: WholeValidation,
  { example }: ValidatedImage,
  predicted: Uint8Array
): Outcome<readonly SeenCrop[]> => {
  const [place, { label }] = [centreCrop(crop), example]
  return pipe(
    loader.image(example, place),
    TE.bindTo('image'),
    TE.bind('target', () => (isMask(label) ? loader.classes(example, label, place) : TE.right(new Uint8Array(0)))),
    TE.chainTaskK(({ image, target }: { readonly image: Image; readonly target: Uint8Array }) => async () => {
      const pictured = await pictureCrops({ images: [image], target }, [example], [0], crop)
      return pictured({ view: () => predicted }, undefined)
    })
  )
}

/** Numbers of an image, as ranks exchange them. */
const encodeCounted = ({ image, counts, areas }: Counted): readonly number[] => {
  const { lossSum, lossWeight, overlapLoss, images, isFinite, confusion } = counts
  return [image.place, lossSum, lossWeight, overlapLoss, images, isFinite ? 1 : 0, ...areas.map((area) => area ?? NaN), ...confusion]
}

const decodeCounted = (
  { classes, areas }: PixelMeasure,
  numbers: readonly number[],
  images: ReadonlyMap<number, ValidatedImage>
): Counted => {
  const [place, lossSum, lossWeight, overlapLoss, counted, finite, ...rest] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
    ...number[]
  ]
  const confusion = Float64Array.from(rest.slice(areas.length, areas.length + classes ** 2))
  return {
    image: images.get(place)!,
    counts: { confusion, lossSum, lossWeight, overlapLoss, images: counted, isFinite: finite === 1 },
    areas: rest.slice(0, areas.length).map((area) => (Number.isNaN(area) ? null : area))
  }
}

/** Tells whether a rank evaluates an image: each every so manyth. */
const isOf =
  (rank: number, size: number) =>
  ({ place }: Pick<ValidatedImage, 'place'>): boolean =>
    place % size === rank

const sumOf = <A>(values: readonly A[], numberOf: (value: A) => number): number => values.reduce((sum, value) => sum + numberOf(value), 0)

const countWindows = ({ window, fields }: ValidationGroup, images: readonly ValidatedImage[]): number =>
  sumOf(images, ({ extent: { height, width } }) => {
    return windowSpans(height, window.height, fields?.H).length * windowSpans(width, window.width, fields?.W).length
  })

/** What the windows of the rank with the most to do are predicted to take, in milliseconds. */
export const busiestValidationMilliseconds = (groups: readonly ValidationGroup[], size: number): number => {
  const millisecondsOf = (rank: number): number =>
    sumOf(groups, (group) => group.planned.staged.predicted.stepMilliseconds * countWindows(group, group.images.filter(isOf(rank, size))))
  return Array.from({ length: size }, (_, rank) => millisecondsOf(rank)).reduce((most, milliseconds) => Math.max(most, milliseconds), 0)
}

/**
 * Evaluates whole images, pixel by pixel that counts, in the place of the network that is trained.
 * Of ranks each evaluates every so manyth image; all answer the same, to the bit. Fails with code
 * `input` where no pixel is left that counts. Each time that the answer is run it validates anew;
 * an image that could not be read once is left out from then on.
 */
export const validateImages = (given: WholeValidation): Outcome<WholeQuality> => {
  const unreadable = new Map<ValidatedImage, Failure>()
  const unread: Unread[] = []
  const onSkipped = ({ message }: Failure, { place }: ValidatedImage): void => void unread.push([place, message])
  const run: WholeValidation = { ...given, onSkipped: given.onSkipped && onSkipped }
  return async () => {
    const { groups, measure, network, ranks, onCrops } = run
    const { rank, size } = ranks ?? { rank: 0, size: 1 }
    const all = groups.flatMap(({ images }) => images)
    const isOwn = isOf(rank, size)
    const shown = chooseShownPlaces(onCrops === undefined ? [] : all.filter(isOwn).map(({ place }) => place))
    const own: Counted[] = []
    const total = sumOf(groups, (group) => countWindows(group, group.images.filter(isOwn)))
    let done = 0
    const onWindow = (): void => run.onValidating?.((done += 1), total)
    const scoreCounts = emptyScoreCounts(measure.areas.length)
    const crops: SeenCrop[] = []
    const take = (counted: Counted, counts: ScoreCounts, seen: readonly SeenCrop[]): void => {
      own.push(counted)
      counts.forEach((count, index) => (scoreCounts[index]! += count))
      crops.push(...seen)
    }
    const validated = await network.suspendWhile((weights) =>
      TE.traverseSeqArray((group: ValidationGroup) =>
        validateGroup(
          run,
          group,
          group.images.filter((image) => isOwn(image) && !unreadable.has(image)),
          shown,
          weights,
          take,
          onWindow
        )
      )(groups)
    )()
    const rows = own.map(encodeCounted)
    const rowNumbers = encodeLength(measure)
    const gathered = await allGatherNumbers(ranks, E.map(() => rows.flat().concat(Array.from(scoreCounts)))(validated))
    if (E.isLeft(gathered)) return gathered
    const places = new Map(all.map((image) => [image.place, image]))
    const skipped = given.onSkipped === undefined ? E.right([]) : await allGatherJson(ranks, unreadCodec, E.right(unread.splice(0)))
    if (E.isLeft(skipped)) return skipped
    for (const [place, message] of skipped.right.flat()) {
      unreadable.set(places.get(place)!, inputFailure(message))
      given.onSkipped?.(inputFailure(message), places.get(place)!)
    }
    const counted: Counted[] = []
    const sums = emptyScoreCounts(measure.areas.length)
    for (const numbers of gathered.right) {
      const end = numbers.length - sums.length
      for (let at = 0; at < end; at += rowNumbers) counted.push(decodeCounted(measure, numbers.slice(at, at + rowNumbers), places))
      for (let index = 0; index < sums.length; index += 1) sums[index]! += numbers[end + index]!
    }
    counted.sort((a, b) => a.image.place - b.image.place)
    if (onCrops !== undefined) onCrops(crops)
    const counts = sumCounts(
      measure,
      counted.map(({ counts }) => counts)
    )
    // A loss of nothing would be 0, the best for ever.
    if (counts.images === 0 && counts.isFinite)
      return failOnAllRanks(
        ranks,
        [...unreadable.values()][0] ?? inputFailure('no pixel that counts is left in the images that are validated')
      )()
    return E.right({
      quality: computeQuality(measure, counts, areasUnderCurves(sums)),
      images: counted.map(({ image, counts, areas }) => ({
        path: image.example.path,
        pixels: counts.confusion.reduce((sum, count) => sum + count, 0),
        quality: computeQuality(measure, counts, areas)
      }))
    })
  }
}

const encodeLength = ({ areas, classes }: PixelMeasure): number => 6 + areas.length + classes ** 2
