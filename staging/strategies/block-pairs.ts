import type { SegmentEstimate } from '../lowering/cost/estimate'
import { createPool } from '../lowering/ir/builder'
import { createModelScope } from '../lowering/segment/create-scope'
import { onLoadNormalisations } from '../lowering/tile/normalise-on-load'
import { memoizePerObject } from '../memoize'
import type { Segment } from '../plans/plan'
import { checkpointPositions, isSingleTensorBoundary, outputBytes } from './find-segments'
import { heldBytesEstimator } from './least-bytes'
import { memoizeBySpan } from './memoize-by-span'
import type { Search } from './strategy'

/** Sums of times are not exact. */
const rounding = 1e-9

/** What segments of three blocks or more take without tiles, at least, and nearly that. */
export interface BlockPairs {
  /** Nanoseconds; undefined for fewer blocks. */
  readonly nanoseconds: (segment: Segment) => number | undefined
  /** Bytes that a segment adds to what is resident where it learns; 0 for fewer blocks. */
  readonly addedBytes: (segment: Segment) => number
}

const listCuts = ({ graph, device }: Pick<Search, 'graph' | 'device'>): readonly number[] => {
  const scope = createModelScope(graph, device, createPool())
  const onLoad = [...onLoadNormalisations(scope.parameters, scope)]
  return checkpointPositions(graph, outputBytes(scope), Infinity).filter(
    (cut) =>
      isSingleTensorBoundary(graph, cut) && !onLoad.some(([position, normalisation]) => normalisation < cut && cut <= position)
  )
}

/**
 * Bounds what segments take by what two neighbouring blocks take, which many segments share: where
 * one tensor alone goes on, an op's launches and buffers depend on no more than the block on the
 * other side. So a segment takes the time of its pairs of blocks less that of the blocks that two
 * of them share; and while a block runs backward, all is in use that is while it does so in its
 * pair, and what the blocks before that read. Of whole tensors of one process, on the device.
 */
export const blockPairs = memoizePerObject(
  () => '',
  ({ graph, device, estimate }: Search): BlockPairs => {
    const end = graph.nodes.length
    const cuts = listCuts({ graph, device })
    const heldBytes = heldBytesEstimator(createModelScope(graph, device, createPool()))
    const endsOf = memoizeBySpan(end, ({ from, to }): readonly number[] => [from, ...cuts.filter((cut) => from < cut && cut < to), to])
    const isFew = (ends: readonly number[]): boolean => ends.length < 4
    const heldBefore = memoizeBySpan(end, (span) => heldBytes(span, endsOf(span).slice(0, -2)))
    const partOf = (segment: Segment, from: number, to: number): SegmentEstimate => {
      const inside = (key: 'winograd' | 'slicedWinograd' | 'normaliseOnLoad'): Partial<Segment> => {
        const positions = segment[key]
        return positions === undefined ? {} : { [key]: positions.filter((position) => from <= position && position < to) }
      }
      return estimate({ ...segment, from, to, ...inside('winograd'), ...inside('slicedWinograd'), ...inside('normaliseOnLoad') })!
    }
    return {
      nanoseconds: (segment) => {
        const ends = endsOf(segment)
        if (isFew(ends)) return undefined
        const timeOf = (place: number, blocks: number): number => partOf(segment, ends[place]!, ends[place + blocks]!).nanoseconds()
        let sum = timeOf(0, 2)
        for (let place = 1; place < ends.length - 2; place++) sum += timeOf(place, 2) - timeOf(place, 1)
        return (1 - rounding) * sum
      },
      addedBytes: (segment) => {
        const ends = endsOf(segment)
        if (isFew(ends)) return 0
        return heldBefore(segment).reduce((most, held, place) => {
          const [from, middle, to] = ends.slice(place)
          const { bytesDownTo } = partOf(segment, from!, to!).bytes()
          // The first block is the segment's own; where others begin, buffers are others than inside.
          return Math.max(most, held + bytesDownTo(place === 0 ? 0 : middle! - from!))
        }, 0)
      }
    }
  }
)
