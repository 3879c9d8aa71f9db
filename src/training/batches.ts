import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../../native'
import type { Dataset, Example } from '../images/dataset'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type Extent2, type DecodedImage, upscaledExtent } from '../images/decode-image'
import type { ClassMap, Mask } from '../images/masks'
import { maskCache, imageCache } from '../images/image-cache'
import { cropCorner, createSampler } from './sampling'
import { type ColourJitter, createAugmenter } from './augmentation'
import { type CropPlacement, cropMask } from './crop-mask'

/** Decoded images and masks, each at least as large as the network's input. */
export interface ImageLoader {
  readonly image: (example: Example) => Outcome<DecodedImage>
  readonly mask: (mask: Mask) => Outcome<ClassMap>
}

export interface Batch {
  readonly images: readonly Image[]
  /** Labels [B], or [B, H, W] where pixels have them. */
  readonly target: ArrayLike<number>
}

export interface Batches {
  /** Images and labels of a micro-step, as a function of the seed and its number alone. */
  readonly load: (microStep: number) => Outcome<Batch>
  /** Its labels, without its images. */
  readonly target: (microStep: number) => Outcome<Batch['target']>
}

interface BatchOptions {
  readonly dataset: Dataset
  readonly seed: number
  readonly batch: number
  readonly crop: Extent2
  readonly flip: boolean
  readonly rotate: boolean
  readonly colourJitter: ColourJitter | undefined
  readonly loader: ImageLoader
}

/** The least size of an image into which a crop fits however it is turned. */
export const minExtent = ({ height, width }: Extent2, rotate: boolean): Extent2 =>
  rotate ? { height: Math.max(height, width), width: Math.max(height, width) } : { height, width }

/**
 * An image and its mask lie pixel on pixel: a file that has another size by now would belong to
 * other pixels.
 */
const checkSize =
  (what: string, mask: Mask, least: Extent2) =>
  <F extends Extent2>(found: F): E.Either<Failure, F> =>
    pipe(
      upscaledExtent(what, mask, least),
      E.filterOrElse(
        ({ height, width }) => found.height === height && found.width === width,
        () =>
          inputFailure(
            `${what} is not of the size ${mask.height}x${mask.width} any more: leave files as they are while they are trained on`
          )
      ),
      E.map(() => found)
    )

export const createImageLoader = (crop: Extent2, rotate: boolean): ImageLoader => {
  const least = minExtent(crop, rotate)
  const [image, mask] = [imageCache(least), maskCache(least)]
  return {
    image: ({ path, label }) =>
      typeof label === 'number' ? image(path) : TE.chainEitherK(checkSize(`the image ${path}`, label, least))(image(path)),
    mask: (label) => TE.chainEitherK(checkSize(`the mask ${label.path}`, label, least))(mask(label.path))
  }
}

/** The labels of some examples, each of which lies in its image as `place` says. */
const loadTarget = (
  examples: readonly Example[],
  { mask }: ImageLoader,
  crop: Extent2,
  place: (row: number, image: Extent2) => CropPlacement
): Outcome<Batch['target']> =>
  pipe(
    examples,
    TE.traverseSeqArrayWithIndex((row, { label }) =>
      typeof label === 'number'
        ? TE.right([label])
        : pipe(
            mask(label),
            TE.map((classes): ArrayLike<number> => cropMask(classes, place(row, classes), crop))
          )
    ),
    TE.map((rows) => {
      const length = rows.reduce((sum, row) => sum + row.length, 0)
      const target = new Int32Array(length)
      let at = 0
      for (const row of rows) {
        target.set(row, at)
        at += row.length
      }
      return target
    })
  )

/**
 * Random crops of the training images, flipped, turned and coloured as was asked; their masks are
 * cropped, flipped and turned alike.
 */
export const createBatches = ({ dataset, crop, loader, ...options }: BatchOptions): Batches => {
  const { examples } = dataset
  const draws = createSampler({ ...options, examples: examples.length })
  const augmentations = createAugmenter(options)
  const placeCrops = (microStep: number): ((row: number, image: Extent2) => CropPlacement) => {
    const [drawn, augmented] = [draws(microStep), augmentations(microStep)]
    return (row, image) => {
      const [draw, { quarterTurns }] = [drawn[row]!, augmented[row]!]
      // A crop that is turned by 90 or 270 degrees lies across the image.
      const across = quarterTurns % 2 === 0 ? crop : { height: crop.width, width: crop.height }
      const { flipHorizontal, flipVertical } = draw
      return { ...cropCorner(draw, image, across), flipHorizontal, flipVertical, quarterTurns }
    }
  }
  const drawExamples = (microStep: number): readonly Example[] => draws(microStep).map(({ example }) => examples[example]!)
  const images = (microStep: number): Outcome<readonly Image[]> => {
    const place = placeCrops(microStep)
    const augmented = augmentations(microStep)
    return pipe(
      drawExamples(microStep),
      TE.traverseSeqArrayWithIndex((row, example) =>
        TE.map((image: DecodedImage) => ({ ...image, ...augmented[row]!, ...place(row, image) }))(loader.image(example))
      )
    )
  }
  const target = (microStep: number): Outcome<Batch['target']> => loadTarget(drawExamples(microStep), loader, crop, placeCrops(microStep))
  return {
    target,
    load: (microStep) =>
      pipe(
        TE.Do,
        TE.bind('images', () => images(microStep)),
        TE.bind('target', () => target(microStep))
      )
  }
}

/** The middle of an image. */
export const centreCrop =
  (crop: Extent2) =>
  (image: Extent2): CropPlacement => ({
    cropTop: Math.floor((image.height - crop.height) / 2),
    cropLeft: Math.floor((image.width - crop.width) / 2),
    flipHorizontal: false,
    flipVertical: false,
    quarterTurns: 0
  })

/** The middles of images, with their labels. */
export const centreBatch = (examples: readonly Example[], crop: Extent2, loader: ImageLoader): Outcome<Batch> => {
  const place = centreCrop(crop)
  return pipe(
    TE.Do,
    TE.bind('images', () =>
      TE.traverseSeqArray((example: Example) =>
        TE.map((image: DecodedImage): Image => ({ ...image, ...place(image) }))(loader.image(example))
      )(examples)
    ),
    TE.bind('target', () => loadTarget(examples, loader, crop, (_, image) => place(image)))
  )
}

/** Consecutive examples, `batch` at a time; the last batch is filled up with its last example. */
export const splitIntoBatches = (examples: readonly Example[], batch: number): readonly (readonly Example[])[] =>
  Array.from({ length: Math.ceil(examples.length / batch) }, (_, index) =>
    Array.from({ length: batch }, (_, row) => examples[Math.min(index * batch + row, examples.length - 1)]!)
  )
