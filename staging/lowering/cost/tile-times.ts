import { nanoseconds, simulatedTimes } from '../../devices/simulate'
import type { DeviceModel } from '../../devices/device-model'
import { lazy } from '../../memoize'
import type { SegmentTiling } from '../../graph/tiling'
import type { Kernel } from '../../kernels/kernels'
import type { Segment } from '../../plans/plan'
import type { Builder, UnplacedOperand } from '../ir/builder'
import type { ModelScope } from '../scope/scope'
import type { AroundTile } from '../segment/segment-code'
import { transformablePositions } from '../segment/winograd'
import { loweringOf } from '../../ops'
import { createCostBuilder } from './cost-builder'
import { emitSegment } from './emit-segment'
import { structuralIds } from './structural-hash'
import { createTimedBuilder } from './timed-builder'

/** Nanoseconds of some launches, apart by what a segment's decisions change. */
interface Times {
  /** Of launches that are the same however the weights are read. */
  other: number
  /** Of images that are loaded, which may go beside computing. */
  loads: number
  /** Of the convolutions that may run by Winograd, by their place in the segment. */
  readonly convolutions: Map<number, number>
  /** Of copies of weights in another layout or type, by the place of the layer. */
  readonly weights: Map<number, number>
}

/** The launches of one tile, of which a pass over the segment runs `count`. */
interface TileTimes {
  readonly count: number
  readonly times: Times
}

/** A tiled segment's launches, where all or none of its convolutions run by Winograd. */
interface Recorded {
  /** By pass and body. */
  readonly tiles: ReadonlyMap<string, TileTimes>
  /** Of all tiles, and of what stands around them. */
  readonly all: Times
}

const noTimes = (): Times => ({ other: 0, loads: 0, convolutions: new Map(), weights: new Map() })

const add = (sums: Map<number, number>, place: number, time: number): void => void sums.set(place, (sums.get(place) ?? 0) + time)

const addTimes = (sums: Times, { count, times }: TileTimes): void => {
  sums.other += count * times.other
  sums.loads += count * times.loads
  times.convolutions.forEach((time, place) => add(sums.convolutions, place, count * time))
  times.weights.forEach((time, place) => add(sums.weights, place, count * time))
}

/** The operand that tells whose weights a kernel reads, or makes the gradient of. */
const weightsOperand: { readonly [K in Kernel['kind']]?: string } = {
  convolutionForward: 'weights',
  convolutionBackwardData: 'weights',
  convolutionBackwardWeights: 'weightGradient',
  reorderWeights: 'source',
  castWeights: 'source'
}

const parameterOf = (operand: UnplacedOperand | undefined): string | undefined =>
  operand?.space === 'arena' && 'parameter' in operand.buffer.identity ? operand.buffer.identity.parameter : undefined

/** Emits nothing; adds what launches take to times that are changed as it goes. */
const createTimesBuilder = (
  device: DeviceModel,
  places: ReadonlyMap<string, number>,
  transformable: ReadonlySet<number>
): { readonly builder: Builder; readonly into: (times: Times) => void } => {
  let current = noTimes()
  const launch = (kernel: { readonly kind: Kernel['kind'] }, operands: Readonly<Record<string, UnplacedOperand>>): void => {
    const time = nanoseconds(device, kernel as Kernel)
    const name = weightsOperand[kernel.kind]
    const owner = name === undefined ? undefined : parameterOf(operands[name])
    const place = owner === undefined ? undefined : places.get(owner)
    if (kernel.kind === 'loadImage') current.loads += time
    else if (place === undefined) current.other += time
    else if (kernel.kind === 'reorderWeights' || kernel.kind === 'castWeights') add(current.weights, place, time)
    else if (transformable.has(place)) add(current.convolutions, place, time)
    else current.other += time
  }
  const builder = createCostBuilder(device)
  return {
    builder: { ...builder, launch, load: launch, loop: (_, __, body) => body(), pairs: (_, __, body) => body(0) },
    into: (times) => {
      current = times
    }
  }
}

/** Nanoseconds of a segment that is alike but for how weights are read, and for prefetching. */
type Timer = (segment: Segment) => number

type Reorder = Segment['reorder']

/** The launches of a segment's tiles, recorded when first asked for; its times follow from them. */
const createTimer = (scope: ModelScope, first: Segment, tiling: SegmentTiling): Timer => {
  const { from, to } = first
  const places = new Map(
    scope.parameters.slice(from, to).flatMap((both, place) => (both?.weight === undefined ? [] : [[both.weight.name, place] as const]))
  )
  const transformable = new Set(
    transformablePositions(scope).flatMap((position) => (from <= position && position < to ? [position - from] : []))
  )
  const emit = (builder: Builder, decided: Partial<Segment>, aroundTile: AroundTile): void => {
    const { prefetch: _, ...inTurn } = first
    emitSegment({ ...scope, builder }, { ...inTurn, ...decided }, tiling, new Set(), { aroundTile })
  }
  const record = (winograd: readonly number[], reorder: Reorder): Recorded => {
    const { builder, into } = createTimesBuilder(scope.device, places, transformable)
    const all = noTimes()
    const tiles = new Map<string, TileTimes>()
    into(all)
    emit(builder, { winograd, reorder }, ({ run, key, body }) => {
      const times = noTimes()
      into(times)
      run()
      into(all)
      tiles.set(key, { count: body.runs.reduce((product, { count }) => product * count, 1), times })
    })
    tiles.forEach((tile) => addTimes(all, tile))
    return { tiles, all }
  }
  /** Of tiles that share what they read of the weights: only the copies differ. */
  const recordSharing = (winograd: readonly number[], apart: Recorded): Recorded => {
    const { builder, into } = createTimesBuilder(scope.device, places, transformable)
    const shared = noTimes()
    into(shared)
    emit(builder, { winograd, reorder: 'once' }, () => undefined)
    const withoutCopies = ({ count, times }: TileTimes): TileTimes => ({ count, times: { ...times, weights: new Map() } })
    const tiles = new Map([...apart.tiles].map(([key, tile]) => [key, withoutCopies(tile)]))
    return { tiles, all: { ...apart.all, weights: shared.weights } }
  }
  // Those read weights in the tiles, however they are shared.
  const readsInTiles = scope.graph.nodes.slice(from, to).some((node) => loweringOf(node).backwardReadsStored === true)
  const recordedBy = (winograd: readonly number[]): Readonly<Record<Reorder, () => Recorded>> => {
    const apart = lazy(() => record(winograd, 'each-tile'))
    return { 'each-tile': apart, once: lazy(() => (readsInTiles ? record(winograd, 'once') : recordSharing(winograd, apart()))) }
  }
  const [direct, byWinograd] = [[], [...transformable].map((place) => from + place)].map(recordedBy)

  return ({ from: start, winograd = [], reorder, prefetch }) => {
    const chosen = new Set(winograd.map((position) => position - start))
    const as = (place: number): Recorded => (chosen.has(place) ? byWinograd! : direct!)[reorder]()
    // What does not depend on it is the same in both.
    const either = (chosen.size === 0 ? direct! : byWinograd!)[reorder]()
    const sumOver = (all: Iterable<number>, timeOf: (place: number) => number | undefined): number => {
      let sum = 0
      for (const place of all) sum += timeOf(place) ?? 0
      return sum
    }
    /** Of some of the launches, but for images. */
    const computing = (timesOf: (recorded: Recorded) => Times): number =>
      timesOf(either).other +
      sumOver(transformable, (place) => timesOf(as(place)).convolutions.get(place)) +
      sumOver(places.values(), (place) => timesOf(as(place)).weights.get(place))
    if (prefetch !== true) return either.all.loads + computing(({ all }) => all)
    const builder = createTimedBuilder(scope.device)
    const decided = { winograd: [...chosen].map((place) => from + place), reorder, prefetch }
    emit(builder, decided, ({ key, slot }) => {
      const timesOf = ({ tiles }: Recorded): Times => tiles.get(key)!.times
      const { loads } = timesOf(either)
      const isAhead = loads > 0 && slot?.places.has('images') === true
      if (isAhead) {
        const loaded = builder.freshEvent()
        builder.wait('to-device', slot.computed)
        builder.loadFor(loads)
        builder.record('to-device', loaded)
        builder.wait('compute', loaded)
      }
      builder.compute(computing(timesOf) + (isAhead ? 0 : loads))
    })
    return simulatedTimes(builder.timed(), scope.device)
  }
}

/**
 * Times tiled segments of whole tensors, exactly as all of their launches would take: each
 * segment's are gone through once or twice, however its weights are read and its images loaded.
 */
export const tiledSegmentTimer = (scope: ModelScope): ((segment: Segment, tiling: SegmentTiling) => number) => {
  const structuralId = structuralIds(scope)
  const timers = new Map<string, Timer>()
  return (segment, tiling) => {
    const { grid, recompute, workspace, rematerialize } = segment
    const key = [structuralId(segment), grid.B, grid.H, grid.W, recompute, workspace, rematerialize].join(';')
    const timer = timers.get(key) ?? createTimer(scope, segment, tiling)
    timers.set(key, timer)
    return timer(segment)
  }
}
