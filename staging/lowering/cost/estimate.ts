import type { DeviceModel } from '../../devices/device-model'
import type { StepGraph } from '../../graph/step-graph'
import { lazy } from '../../memoize'
import { type Segment } from '../../plans/plan'
import { endsOnHost } from '../../plans/host-tensors'
import { boundaryTensors, isLiveAfter } from '../../graph/boundary-tensors'
import { tileCount } from '../../graph/span'
import type { TileRun } from '../../graph/tile-runs'
import { segmentTiling, type SegmentTiling } from '../../graph/tiling'
import type { ModelScope } from '../scope/scope'
import { createPool, type Builder } from '../ir/builder'
import type { Body } from '../ir/tile-tensor'
import { createModelScope } from '../segment/create-scope'
import type { AroundTile } from '../segment/segment-code'
import { createBytesBuilder, type SegmentBytes, type StepBytes } from './bytes-builder'
import { createCostBuilder } from './cost-builder'
import { emitSegment } from './emit-segment'
import { segmentKeys } from './segment-keys'
import { forwardTimes, segmentTimes } from './segment-times'
import { watchedBuilder } from './watched-builder'

/**
 * Bytes and time are found out when first asked for: a search needs both of a few segments only.
 */
export interface SegmentEstimate {
  readonly bytes: () => SegmentBytes
  /** Exact: its share of what the simulator says of a step that runs launch by launch. */
  readonly nanoseconds: () => number
  /**
   * Nanoseconds of running the segment forward once more, for nothing but what leaves it; of whole
   * tensors.
   */
  readonly forwardNanoseconds: () => number
}

const none: ReadonlySet<number> = new Set()

const size = (run: TileRun): number => [...run.held.values()].reduce((sum, { from, to }) => sum + to - from, 0)

/**
 * The largest tile, twice where there are several: what a loop shares with what stands around it
 * lives through all of it.
 */
const largest = (runs: readonly TileRun[]): TileRun => ({
  ...runs.reduce((most, run) => (size(run) > size(most) ? run : most)),
  count: runs.length > 1 || runs[0]!.count > 1 ? 2 : 1
})

/** The largest tile of a segment alone, as a tiling of its own. */
export const largestTile = ({ B, H, W }: SegmentTiling): SegmentTiling => ({ B: [largest(B)], H: [largest(H)], W: [largest(W)] })

/**
 * Estimates segments: bytes by lowering their largest tile alone, time by going through all of
 * them; where tensors may be on the host, a gradient counts for its layer's launches alone. Returns
 * undefined for a grid with tiles, of any rank, that see only padding. Answers are remembered for
 * all segments that are alike.
 */
export const segmentEstimator = (
  graph: StepGraph,
  device: DeviceModel
): ((segment: Segment, onHost?: ReadonlySet<number>) => SegmentEstimate | undefined) => {
  const scope = createModelScope(graph, device, createPool())
  const [timeOf, timeForward] = [segmentTimes(scope), forwardTimes(scope)]
  const keyOf = segmentKeys(scope)
  const known = new Map<string, Readonly<Record<keyof StepBytes, SegmentEstimate>> | undefined>()
  return (segment, onHost) => {
    const streamed = onHost ?? none
    const key = keyOf(segment, streamed)
    if (!known.has(key)) {
      // Made again for each answer, so that what is remembered of its regions does not stay.
      const tile = (): SegmentTiling | undefined => segmentTiling(graph, segment, segment.grid)
      const inBands = endsOnHost(graph, segment, streamed).length > 0
      const counted = (): Counted => ({ scope, segment, tiling: tile()!, streamed })
      const whole = lazy(() => measureWhole(counted()))
      const isWhole = !inBands && tileCount(segment.grid) === 1
      const bytes = isWhole ? () => whole().bytes : lazy(() => countBytesInTiles(counted(), inBands))
      const times = {
        nanoseconds: isWhole ? () => whole().nanoseconds : lazy(() => timeOf(segment, tile()!, streamed)),
        forwardNanoseconds: lazy(() => timeForward(segment, tile()!))
      }
      known.set(key, tile() && { inStep: { ...times, bytes: () => bytes().inStep }, apart: { ...times, bytes: () => bytes().apart } })
    }
    return known.get(key)?.[onHost === undefined ? 'inStep' : 'apart']
  }
}

/** Of the gradients at a segment's ends, those that live on one side of it alone. */
const makeSideFinder = ({ graph }: ModelScope, segment: Segment): ((node: string) => 'before' | 'after' | undefined) => {
  const { inputs, outputs } = boundaryTensors(graph, segment)
  const nameOf = (tensor: number): string => graph.nodes[tensor - 1]!.name
  const ending = inputs.filter((tensor) => tensor > 0 && !isLiveAfter(graph, tensor, segment.to))
  const sides = new Map([
    ...ending.map((tensor) => [nameOf(tensor), 'before'] as const),
    ...outputs.map((tensor) => [nameOf(tensor), 'after'] as const)
  ])
  return (node) => sides.get(node)
}

/** Whose bytes are counted, in which tiles. */
interface Counted {
  readonly scope: ModelScope
  readonly segment: Segment
  readonly tiling: SegmentTiling
  readonly streamed: ReadonlySet<number>
}

/** `beside` makes of the builder one that another looks over the shoulder of. */
const countBytes = (
  { scope, segment, tiling, streamed }: Counted,
  beside: (builder: Builder) => Builder,
  aroundTile?: AroundTile
): StepBytes => {
  const bytes = createBytesBuilder()
  let forwardEnd = 0
  emitSegment({ ...scope, builder: beside(bytes) }, segment, tiling, streamed, {
    onForwardDone: () => {
      forwardEnd = bytes.time()
    },
    atOp: (direction, position) => {
      if (direction === 'backward' && tileCount(segment.grid) === 1) bytes.beginBackward(position - segment.from)
    },
    finish: (_, gradient) => bytes.finish(gradient),
    ...(aroundTile && { aroundTile })
  })
  return bytes.bytes(forwardEnd, makeSideFinder(scope, segment))
}

/**
 * Bytes in bands with the first, the last and one of the largest tiles of each pass alone, and that
 * after it, whose rows come while it is stored: of hundreds of unlike tiles the others add nothing.
 */
const countBytesInBands = (counted: Counted): StepBytes => {
  const most = Math.max(...counted.tiling.H.map(size))
  /** By pass. */
  const chosen = new Map<string, Body[]>()
  return countBytes(
    counted,
    (builder) => builder,
    ({ mode, body, isAtEnd, run }) => {
      const bodies = chosen.get(mode) ?? []
      if (bodies.length === 1 || (bodies.length === 0 && size(body.runs[1]) === most)) chosen.set(mode, [...bodies, body])
      if (isAtEnd || chosen.get(mode)?.includes(body) === true) run()
    }
  )
}

/** What a tile leaves to the next one, and to the host, the largest alone does not tell. */
const countBytesInTiles = (counted: Counted, inBands: boolean): StepBytes =>
  inBands ? countBytesInBands(counted) : countBytes({ ...counted, tiling: largestTile(counted.tiling) }, (builder) => builder)

/** Bytes and time of a segment without tiles and bands, which are the same code's. */
const measureWhole = (counted: Counted): { readonly bytes: StepBytes; readonly nanoseconds: number } => {
  const watch = createCostBuilder(counted.scope.device)
  const bytes = countBytes(counted, (builder) => watchedBuilder(builder, watch))
  return { bytes, nanoseconds: watch.nanoseconds() }
}
