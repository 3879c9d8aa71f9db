import { isSingleTensorBoundary } from '../../graph/boundary-tensors'
import { untiled, type Span } from '../../graph/span'
import { lazy, memoize } from '../../memoize'
import type { Segment } from '../../plans/plan'
import { decidedBy } from '../decided-by'
import type { Search, Variant } from '../strategy'
import type { SegmentOption } from './grid-search'
import type { OptionBytes } from './option-bytes'

/**
 * The blocks that a span consists of, each from one of these positions to another at which one
 * tensor alone goes on; none where another goes on at its end too.
 */
export const listBlocks = ({ graph }: Pick<Search, 'graph'>, positions: readonly number[], { from, to }: Span): readonly Span[] => {
  const ends = positions.filter((position) => from < position && position <= to && isSingleTensorBoundary(graph, position))
  return ends.at(-1) === to ? ends.map((end, index) => ({ from: ends[index - 1] ?? from, to: end })) : []
}

/** One of the blocks, computed again in one variant. */
interface Block {
  readonly option: SegmentOption
  /** The most that it adds, as one of the blocks. */
  readonly addedBytes: () => number
  /** With what it takes to run forward again for the blocks after it. */
  readonly nanoseconds: () => number
}

/**
 * A span as one segment a block, of which only what leaves the last one is kept: before that one
 * runs backward, the others run forward again, and leave what each of them reads in its backward
 * (Chen 2016). It takes a forward more than the span as one segment that is computed again, and
 * never holds more of the insides than one block's. Each block is of the fastest variant that adds
 * no more than `available` bytes.
 */
export const rematerializedWithin = (
  { estimate }: Pick<Search, 'estimate'>,
  { outputs, gradients, optionOf }: OptionBytes,
  blocks: readonly Span[],
  variantsOf: (block: Span) => readonly Variant[]
): ((available: number) => SegmentOption | undefined) => {
  const { after, through } = gradients({ from: blocks[0]!.from, to: blocks.at(-1)!.to })
  // Of the last block's output its gradient may be yet to be made.
  const around = outputs(blocks.at(-1)!) + after + through
  let before = 0
  /** By block, from the fastest to that with the least scratch. */
  const choices = blocks.map((block, place): readonly (() => Block | undefined)[] => {
    const [isLast, left, held] = [place === blocks.length - 1, outputs(block), before]
    before += left
    return variantsOf(block).map((variant) =>
      lazy((): Block | undefined => {
        const whole = { grid: untiled, recompute: true }
        const option = optionOf({ ...block, ...whole, reorder: 'once', ...decidedBy(variant, whole) })
        if (option === undefined) return undefined
        const { bytes, forwardNanoseconds } = estimate(option.segment)!
        return {
          option,
          addedBytes: lazy(() => held + Math.max(option.addedBytes(), isLast ? 0 : left + bytes().forwardBytes + around)),
          nanoseconds: () => option.nanoseconds() + (isLast ? 0 : forwardNanoseconds())
        }
      })
    )
  })
  const optionFor = memoize(
    (places: readonly number[]) => places.join(),
    (places): SegmentOption => {
      const chosen = places.map((variant, place) => choices[place]![variant]!()!)
      const [last] = chosen.slice(-1)
      return {
        segment: last!.option.segment,
        rematerialized: chosen.slice(0, -1).map(({ option }): Segment => ({ ...option.segment, rematerialize: true })),
        addedBytes: () => chosen.reduce((most, { addedBytes }) => Math.max(most, addedBytes()), 0),
        keptBytes: last!.option.keptBytes,
        nanoseconds: lazy(() => chosen.reduce((sum, { nanoseconds }) => sum + nanoseconds(), 0))
      }
    }
  )
  return (available) => {
    const places: number[] = []
    for (const blockIn of choices) {
      const place = blockIn.findIndex((block) => (block()?.addedBytes() ?? Infinity) <= available)
      if (place === -1) return undefined
      places.push(place)
    }
    return optionFor(places)
  }
}
