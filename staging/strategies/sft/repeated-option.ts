import { isSingleTensorBoundary } from '../find-segments'
import { untiled, type Span } from '../../graph/span'
import { lazy } from '../../memoize'
import type { Segment } from '../../plans/plan'
import { decidedBy } from '../normalise-on-load'
import type { Search, Variant } from '../strategy'
import type { SegmentOption } from './grid-search'
import type { OptionBytes } from './option-bytes'

/** The blocks between these positions that lie in a span, each from one single tensor to the next. */
export const listBlocks = ({ graph }: Pick<Search, 'graph'>, positions: readonly number[], { from, to }: Span): readonly Span[] => {
  const ends = positions.filter((position) => from < position && position <= to && isSingleTensorBoundary(graph, position))
  return ends.map((end, index) => ({ from: ends[index - 1] ?? from, to: end }))
}

/**
 * A span as one segment a block, of which only what leaves the last one is kept: before that one
 * runs backward, the others run forward again, and leave what each of them reads in its backward
 * (Chen 2016). It takes a forward more than the span as one segment that is computed again, and
 * never holds more of the insides than one block's.
 */
export const createRepeatedOption = (
  { estimate }: Pick<Search, 'estimate'>,
  { outputs, gradients, optionOf }: OptionBytes,
  blocks: readonly Span[],
  variantOf: (block: Span) => Variant
): SegmentOption | undefined => {
  const last = blocks.length - 1
  const options = blocks.map((block) =>
    optionOf({ ...block, grid: untiled, recompute: true, reorder: 'once', ...decidedBy(variantOf(block), true) })
  )
  if (!options.every((option) => option !== undefined)) return undefined
  const left = blocks.map(outputs)
  const estimated = options.map(({ segment }) => estimate(segment)!)
  const repeated = options.slice(0, -1).map(({ segment }): Segment => ({ ...segment, rematerialize: true }))
  return {
    segment: options[last]!.segment,
    repeated,
    addedBytes: lazy(() => {
      const { after, through } = gradients({ from: blocks[0]!.from, to: blocks[last]!.to })
      let [before, most] = [0, 0]
      options.forEach((option, place) => {
        const again = place === last ? 0 : left[place]! + estimated[place]!.bytes().forwardBytes + after + through
        most = Math.max(most, before + again, before + option.addedBytes())
        before += left[place]!
      })
      return most
    }),
    keptBytes: options[last]!.keptBytes,
    nanoseconds: lazy(() =>
      options.reduce(
        (sum, option, place) => sum + option.nanoseconds() + (place === last ? 0 : estimated[place]!.forwardNanoseconds()),
        0
      )
    )
  }
}
