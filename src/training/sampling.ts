import type { Extent2 } from '../images/resolution'
import { randomStream } from '../numbers/random'

/**
 * One row of a step's batch: the example, and the draws for its crop and flips (uniform in [0, 1)).
 */
interface Draw {
  readonly example: number
  readonly top: number
  readonly left: number
  readonly flipHorizontal: boolean
  readonly flipVertical: boolean
}

interface SamplingOptions {
  readonly seed: number
  readonly examples: number
  readonly batch: number
  readonly flip: boolean
}

/** A seeded permutation of 0 .. count - 1 (Fisher and Yates). */
export const permutation = (seed: number, name: string, count: number): readonly number[] => {
  const { uniform } = randomStream(seed, name)
  const order = Array.from({ length: count }, (_, index) => index)
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(uniform(last) * (last + 1))
    ;[order[last], order[other]] = [order[other]!, order[last]!]
  }
  return order
}

/**
 * The draws of any step as a function of (seed, step) alone: each epoch goes through all examples
 * once in its own order, and a batch may reach into the next epoch.
 */
export const createSampler = ({ seed, examples, batch, flip }: SamplingOptions): ((step: number) => readonly Draw[]) => {
  let known: { readonly epoch: number; readonly order: readonly number[] } = { epoch: -1, order: [] }
  const orderOf = (epoch: number): readonly number[] => {
    if (known.epoch !== epoch) known = { epoch, order: permutation(seed, `order.${epoch}`, examples) }
    return known.order
  }
  return (step) => {
    const { uniform } = randomStream(seed, `crop.${step}`)
    return Array.from({ length: batch }, (_, row) => {
      const position = step * batch + row
      return {
        example: orderOf(Math.floor(position / examples))[position % examples]!,
        top: uniform(4 * row),
        left: uniform(4 * row + 1),
        flipHorizontal: flip && uniform(4 * row + 2) < 0.5,
        flipVertical: flip && uniform(4 * row + 3) < 0.5
      }
    })
  }
}

/** The corner of a crop in an image that is at least as large. */
export const cropCorner = (draw: Draw, image: Extent2, crop: Extent2): { readonly cropTop: number; readonly cropLeft: number } => ({
  cropTop: Math.floor(draw.top * (image.height - crop.height + 1)),
  cropLeft: Math.floor(draw.left * (image.width - crop.width + 1))
})

/**
 * Another draw for a row whose crop cannot be read: any example and corner, flipped as the first.
 */
export const drawAnew = (seed: number, step: number, row: number, attempt: number, first: Draw, examples: number): Draw => {
  const { uniform } = randomStream(seed, `again.${step}.${row}.${attempt}`)
  return { ...first, example: Math.floor(uniform(0) * examples), top: uniform(1), left: uniform(2) }
}
