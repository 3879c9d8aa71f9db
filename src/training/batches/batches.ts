import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../../../native'
import { type Cells, cornerInCells } from '../../datasets/cells'
import { centreCrop, extentInImage } from '../../images/crop-placement'
import { isMask, getLabelKind, labelNumbers } from '../../datasets/labels'
import type { Dataset, Example } from '../../datasets/dataset'
import type { Extent2 } from '../../images/resolution'
import type { Interval } from '../../../staging'
import type { Failure, Outcome } from '../../failure'
import { type Draw, cropCorner, createSampler, drawReplacement } from './sampling'
import { type Augmentation, type ColourJitter, createAugmenter } from './augmentation'
import type { CropRegions } from './crop-regions'
import type { ImageLoader, PlaceCrop } from './image-loader'
import { readThrough } from './read-through'
import { type StainChange, type StainJitter, createStainDraws, jitterStains } from './stain-jitter'

/** The images and labels of one micro-step. */
export interface Batch {
  /** Where the step reads some of them, one of those stands for each that it does not. */
  readonly images: readonly Image[]
  /**
   * Labels [B], or [B, H, W] where pixels have them; of sets of classes 1 or 0 [B, classes], and
   * values [B, N].
   */
  readonly target: ArrayLike<number>
}

/** The batches of a training, by the number of the micro-step, from 0. */
export interface Batches {
  /** Images and labels of a micro-step, as a function of the seed and its number alone. */
  readonly load: (microStep: number) => Outcome<Batch>
  /** The examples of a micro-batch, a row each. */
  readonly examples: (microStep: number) => Outcome<readonly Example[]>
  /** The labels of a micro-batch, without its images. */
  readonly target: (microStep: number) => Outcome<Batch['target']>
  /** Where crops that cannot be read are drawn anew. */
  readonly redraws?: Redraws
}

/** How often each row of a micro-step was drawn anew, since its crop could not be read. */
export type Attempts = readonly number[]

/** Draws in place of crops that cannot be read. */
export interface Redraws {
  /**
   * Reads a micro-step until all of it can be read, each row drawn anew at least as often as
   * `least` says; what is known of it is not read again.
   */
  readonly find: (microStep: number, least: Attempts) => Outcome<Attempts>
  /** Takes what another rank has found. */
  readonly adopt: (microStep: number, attempts: Attempts) => void
}

/** Which crop of a row could not be read: that of the micro-step, or the so manyth after it. */
export interface SkippedDraw {
  readonly microStep: number
  readonly row: number
  readonly attempt: number
}

interface BatchOptions {
  readonly dataset: Dataset
  /** Number of classes that the model tells apart. */
  readonly classes: number
  readonly seed: number
  readonly batch: number
  readonly crop: Extent2
  readonly flip: boolean
  readonly rotate: boolean
  readonly colourJitter: ColourJitter | undefined
  readonly stainJitter?: StainJitter | undefined
  readonly loader: ImageLoader
  readonly regions: CropRegions
  /** The rows whose images the step reads here, where ranks share them; all where absent. */
  readonly rowsRead?: Interval | undefined
  /** Told what cannot be read of which image; another crop is drawn. */
  readonly onSkipped?: (failure: Failure, image: string, draw: SkippedDraw) => void
}

/** One row of a batch: an example, and where its crop lies. */
interface PlacedExample {
  readonly example: Example
  readonly place: PlaceCrop
}

/** The labels of some rows of which each has these, one after the other. */
const joinTargets = (rows: readonly PlacedExample[], parts: readonly Batch['target'][]): Batch['target'] => {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const hasFractions = rows.some(({ example }) => getLabelKind(example.label) === 'values')
  const target = hasFractions ? new Float64Array(length) : new Int32Array(length)
  let at = 0
  for (const part of parts) {
    target.set(part, at)
    at += part.length
  }
  return target
}

/** The labels of the crops of some examples. */
const loadTarget = (rows: readonly PlacedExample[], loader: ImageLoader, classes: number): Outcome<Batch['target']> =>
  pipe(
    rows,
    TE.traverseSeqArray(({ example, place }: PlacedExample): Outcome<ArrayLike<number>> =>
      isMask(example.label) ? loader.classes(example, example.label, place) : TE.right(labelNumbers(example.label, classes))
    ),
    TE.map((parts) => joinTargets(rows, parts))
  )

/** A row of training, and what is done to its crop. */
interface Row extends PlacedExample {
  readonly augmentation: Augmentation
  readonly stains?: StainChange
}

const drawCorner = (draw: Draw, cells: Cells | undefined, image: Extent2, crop: Extent2): ReturnType<typeof cropCorner> =>
  cells === undefined ? cropCorner(draw, image, crop) : cornerInCells(cells, draw, image, crop)

/**
 * The rows of a micro-step; `attempts` has the number of times that each was drawn anew, since its
 * crop could not be read.
 */
const createRows = ({ dataset: { examples }, crop, ...options }: BatchOptions) => {
  const { byClass } = options.regions
  const sampling = { ...options, examples: examples.length, ...(byClass === undefined ? {} : { balanced: byClass }) }
  const draws = createSampler(sampling)
  const augmentations = createAugmenter(options)
  const stainDraws = options.stainJitter && createStainDraws(options.seed, options.batch, options.stainJitter)
  return (microStep: number, attempts: Attempts): readonly Row[] => {
    const augmented = augmentations(microStep)
    const stains = stainDraws?.(microStep)
    return draws(microStep).map((first, row) => {
      const attempt = attempts[row] ?? 0
      const draw = attempt === 0 ? first : drawReplacement(sampling, microStep, row, attempt, first)
      const { quarterTurns } = augmented[row]!
      const across = extentInImage(crop, { quarterTurns })
      const { flipHorizontal, flipVertical } = draw
      const example = examples[draw.example]!
      const cells = options.regions.cellsOf(example, draw.inClass)
      return {
        example,
        place: (image) => ({ ...drawCorner(draw, cells, image, across), flipHorizontal, flipVertical, quarterTurns }),
        augmentation: augmented[row]!,
        ...(stains && { stains: stains[row]! })
      }
    })
  }
}

const loadRow = ({ example, place, augmentation, stains }: Row, { loader, crop }: BatchOptions): Outcome<Image> =>
  pipe(
    loader.image(example, place),
    TE.chainEitherK((image) => (stains === undefined ? E.right(image) : jitterStains(example.path, image, crop, stains))),
    TE.map((image): Image => ({ ...augmentation, ...image }))
  )

/** The images of rows from `first` on: those that the step reads. */
const loadImages = (rows: readonly Row[], first: number, options: BatchOptions): Outcome<readonly (Image | undefined)[]> => {
  const { from, to } = options.rowsRead ?? { from: 0, to: options.batch }
  const isRead = (index: number): boolean => from <= first + index && first + index < to
  return TE.traverseSeqArray(([index, row]: readonly [number, Row]) => (isRead(index) ? loadRow(row, options) : TE.right(undefined)))([
    ...rows.entries()
  ])
}

/** All rows have an image: one that is read stands for each that is not. */
const fillImages = (images: readonly (Image | undefined)[]): readonly Image[] => {
  const read = images.find((image) => image !== undefined)!
  return images.map((image) => image ?? read)
}

/** After so many draws in a row that cannot be read, the data are to be looked at. */
const maxAttempts = 10

/** Micro-steps of which it is remembered: an update asks again for the targets of its own. */
const maxSettled = 10_000

/**
 * Random crops of the training images, flipped, turned and coloured as was asked; their masks are
 * cropped, flipped and turned alike. Where `onSkipped` is given, it is told what cannot be read,
 * and another crop is drawn.
 */
export const createBatches = (options: BatchOptions): Batches => {
  const { loader, onSkipped, classes } = options
  const rowsOf = createRows(options)
  const loadParts = (rows: readonly Row[], first: number) =>
    pipe(
      TE.Do,
      TE.bind('images', () => loadImages(rows, first, options)),
      TE.bind('target', () => loadTarget(rows, loader, classes))
    )
  const loadRows = (rows: readonly Row[]): Outcome<Batch> =>
    TE.map(({ images, target }: { readonly images: readonly (Image | undefined)[]; readonly target: Batch['target'] }): Batch => ({
      images: fillImages(images),
      target
    }))(loadParts(rows, 0))
  const createWith = (load: Batches['load'], rows: (microStep: number) => Outcome<readonly Row[]>): Batches => ({
    load,
    examples: (microStep) => TE.map((found: readonly Row[]) => found.map(({ example }) => example))(rows(microStep)),
    target: (microStep) => TE.chain((found: readonly Row[]) => loadTarget(found, loader, classes))(rows(microStep))
  })
  const drawn = (microStep: number): readonly Row[] => rowsOf(microStep, [])
  if (onSkipped === undefined)
    return createWith(
      (microStep) => loadRows(drawn(microStep)),
      (microStep) => TE.right(drawn(microStep))
    )

  const settled = new Map<number, Attempts>()
  const settle = (microStep: number, attempts: Attempts): void => {
    settled.set(microStep, attempts)
    const [first] = settled.keys()
    if (settled.size > maxSettled) settled.delete(first!)
  }
  /** Row by row, each drawn anew until it can be read. */
  const loadAndSettle = async (microStep: number, least: Attempts): Promise<E.Either<Failure, Batch>> => {
    const attempts = Array.from({ length: options.batch }, (_, row) => least[row] ?? 0)
    const [rows, images, targets]: [Row[], (Image | undefined)[], Batch['target'][]] = [[], [], []]
    for (let row = 0; row < options.batch;) {
      const drawn = rowsOf(microStep, attempts)[row]!
      const loaded = await pipe(
        loadParts([drawn], row),
        TE.chainFirst(({ images: [image] }): Outcome<unknown> => (image === undefined ? TE.right(image) : readThrough(options.crop)(image)))
      )()
      if (E.isRight(loaded)) {
        rows.push(drawn)
        images.push(...loaded.right.images)
        targets.push(loaded.right.target)
        row += 1
        continue
      }
      const attempt = attempts[row]!
      attempts[row] = attempt + 1
      if (loaded.left.code !== 'input' || attempt + 1 >= maxAttempts) return loaded
      onSkipped(loaded.left, drawn.example.path, { microStep, row, attempt })
    }
    settle(microStep, attempts)
    return E.right({ images: fillImages(images), target: joinTargets(rows, targets) })
  }
  const loading = new Map<number, Promise<E.Either<Failure, Batch>>>()
  /** What is being loaded ahead is not loaded, and counted, a second time. */
  const loadOnce = (microStep: number): Promise<E.Either<Failure, Batch>> => {
    const running = loading.get(microStep) ?? loadAndSettle(microStep, []).finally(() => loading.delete(microStep))
    loading.set(microStep, running)
    return running
  }
  const load =
    (microStep: number): Outcome<Batch> =>
    () => {
      const attempts = settled.get(microStep)
      return attempts === undefined ? loadOnce(microStep) : loadRows(rowsOf(microStep, attempts))()
    }
  const find =
    (microStep: number, least: Attempts): Outcome<Attempts> =>
    async () => {
      const attempts = settled.get(microStep)
      const wanted = attempts?.map((count, row) => Math.max(count, least[row] ?? 0))
      if (attempts !== undefined && wanted?.every((count, row) => count === attempts[row])) return E.right(attempts)
      const loaded = await (wanted === undefined ? loadOnce(microStep) : loadAndSettle(microStep, wanted))
      return E.map(() => settled.get(microStep)!)(loaded)
    }
  return {
    ...createWith(load, (microStep) => TE.map((attempts: Attempts) => rowsOf(microStep, attempts))(find(microStep, []))),
    redraws: { find, adopt: settle }
  }
}

/** The middles of images, with their labels. */
export const centreBatch = (examples: readonly Example[], crop: Extent2, loader: ImageLoader, classes: number): Outcome<Batch> => {
  const place = centreCrop(crop)
  return pipe(
    TE.Do,
    TE.bind('images', () => TE.traverseSeqArray((example: Example) => loader.image(example, place))(examples)),
    TE.bind('target', () =>
      loadTarget(
        examples.map((example) => ({ example, place })),
        loader,
        classes
      )
    )
  )
}

/** Consecutive examples, `batch` at a time; the last batch is filled up with its last example. */
export const splitIntoBatches = (examples: readonly Example[], batch: number): readonly (readonly Example[])[] =>
  Array.from({ length: Math.ceil(examples.length / batch) }, (_, index) =>
    Array.from({ length: batch }, (_, row) => examples[Math.min(index * batch + row, examples.length - 1)]!)
  )
