import * as E from 'fp-ts/Either'
import { randomStream } from '../../numbers/random'

/**
 * Limits of colour jitter: factors from [1 - x, 1 + x] of brightness, contrast and saturation;
 * turns of the hue from [-x, x].
 */
export interface ColourJitter {
  readonly brightness: number
  readonly contrast: number
  readonly saturation: number
  /** Turns of the hue, at most 0.5. */
  readonly hue: number
}

/** The augmentation of one image of a step, beside crop and flips. */
export interface Augmentation {
  readonly quarterTurns: 0 | 1 | 2 | 3
  /** Row-major 3x4 affine map of RGB in [0, 1]; clamped to [0, 1] by who applies it. */
  readonly colour?: Float32Array
}

interface AugmentationOptions {
  readonly seed: number
  readonly batch: number
  readonly rotate: boolean
  readonly colourJitter?: ColourJitter | undefined
}

/** `b,c,s,h`, such as 0.2,0.2,0.2,0.05. */
export const parseColourJitter = (text: string): E.Either<string, ColourJitter> => {
  const values = text.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)))
  const [brightness = NaN, contrast = NaN, saturation = NaN, hue = NaN] = values
  return values.length === 4 && values.slice(0, 3).every((value) => value >= 0 && value <= 1) && hue >= 0 && hue <= 0.5
    ? E.right({ brightness, contrast, saturation, hue })
    : E.left(`"${text}" is not brightness,contrast,saturation,hue, the first three from 0 to 1 and hue from 0 to 0.5`)
}

/** Three rows of four: what red, green and blue become of (red, green, blue, 1). */
type Affine = readonly (readonly [number, number, number, number])[]

/** `later` after `earlier`. */
const compose = (later: Affine, earlier: Affine): Affine =>
  later.map((row) => {
    const entry = (column: 0 | 1 | 2 | 3): number => earlier.reduce((sum, of, channel) => sum + row[channel]! * of[column], 0)
    return [entry(0), entry(1), entry(2), entry(3) + row[3]]
  })

/** Rec. 601: what each channel adds to the grey value of a colour. */
const grey = [0.299, 0.587, 0.114] as const

const channels = [0, 1, 2] as const

const scaleMatrix = (factor: number, offset: number): Affine =>
  channels.map((channel) => [channel === 0 ? factor : 0, channel === 1 ? factor : 0, channel === 2 ? factor : 0, offset])

/** Blends the colour's grey (0) and the colour (1). */
const saturationMatrix = (factor: number): Affine =>
  channels.map((channel) => {
    const entry = (of: 0 | 1 | 2): number => (1 - factor) * grey[of] + (channel === of ? factor : 0)
    return [entry(0), entry(1), entry(2), 0]
  })

/**
 * RGB to YIQ and back (NTSC); a turn of the plane (I, Q) changes the hue and keeps the grey value.
 */
const toYiq: Affine = [
  [...grey, 0],
  [0.595716, -0.274453, -0.321263, 0],
  [0.211456, -0.522591, 0.311135, 0]
]
const fromYiq: Affine = [
  [1, 0.9563, 0.621, 0],
  [1, -0.2721, -0.6474, 0],
  [1, -1.107, 1.7046, 0]
]

const hueMatrix = (turns: number): Affine => {
  // Constants of four digits are no exact inverse: without a turn, colours stay as they are.
  if (turns === 0) return scaleMatrix(1, 0)
  const [cosine, sine] = [Math.cos(2 * Math.PI * turns), Math.sin(2 * Math.PI * turns)]
  const turn: Affine = [
    [1, 0, 0, 0],
    [0, cosine, -sine, 0],
    [0, sine, cosine, 0]
  ]
  return compose(fromYiq, compose(turn, toYiq))
}

/**
 * The colour map of torchvision's ColorJitter with these factors, in the order brightness,
 * contrast, saturation, hue. To be one affine map it departs in three ways: contrast pivots on
 * mid-grey rather than on the image's mean, the hue turns in the plane of YIQ (linear) rather than
 * of HSV, and values are clamped once, in the end.
 */
export const colourMatrix = ({ brightness, contrast, saturation, hue }: ColourJitter): Float32Array => {
  const steps = [scaleMatrix(contrast, (1 - contrast) / 2), saturationMatrix(saturation), hueMatrix(hue)]
  return Float32Array.from(steps.reduce((sofar, next) => compose(next, sofar), scaleMatrix(brightness, 0)).flat())
}

/** The augmentations of a step's rows as a function of (seed, step) alone. */
export const createAugmenter = ({
  seed,
  batch,
  rotate,
  colourJitter
}: AugmentationOptions): ((step: number) => readonly Augmentation[]) => {
  const around = (centre: number, spread: number, uniform: number): number => centre + spread * (2 * uniform - 1)
  return (step) => {
    const [turns, colours] = [randomStream(seed, `rotate.${step}`), randomStream(seed, `colour.${step}`)]
    return Array.from({ length: batch }, (_, row) => {
      const quarterTurns = (rotate ? Math.floor(4 * turns.uniform(row)) : 0) as Augmentation['quarterTurns']
      if (colourJitter === undefined) return { quarterTurns }
      const draw = (index: number): number => colours.uniform(4 * row + index)
      const colour = colourMatrix({
        brightness: around(1, colourJitter.brightness, draw(0)),
        contrast: around(1, colourJitter.contrast, draw(1)),
        saturation: around(1, colourJitter.saturation, draw(2)),
        hue: around(0, colourJitter.hue, draw(3))
      })
      return { quarterTurns, colour }
    })
  }
}
