import { liveTensors, boundaryTensors } from '../../graph/boundary-tensors'
import { tileCount, type Span } from '../../graph/span'
import type { SegmentEstimate } from '../../lowering/cost/estimate'
import { lazy, memoizeByNumber } from '../../memoize'
import type { Segment } from '../../plans/plan'
import type { ReadBytes } from '../least-bytes'
import type { Search, Variant } from '../strategy'
import type { SegmentOption } from './grid-search'
import type { LeastWeights } from './least-weights'

/** What the search knows of the tensors between segments. */
export interface Boundaries {
  /** Bytes of a tensor on the device, and as many of its gradient; 0 where it is on the host. */
  readonly tensorBytes: (tensor: number) => number
  readonly hasGradient: (tensor: number) => boolean
  /** Absent where none may be there. */
  readonly onHost: ReadonlySet<number> | undefined
  /**
   * Nothing before this node has gradients, nor a use for its tensors once the next segment has
   * run.
   */
  readonly firstTrainable: number
  /** Whether backward reads weights of these nodes in another layout than forward. */
  readonly reorders: (span: Span) => boolean
  /** Bytes of weights and their gradients that backward cannot do without. */
  readonly leastWeights: (span: Span, variant: Variant) => LeastWeights
  readonly readBytes: (span: Span) => ReadBytes
  /** Whether a tensor lies in what it is joined to, where all is kept. */
  readonly isJoined: (tensor: number) => boolean
  /** Whether an op runs forward again, in a segment that is computed again. */
  readonly runsAgain: (span: Span) => (position: number) => boolean
}

/**
 * Tiles of the images that are still loaded ahead: each is followed by itself when a Program is
 * verified.
 */
const maxPrefetchTiles = 4096

/** Bytes of the tensors at a segment's ends, and what a segment adds to them. */
export interface OptionBytes {
  /** Bytes of the tensors that a segment makes for others. */
  readonly outputs: (span: Span) => number
  /**
   * Bytes of the gradients of tensors that live before a segment, after it, and on both sides of
   * it.
   */
  readonly gradients: (span: Span) => { readonly before: number; readonly after: number; readonly through: number }
  /** Bytes of the tensors at a segment's ends, however it runs. */
  readonly ends: (span: Span) => number
  /** Bytes without tiles, where something learns: all is there that its backward reads. */
  readonly whole: (span: Span) => number
  /** Bytes of the tensors before a segment that are no longer there after it. */
  readonly freed: (span: Span) => number
  /** Whether nothing before or in a segment learns. */
  readonly isFrozen: (span: Span) => boolean
  /** A segment with what it takes; undefined where it cannot be. */
  readonly optionOf: (segment: Segment) => SegmentOption | undefined
}

/** Finds the bytes of a search's segments, each by its estimate. */
export const createOptionBytes = (
  { graph, estimate }: Search,
  { tensorBytes, hasGradient, onHost, firstTrainable, readBytes }: Boundaries
): OptionBytes => {
  const end = graph.nodes.length
  const isFrozen = ({ to }: Span): boolean => to <= firstTrainable
  const bytesOf = (tensors: Iterable<number>): number => [...tensors].reduce((sum, tensor) => sum + tensorBytes(tensor), 0)
  const crossingAt = memoizeByNumber((position: number) => (position === end ? [] : liveTensors(graph, position)))
  const outputs = (span: Span): number => bytesOf(boundaryTensors(graph, span).outputs)
  const gradients: OptionBytes['gradients'] = ({ from, to }) => {
    const [before, after] = [from, to].map((position) => crossingAt(position).filter(hasGradient)) as [number[], number[]]
    const [isBefore, isAfter] = [new Set(before), new Set(after)]
    return {
      before: bytesOf(before.filter((tensor) => !isAfter.has(tensor))),
      after: bytesOf(after.filter((tensor) => !isBefore.has(tensor))),
      through: bytesOf(before.filter((tensor) => isAfter.has(tensor)))
    }
  }
  const ends = (span: Span): number => {
    if (isFrozen(span)) return outputs(span)
    const { before, after, through } = gradients(span)
    return through + Math.max(before, after)
  }
  const whole = (span: Span): number => {
    const { before, after, through } = gradients(span)
    return through + Math.max(before, after + readBytes(span).all)
  }
  const freed = (span: Span): number => {
    if (!isFrozen(span)) return 0
    const remaining = new Set(crossingAt(span.to))
    return bytesOf(crossingAt(span.from).filter((tensor) => !remaining.has(tensor)))
  }
  const asOption = (segment: Segment, estimated: SegmentEstimate): SegmentOption => {
    const after = outputs(segment)
    const [frozen, freedBytes] = [isFrozen(segment), freed(segment)]
    return {
      segment,
      addedBytes: lazy(() => {
        const { forwardBytes, backwardBytes, bytesWithGradients, refusedKernel } = estimated.bytes()
        if (refusedKernel !== undefined) return Infinity
        // The last segment's forward is a part of its backward, even where nothing is learnt.
        const backward = frozen ? backwardBytes : (segment.recompute ? 0 : after) + gradients(segment).through + bytesWithGradients
        return Math.max(after + forwardBytes, backward)
      }),
      keptBytes: () => after + estimated.bytes().keptBytes - freedBytes,
      nanoseconds: estimated.nanoseconds
    }
  }
  const optionOf = (segment: Segment): SegmentOption | undefined => {
    const hostTensors = boundaryTensors(graph, segment).outputs.flatMap((tensor) => (onHost?.has(tensor) === true ? [tensor - 1] : []))
    const estimated = segment.prefetch === true && tileCount(segment.grid) > maxPrefetchTiles ? undefined : estimate(segment, onHost)
    return estimated && asOption(hostTensors.length === 0 ? segment : { ...segment, hostTensors }, estimated)
  }
  return { outputs, gradients, ends, whole, freed, isFrozen, optionOf }
}
