import { nanoseconds } from '../devices/simulate'
import { isLiveAfter, isSingleTensorBoundary } from '../graph/boundary-tensors'
import { readsWhole } from '../graph/reads-whole'
import type { SegmentEstimate } from '../lowering/cost/estimate'
import { createPool } from '../lowering/ir/builder'
import type { ModelScope } from '../lowering/scope/scope'
import { createModelScope } from '../lowering/segment/create-scope'
import { onLoadNormalisations } from '../lowering/tile/normalise-on-load'
import { goesBackInPlace } from '../lowering/tile/joined-place'
import { createPasses } from '../lowering/tile/pass'
import { alignUp } from '../placement/placement'
import { memoize, memoizeByNumber, memoizePerObject } from '../memoize'
import { copyFromJoin, copyToJoin, joinedTensors } from '../ops/joins'
import type { Segment } from '../plans/plan'
import { checkpointPositions, outputBytes } from './find-segments'
import { heldBytesEstimator, tensorBytes } from './least-bytes'
import { memoizeBySpan } from './memoize-by-span'
import type { Search } from './strategy'

/**
 * What segments without tiles take, at least and nearly: of three blocks or more that compute all
 * of their tensors, for one process, with nothing on the host.
 */
export interface BlockPairs {
  /**
   * Nanoseconds; undefined for other segments, and for the last, whose forward is a part of its
   * backward.
   */
  readonly nanoseconds: (segment: Segment) => number | undefined
  /** Bytes that a segment adds to what is resident, where it learns; 0 for other segments. */
  readonly addedBytes: (segment: Segment) => number
}

/**
 * Where one tensor alone goes on, not the input beside it, read whole, and nothing that is
 * normalised on load: else a block depends on more than its neighbours.
 */
const listCuts = (scope: ModelScope, sizes: readonly number[]): readonly number[] => {
  const onLoad = [...onLoadNormalisations(scope.parameters, scope)]
  return checkpointPositions(scope.graph, sizes, Infinity).filter(
    (cut) =>
      isSingleTensorBoundary(scope.graph, cut) &&
      !isLiveAfter(scope.graph, 0, cut) &&
      scope.graph.readers[cut]!.every((reader) => readsWhole(scope.graph.nodes[reader]!)) &&
      !onLoad.some(([position, normalisation]) => normalisation < cut && cut <= position)
  )
}

/** Nanoseconds of copying a tensor to where an op joins it to others. */
const joiningNanoseconds = (scope: ModelScope, join: number, tensor: number): number => {
  const { operands, whole } = joinedTensors(scope, join)
  return nanoseconds(scope.device, copyToJoin(operands, scope.graph.nodes[join]!.inputs.indexOf(tensor), whole))
}

/** What it takes that the gradients of all that an op joins lie by themselves. */
interface Parting {
  readonly bytes: number
  /** Of copying the gradient of what it makes to those of its parts. */
  readonly nanoseconds: number
}

/** What parting takes where a block ends with an op and longer segments do without it. */
const findParting = (scope: ModelScope, sizes: readonly number[], position: number): Parting => {
  const { operands, whole } = joinedTensors(scope, position)
  if (!goesBackInPlace(scope, position, operands, whole)) return { bytes: 0, nanoseconds: 0 }
  return {
    bytes: scope.graph.nodes[position]!.inputs.reduce((sum, tensor) => sum + alignUp(sizes[tensor - 1]!), 0),
    nanoseconds: operands.reduce((sum, _, operand) => sum + nanoseconds(scope.device, copyFromJoin(operands, operand, whole)), 0)
  }
}

/**
 * Bounds what segments take by what two neighbouring blocks take, which many segments share: where
 * one tensor alone goes on, an op's launches and buffers depend on no more than the block on the
 * other side. So a segment takes the time of its pairs of blocks less that of the blocks that two
 * of them share; and while a block runs backward, all is in use that is while it does so in its
 * pair, and what the blocks before that read. What is joined where it lies is copied where a block
 * begins with it and runs forward again, and its gradient where a block ends with it or begins with
 * a part of it, which in a longer segment they need not be.
 */
export const blockPairs = memoizePerObject(
  () => '',
  ({ graph, device, estimate }: Search): BlockPairs => {
    const scope = createModelScope(graph, device, createPool())
    const sizes = outputBytes(scope)
    const [cuts, heldBytes] = [listCuts(scope, sizes), heldBytesEstimator(scope)]
    // What strides leave out of a tensor depends on all that comes after it.
    const partial = tensorBytes(scope).flatMap((bytes, tensor) => (tensor > 0 && bytes < sizes[tensor - 1]! ? [tensor] : []))
    const { joinOf } = createPasses(scope, { from: 0, to: graph.nodes.length })('keep')
    const joinedAt = memoizeByNumber((cut) => {
      const join = joinOf(cut)
      return join === undefined ? 0 : joiningNanoseconds(scope, join, cut)
    })
    const partedAt = memoizeByNumber((cut) => findParting(scope, sizes, cut - 1))
    const endsOf = memoizeBySpan(graph.nodes.length, ({ from, to }): readonly number[] => [
      from,
      ...cuts.filter((cut) => from < cut && cut < to),
      to
    ])
    const isBounded = memoizeBySpan(
      graph.nodes.length,
      (span) => graph.shard === undefined && endsOf(span).length > 3 && !partial.some((tensor) => span.from < tensor && tensor < span.to)
    )
    const heldBefore = memoize(
      ({ from, to, recompute, normaliseOnLoad = [] }: Segment) => [from, to, recompute, ...normaliseOnLoad].join(),
      (segment) => {
        const ends = endsOf(segment)
        const parts = ends.slice(0, -2).map((from, place) => ({ from, to: ends[place + 2]! }))
        return heldBytes(segment, parts)
      }
    )
    const partOf = (segment: Segment, from: number, to: number): SegmentEstimate => {
      const inside = (key: 'winograd' | 'slicedWinograd' | 'normaliseOnLoad'): Partial<Segment> => {
        const positions = segment[key]
        return positions === undefined ? {} : { [key]: positions.filter((position) => from <= position && position < to) }
      }
      return estimate({ ...segment, from, to, ...inside('winograd'), ...inside('slicedWinograd'), ...inside('normaliseOnLoad') })!
    }
    return {
      nanoseconds: (segment) => {
        if (!isBounded(segment) || segment.to === graph.nodes.length) return undefined
        const ends = endsOf(segment)
        const timeOf = (place: number, blocks: number): number => partOf(segment, ends[place]!, ends[place + blocks]!).nanoseconds()
        let sum = timeOf(0, 2)
        for (let place = 1; place < ends.length - 2; place++) {
          sum += timeOf(place, 2) - timeOf(place, 1)
          if (segment.recompute) sum -= joinedAt(ends[place]!)
          if (graph.nodes[ends[place + 1]! - 1]!.inputs.includes(ends[place]!)) sum -= partedAt(ends[place + 1]!).nanoseconds
        }
        return sum
      },
      addedBytes: (segment) => {
        if (!isBounded(segment)) return 0
        const ends = endsOf(segment)
        return heldBefore(segment).reduce((most, held, place) => {
          const [from, middle, to] = ends.slice(place)
          // A part begins at a tensor of others, over which its first op may not write.
          const first = place === 0 ? 0 : middle! - from!
          const reached = partOf(segment, from!, to!)
            .bytes()
            .bytesDownTo.findLast((one) => one.place >= first)
          const parted = to === segment.to ? 0 : partedAt(to!).bytes
          return Math.max(most, held + (reached?.bytes ?? 0) - parted)
        }, 0)
      }
    }
  }
)
