import { simulateTimedCode } from '../../devices/simulate'
import { isSingleTensorBoundary } from '../../graph/boundary-tensors'
import type { Span } from '../../graph/span'
import type { StepGraph } from '../../graph/step-graph'
import type { SegmentTiling } from '../../graph/tiling'
import { lazy, memoize, memoizeByNumber } from '../../memoize'
import type { Segment } from '../../plans/plan'
import type { ModelScope } from '../scope/scope'
import { mayEndWhole } from '../tile/pass'
import type { OpTimes, Times } from './launch-times'
import {
  type KnownOps,
  type Recorded,
  type Reorder,
  type TimedSegment,
  type Way,
  createTimedSegment,
  recordSharing,
  recordTiles
} from './record-tiles'
import { structuralIds } from './structural-hash'
import { type RunShapes, createShapes } from './tile-shapes'
import { createTimedBuilder } from './timed-builder'

/** Nanoseconds of a segment that is alike but for how weights are read, and for prefetching. */
type Timer = (segment: Segment) => number

/** What was recorded of a segment, by how weights are read; recorded when first asked for. */
type RecordedBy = Readonly<Record<Reorder, () => Recorded>>

const recordedWith = (timed: TimedSegment, way: Way, known: KnownOps, shapesOf: RunShapes): RecordedBy => {
  const apart = lazy(() => recordTiles(timed, { way, reorder: 'each-tile' }, known, shapesOf))
  // Slices are transformed in tiles, whatever tiles share.
  const sharing = (): Recorded => {
    const tiles = apart()
    return way === 'sliced' || timed.readInTiles.size > 0
      ? recordTiles(timed, { way, reorder: 'once' }, known, shapesOf)
      : recordSharing(timed, way, tiles)
  }
  return { 'each-tile': apart, once: lazy(sharing) }
}

const sumOver = (places: Iterable<number>, timeOf: (place: number) => number | undefined): number => {
  let sum = 0
  for (const place of places) sum += timeOf(place) ?? 0
  return sum
}

/** Nanoseconds where images are loaded ahead of computing; `timesOf` gives those of one tile. */
const prefetchedTime = (
  { scope, emit }: TimedSegment,
  decided: Pick<Segment, 'winograd' | 'slicedWinograd' | 'reorder' | 'prefetch'>,
  timesOf: (key: string) => { readonly loads: number; readonly computing: number }
): number => {
  const builder = createTimedBuilder(scope.device)
  emit(builder, decided, ({ key, slot }) => {
    const { loads, computing } = timesOf(key)
    const isAhead = loads > 0 && slot?.places.has('images') === true
    if (isAhead) {
      const loaded = builder.freshEvent()
      builder.wait('to-device', slot.computed)
      builder.loadFor(loads)
      builder.record('to-device', loaded)
      builder.wait('compute', loaded)
    }
    builder.compute(computing + (isAhead ? 0 : loads))
  })
  return simulateTimedCode(builder.timed(), scope.device)
}

/** The launches of a segment's tiles, recorded when first asked for; its times follow from them. */
const createTimer = (timed: TimedSegment, known: KnownOps, shapesOf: RunShapes): Timer => {
  const { segment, places, transformable } = timed
  const { from } = segment
  const [direct, byWinograd, inSlices] = (['direct', 'winograd', 'sliced'] as const).map((way) => recordedWith(timed, way, known, shapesOf))
  return ({ from: start, winograd = [], slicedWinograd = [], reorder, prefetch }) => {
    const [chosen, sliced] = [winograd, slicedWinograd].map((positions) => new Set(positions.map((position) => position - start)))
    const wayOf = (place: number): RecordedBy => (sliced!.has(place) ? inSlices! : chosen!.has(place) ? byWinograd! : direct!)
    const as = (place: number): Recorded => wayOf(place)[reorder]()
    // What does not depend on it is the same in all.
    const either = (chosen!.size === 0 ? direct! : chosen!.size === sliced!.size ? inSlices! : byWinograd!)[reorder]()
    /** Of some of the launches, but for images. */
    const computing = (timesOf: (recorded: Recorded) => Times): number =>
      timesOf(either).other +
      sumOver(transformable, (place) => timesOf(as(place)).convolutions[place]) +
      sumOver(places.values(), (place) => timesOf(as(place)).weights[place])
    if (prefetch !== true) return either.all.loads + computing(({ all }) => all)
    const [byChosen, bySliced] = [chosen!, sliced!].map((all) => [...all].map((place) => from + place))
    const decided = { winograd: byChosen!, slicedWinograd: bySliced!, reorder, prefetch }
    return prefetchedTime(timed, decided, (key) => {
      const timesOf = ({ tiles }: Recorded): Times => tiles.get(key)!.times
      return { loads: timesOf(either).loads, computing: computing(timesOf) }
    })
  }
}

/**
 * Where the part of a segment begins that decides an op's launches in a tile: at the last place but
 * one before the op where one tensor alone goes on, whatever makes that tensor.
 */
const decidingStarts = (graph: StepGraph): ((span: Span, position: number) => number) => {
  const isCut = [...graph.nodes.keys()].map((position) => isSingleTensorBoundary(graph, position))
  const cutBefore = (from: number, position: number): number => {
    let cut = position
    while (cut > from && !isCut[cut]) cut--
    return cut
  }
  return ({ from }, position) => {
    const cut = cutBefore(from, position)
    return cut === from ? from : cutBefore(from, cut - 1)
  }
}

/**
 * Times tiled segments of whole tensors, exactly as all of their launches would take: each
 * segment's are gone through once or twice, however its weights are read and its images loaded.
 */
export const tiledSegmentTimer = (scope: ModelScope): ((segment: Segment, tiling: SegmentTiling) => number) => {
  const structuralId = structuralIds(scope)
  const timers = new Map<string, Timer>()
  const shapesOf = createShapes(scope.graph)
  const decidingStart = decidingStarts(scope.graph)
  const timesOf = memoize(
    (key: string) => key,
    () => new Map<number, OpTimes>()
  )
  /** An op's launches, but for its tile, are decided by some ops before it and all after it. */
  const knownOps = (segment: Segment): KnownOps => {
    const { from, to, grid, recompute, workspace, rematerialize, normaliseOnLoad = [] } = segment
    const all = [recompute, workspace, rematerialize, mayEndWhole(scope, segment), grid.B > 1, grid.H > 1, grid.W > 1]
    const alike = memoizeByNumber((start) => {
      const onLoad = normaliseOnLoad.filter((position) => position >= start).map((position) => position - start)
      return [structuralId({ from: start, to }), onLoad, ...all].join(';')
    })
    return (place, key) => timesOf([alike(decidingStart(segment, from + place)), to - from - place, key].join(';'))
  }
  return (segment, tiling) => {
    const { from, grid, recompute, workspace, rematerialize, normaliseOnLoad = [] } = segment
    const onLoad = normaliseOnLoad.map((position) => position - from)
    const key = [structuralId(segment), recompute, workspace, rematerialize, onLoad, grid.B, grid.H, grid.W].join(';')
    let timer = timers.get(key)
    if (timer === undefined) timers.set(key, (timer = createTimer(createTimedSegment(scope, segment, tiling), knownOps(segment), shapesOf)))
    return timer(segment)
  }
}
