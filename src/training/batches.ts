import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../../native'
import type { Dataset, Example } from '../dataset'
import type { Outcome } from '../failure'
import { type Extent2, type Picture } from '../images'
import { cropCorner, sampler } from '../sampling'
import { type ColourJitter, augmenter } from './augmentation'

export interface Batch {
  readonly images: readonly Image[]
  readonly labels: readonly number[]
}

export interface Batches {
  /** Images and labels of a micro-step, as a function of the seed and its number alone. */
  readonly load: (microStep: number) => Outcome<Batch>
  /** Its labels, without its images. */
  readonly labels: (microStep: number) => readonly number[]
}

export interface BatchOptions {
  readonly dataset: Dataset
  readonly seed: number
  readonly batch: number
  readonly crop: Extent2
  readonly flip: boolean
  readonly rotate: boolean
  readonly colourJitter: ColourJitter | undefined
  readonly picture: (path: string) => Outcome<Picture>
}

/** What an image must hold, so that a crop fits into it however it is turned. */
export const leastExtent = ({ height, width }: Extent2, rotate: boolean): Extent2 =>
  rotate ? { height: Math.max(height, width), width: Math.max(height, width) } : { height, width }

/** Random crops of the training images, flipped, turned and coloured as was asked. */
export const trainingBatches = ({ dataset, crop, picture, ...options }: BatchOptions): Batches => {
  const { examples } = dataset
  const draws = sampler({ ...options, examples: examples.length })
  const augmentations = augmenter(options)
  const load = (microStep: number): Outcome<readonly Image[]> => {
    const drawn = draws(microStep)
    return pipe(
      augmentations(microStep),
      TE.traverseSeqArrayWithIndex((row, augmentation) => {
        const draw = drawn[row]!
        // A crop that is turned by 90 or 270 degrees lies across the image.
        const across = augmentation.quarterTurns % 2 === 0 ? crop : { height: crop.width, width: crop.height }
        return pipe(
          picture(examples[draw.example]!.path),
          TE.map((image) => ({
            ...image,
            ...cropCorner(draw, image, across),
            ...augmentation,
            flipHorizontal: draw.flipHorizontal,
            flipVertical: draw.flipVertical
          }))
        )
      })
    )
  }
  const labels = (microStep: number): readonly number[] => draws(microStep).map(({ example }) => examples[example]!.label)
  return { labels, load: (microStep) => TE.map((images: readonly Image[]) => ({ images, labels: labels(microStep) }))(load(microStep)) }
}

/** The middle of an image. */
export const centreCrop =
  (crop: Extent2) =>
  (image: Picture): Image => ({
    ...image,
    cropTop: Math.floor((image.height - crop.height) / 2),
    cropLeft: Math.floor((image.width - crop.width) / 2),
    flipHorizontal: false,
    flipVertical: false,
    quarterTurns: 0
  })

/** Consecutive examples, `batch` at a time; the last batch is filled up with its last example. */
export const inBatches = (examples: readonly Example[], batch: number): readonly (readonly Example[])[] =>
  Array.from({ length: Math.ceil(examples.length / batch) }, (_, index) =>
    Array.from({ length: batch }, (_, row) => examples[Math.min(index * batch + row, examples.length - 1)]!)
  )
