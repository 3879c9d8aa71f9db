import type { Extent2 } from '../../images/resolution'
import { randomStream } from '../../numbers/random'

/**
 * One row of a step's batch: the example, and the draws for its crop and flips (uniform in [0, 1)).
 */
export interface Draw {
  readonly example: number
  readonly top: number
  readonly left: number
  readonly flipHorizontal: boolean
  readonly flipVertical: boolean
  /** The class for which the example was drawn, where classes are balanced. */
  readonly inClass?: number
}

interface SamplingOptions {
  readonly seed: number
  readonly examples: number
  /** Examples of each class, where each class is drawn as often; none of one that has none. */
  readonly balanced?: readonly (readonly number[])[]
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

/** The example at a position, of all positions from 0 on. */
type Order = (position: number) => Pick<Draw, 'example' | 'inClass'>

/** Permutations, one after the other, the last one kept. */
const createOrder = (seed: number, name: string, count: number): ((position: number) => number) => {
  let known: { readonly epoch: number; readonly order: readonly number[] } = { epoch: -1, order: [] }
  return (position) => {
    const epoch = Math.floor(position / count)
    if (known.epoch !== epoch) known = { epoch, order: permutation(seed, `${name}.${epoch}`, count) }
    return known.order[position % count]!
  }
}

/** Each class once in turn, in an order of their own; of each class all examples in turn. */
const balancedOrder = (seed: number, byClass: readonly (readonly number[])[]): Order => {
  const present = byClass.flatMap((examples, inClass) =>
    examples.length === 0 ? [] : [{ inClass, examples, order: createOrder(seed, `class.${inClass}`, examples.length) }]
  )
  const classes = createOrder(seed, 'classes', present.length)
  return (position) => {
    const { inClass, examples, order } = present[classes(position)]!
    return { inClass, example: examples[order(Math.floor(position / present.length))]! }
  }
}

/**
 * The draws of any step as a function of (seed, step) alone: each epoch goes through all examples
 * once in its own order, and a batch may reach into the next epoch. Where classes are balanced,
 * each is drawn once before any is drawn again.
 */
export const createSampler = ({ seed, examples, balanced, batch, flip }: SamplingOptions): ((step: number) => readonly Draw[]) => {
  const plain = createOrder(seed, 'order', examples)
  const orderOf: Order = balanced === undefined ? (position) => ({ example: plain(position) }) : balancedOrder(seed, balanced)
  return (step) => {
    const { uniform } = randomStream(seed, `crop.${step}`)
    return Array.from({ length: batch }, (_, row) => {
      return {
        ...orderOf(step * batch + row),
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
 * Draws again for a row whose crop cannot be read: any example, of its class where it was drawn for
 * one, and any corner, flipped as the first.
 */
export const drawReplacement = (
  { seed, examples, balanced }: Omit<SamplingOptions, 'batch' | 'flip'>,
  step: number,
  row: number,
  attempt: number,
  first: Draw
): Draw => {
  const { uniform } = randomStream(seed, `again.${step}.${row}.${attempt}`)
  const ofClass = first.inClass === undefined ? undefined : balanced?.[first.inClass]
  const index = Math.floor(uniform(0) * (ofClass?.length ?? examples))
  return { ...first, example: ofClass?.[index] ?? index, top: uniform(1), left: uniform(2) }
}
