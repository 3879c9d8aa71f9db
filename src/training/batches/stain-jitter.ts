import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import type { Image, ImageWindow } from '../../../native'
import { type Failure, inputFailure } from '../../failure'
import { randomStream } from '../../numbers/random'
import type { Extent2 } from '../../images/resolution'
import { type CropPlacement, extentInImage } from '../../images/crop-placement'
import { isRgb } from '../../images/samples'

/**
 * Limits of stain jitter: the amount of each of three stains is multiplied by a factor from
 * [1 - scale, 1 + scale], and raised by [-shift, shift] (Tellez 2018, "HED"). `shift` is an optical
 * density, -ln of the light that passes.
 */
export interface StainJitter {
  readonly scale: number
  readonly shift: number
}

/** What is drawn for one image: a factor and a shift of haematoxylin, eosin and DAB each. */
export interface StainChange {
  readonly factors: readonly [number, number, number]
  readonly shifts: readonly [number, number, number]
}

/** `scale,shift`, such as 0.05,0.05. */
export const parseStainJitter = (text: string): E.Either<string, StainJitter> => {
  const values = text.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)))
  const [scale = NaN, shift = NaN] = values
  return values.length === 2 && scale >= 0 && scale <= 1 && shift >= 0 && shift <= 1
    ? E.right({ scale, shift })
    : E.left(`"${text}" is not scale,shift, both from 0 to 1`)
}

type Row = readonly [number, number, number]
type Matrix = readonly [Row, Row, Row]

/**
 * Optical densities of red, green and blue of haematoxylin, eosin and DAB, a row each (Ruifrok
 * 2001), as scikit-image's `rgb_from_hed` has them.
 */
const densities: Matrix = [
  [0.65, 0.7, 0.29],
  [0.07, 0.99, 0.11],
  [0.27, 0.57, 0.78]
]

const indices = [0, 1, 2] as const
type Index = (typeof indices)[number]

const forEachColour = <A>(make: (index: Index) => A): readonly [A, A, A] => [make(0), make(1), make(2)]

const cofactor = (matrix: Matrix, row: number, column: number): number => {
  const entry = (down: number, right: number): number => matrix[((row + down) % 3) as 0 | 1 | 2][((column + right) % 3) as 0 | 1 | 2]
  return entry(1, 1) * entry(2, 2) - entry(1, 2) * entry(2, 1)
}

const inverse = (matrix: Matrix): Matrix => {
  const determinant = indices.reduce<number>((sum, column) => sum + matrix[0][column] * cofactor(matrix, 0, column), 0)
  return forEachColour((row) => forEachColour((column) => cofactor(matrix, column, row) / determinant))
}

const fromDensities = inverse(densities)

/** Black has no finite density; as in scikit-image. */
const leastLight = 1e-6

/**
 * Changes pixels [red, green, blue] of 8 bits in place: light is taken apart into stains, these
 * are changed, and put together again. A colour is a product of powers of its three lights, so a
 * table of 256 holds each power.
 */
export const changeStains = (pixels: Uint8Array, { factors, shifts }: StainChange): void => {
  const powerOf = (from: Index, to: Index): number =>
    indices.reduce<number>((sum, stain) => sum + fromDensities[from][stain] * factors[stain] * densities[stain][to], 0)
  const lightOf = (to: Index): number =>
    255 * Math.exp(-indices.reduce<number>((sum, stain) => sum + shifts[stain] * densities[stain][to], 0))
  const [toRed, toGreen, toBlue] = forEachColour((to) =>
    forEachColour((from) =>
      Float64Array.from(
        { length: 256 },
        (_, value) => Math.max(value / 255, leastLight) ** powerOf(from, to) * (from === 0 ? lightOf(to) : 1)
      )
    )
  )
  for (let at = 0; at + 2 < pixels.length; at += 3) {
    const [red, green, blue] = [pixels[at]!, pixels[at + 1]!, pixels[at + 2]!]
    pixels[at] = roundByte(toRed[0][red]! * toRed[1][green]! * toRed[2][blue]!)
    pixels[at + 1] = roundByte(toGreen[0][red]! * toGreen[1][green]! * toGreen[2][blue]!)
    pixels[at + 2] = roundByte(toBlue[0][red]! * toBlue[1][green]! * toBlue[2][blue]!)
  }
}

const roundByte = (value: number): number => Math.min(255, Math.floor(value + 0.5))

/** The changes of a step's rows as a function of (seed, step) alone. */
export const createStainDraws =
  (seed: number, batch: number, { scale, shift }: StainJitter) =>
  (step: number): readonly StainChange[] => {
    const { uniform } = randomStream(seed, `stain.${step}`)
    return Array.from({ length: batch }, (_, row) => {
      const around = (centre: number, spread: number, index: number): number => centre + spread * (2 * uniform(6 * row + index) - 1)
      return {
        factors: [around(1, scale, 0), around(1, scale, 1), around(1, scale, 2)],
        shifts: [around(0, shift, 3), around(0, shift, 4), around(0, shift, 5)]
      }
    })
  }

/** The pixels of a crop alone, as an image of its size. */
const cutCrop = (pixels: Uint8Array, { width, channels }: Image, { cropTop, cropLeft }: CropPlacement, crop: Extent2): Uint8Array => {
  const cut = new Uint8Array(crop.height * crop.width * channels)
  for (let row = 0; row < crop.height; row += 1) {
    const from = ((cropTop + row) * width + cropLeft) * channels
    cut.set(pixels.subarray(from, from + crop.width * channels), row * crop.width * channels)
  }
  return cut
}

/** The image with other stains in its crop; of 8-bit RGB. `path` is for sentences. */
export const jitterStains = (path: string, image: Image, input: Extent2, change: StainChange): E.Either<Failure, Image> => {
  const { pixels, channels, elementType = 'uint8' } = image
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`--stain-jitter: the image ${path} ${fault}`))
  if (!isRgb(image)) return fail(`has ${channels} channels of ${elementType}, where 8-bit RGB is wanted`)
  if ('readWindow' in pixels) {
    const readWindow = (window: ImageWindow) =>
      TE.map((read: Uint8Array) => {
        changeStains(read, change)
        return read
      })(pixels.readWindow(window))
    return E.right({ ...image, pixels: { ...pixels, readWindow } })
  }
  if (!(pixels instanceof Uint8Array)) return fail('is decoded on disk: store it as a TIFF in tiles')
  const crop = extentInImage(input, image)
  // What is handed over is the crop alone, and nobody else's.
  const cut = image.isHandedOver === true ? pixels : cutCrop(pixels, image, image, crop)
  changeStains(cut, change)
  return E.right({ ...image, ...crop, pixels: cut, isHandedOver: true, cropTop: 0, cropLeft: 0 })
}
