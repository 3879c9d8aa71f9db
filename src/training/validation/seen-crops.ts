import * as E from 'fp-ts/Either'
import { type Image, freePixels, type StepIo } from '../../../native'
import type { Example } from '../../datasets/dataset'
import { isRgb } from '../../images/samples'
import type { SeenCrop } from '../../images/seen-crop'
import type { DescribePrediction } from './describe-prediction'

/** Crops that are shown, and the longest side of each. */
const [maxCrops, maxExtent] = [4, 192]

/** The rows, or columns, of an extent that a small picture of it has. */
const samplePositions = (extent: number, longest: number): readonly number[] => {
  const each = Math.max(1, longest / maxExtent)
  return Array.from({ length: Math.max(1, Math.floor(extent / each)) }, (_, index) => Math.floor((index + 0.5) * each))
}

type Thumbnail = Pick<SeenCrop, 'height' | 'width' | 'rgb'>

/** A row of an image's crop: in memory, or read by window. */
const readRow = async (
  { pixels, width: all, channels, cropTop, cropLeft }: Image,
  y: number,
  width: number
): Promise<Uint8Array | undefined> => {
  const [top, left] = [cropTop + y, cropLeft]
  if (pixels instanceof Uint8Array) return pixels.subarray((top * all + left) * channels, (top * all + left + width) * channels)
  if (!('readWindow' in pixels)) return undefined
  const read = await pixels.readWindow({ top, left, height: 1, width })()
  if (E.isLeft(read)) return undefined
  const copy = Uint8Array.from(read.right)
  freePixels(read.right)
  return copy
}

/** A small picture of what is seen of an image; undefined of what is not 8-bit RGB in reach. */
const makeThumbnail = async (image: Image, height: number, width: number): Promise<Thumbnail | undefined> => {
  if (!isRgb(image)) return undefined
  const longest = Math.max(height, width)
  const [rows, columns] = [samplePositions(height, longest), samplePositions(width, longest)]
  const rgb = new Uint8Array(3 * rows.length * columns.length)
  for (const [row, y] of rows.entries()) {
    const line = await readRow(image, y, width)
    if (line === undefined) return undefined
    for (const [column, x] of columns.entries()) {
      rgb.set(line.subarray(3 * x, 3 * x + 3), 3 * (row * columns.length + column))
    }
  }
  return { height: rows.length, width: columns.length, rgb }
}

const smallClasses = (classes: ArrayLike<number>, row: number, height: number, width: number): Uint8Array => {
  const longest = Math.max(height, width)
  const columns = samplePositions(width, longest)
  return Uint8Array.from(samplePositions(height, longest).flatMap((y) => columns.map((x) => classes[(row * height + y) * width + x]!)))
}

interface SeenBatch {
  readonly images: readonly Image[]
  readonly target: ArrayLike<number>
}

/** The places that are shown: spread over all, so that each folder of a class has some. */
export const chooseShownPlaces = (places: readonly number[]): ReadonlySet<number> => {
  const shown = Math.min(maxCrops, places.length)
  return new Set(Array.from({ length: shown }, (_, index) => places[Math.floor((index * places.length) / shown)]!))
}

/**
 * Takes small pictures of some rows of a batch, before it runs: its pixels may be freed then.
 * What comes back is told, once it has run, the I/O buffer with the network's scores, and how they
 * `describe`, which is absent where they are classes of pixels.
 */
export const pictureCrops = async (
  { images, target }: SeenBatch,
  examples: readonly Example[],
  rows: readonly number[],
  { height, width }: { readonly height: number; readonly width: number }
): Promise<(io: Pick<StepIo, 'view'>, describe: DescribePrediction | undefined) => readonly SeenCrop[]> => {
  const thumbnails: (Thumbnail | undefined)[] = []
  for (const row of rows) thumbnails.push(await makeThumbnail(images[row]!, height, width))
  return (io, describe) =>
    rows.flatMap((row, place): readonly SeenCrop[] => {
      const thumbnail = thumbnails[place]
      if (thumbnail === undefined) return []
      const name = examples[row]!.path
      if (describe !== undefined) return [{ name, ...thumbnail, ...describe(target, io.view('scores'), row) }]
      const small = (of: ArrayLike<number>): Uint8Array => smallClasses(of, row, height, width)
      return [{ name, ...thumbnail, target: small(target), predicted: small(io.view('classes')) }]
    })
}
