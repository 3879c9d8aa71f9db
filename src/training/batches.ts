import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../../native'
import type { Dataset, Example } from '../images/dataset'
import type { Extent2 } from '../images/resolution'
import type { Outcome } from '../failure'
import { cropCorner, createSampler } from './sampling'
import { type ColourJitter, createAugmenter } from './augmentation'
import type { CropPlacement } from './crop-mask'
import type { ImageLoader, Place } from './image-loader'

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

/** The labels of some examples, each of which lies in its image as `place` says. */
const loadTarget = (examples: readonly Example[], { classes }: ImageLoader, place: (row: number) => Place): Outcome<Batch['target']> =>
  pipe(
    examples,
    TE.traverseSeqArrayWithIndex((row, { label }): Outcome<ArrayLike<number>> =>
      typeof label === 'number' ? TE.right([label]) : classes(examples[row]!, label, place(row))
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
  const placeCrops = (microStep: number): ((row: number) => Place) => {
    const [drawn, augmented] = [draws(microStep), augmentations(microStep)]
    return (row) => (image) => {
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
        TE.map((image: Image): Image => ({ ...augmented[row]!, ...image }))(loader.image(example, place(row)))
      )
    )
  }
  const target = (microStep: number): Outcome<Batch['target']> => loadTarget(drawExamples(microStep), loader, placeCrops(microStep))
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
    TE.bind('images', () => TE.traverseSeqArray((example: Example) => loader.image(example, place))(examples)),
    TE.bind('target', () => loadTarget(examples, loader, () => place))
  )
}

/** Consecutive examples, `batch` at a time; the last batch is filled up with its last example. */
export const splitIntoBatches = (examples: readonly Example[], batch: number): readonly (readonly Example[])[] =>
  Array.from({ length: Math.ceil(examples.length / batch) }, (_, index) =>
    Array.from({ length: batch }, (_, row) => examples[Math.min(index * batch + row, examples.length - 1)]!)
  )
