import { nanoseconds, simulatedTimes } from '../../devices/simulate'
import type { DeviceModel } from '../../devices/device-model'
import type { Interval } from '../../graph/interval'
import { readInterval } from '../../graph/axis-access'
import type { Span } from '../../graph/span'
import type { StepGraph } from '../../graph/step-graph'
import { lazy, memoize } from '../../memoize'
import type { SegmentTiling, TileRun } from '../../graph/tiling'
import type { Kernel } from '../../kernels/kernels'
import type { Segment } from '../../plans/plan'
import type { Builder, UnplacedOperand } from '../ir/builder'
import type { ModelScope } from '../scope/scope'
import type { AroundTile } from '../segment/segment-code'
import type { Direction } from '../tile/bound-segment'
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
  readonly convolutions: Float64Array
  /** Of copies of weights in another layout or type, by the place of the layer. */
  readonly weights: Float64Array
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

const noTimes = (places: number): Times => ({
  ...{ other: 0, loads: 0 },
  convolutions: new Float64Array(places),
  weights: new Float64Array(places)
})

const addTimes = (sums: Times, { count, times }: TileTimes): void => {
  sums.other += count * times.other
  sums.loads += count * times.loads
  for (let place = 0; place < sums.weights.length; place++) {
    sums.convolutions[place]! += count * times.convolutions[place]!
    sums.weights[place]! += count * times.weights[place]!
  }
}

/** What one op of a tile launches, as `Times` has it; its convolution and weights are its own. */
interface OpTimes {
  readonly other: number
  readonly loads: number
  readonly convolution: number
  readonly weights: number
}

const addOpTimes = (sums: Times, place: number, { other, loads, convolution, weights }: OpTimes): void => {
  sums.other += other
  sums.loads += loads
  sums.convolutions[place]! += convolution
  sums.weights[place]! += weights
}

/**
 * What ops take in tiles that are alike for them, whatever the grid: by pass, direction and how
 * convolutions run; then by place, and by how the tile lies there.
 */
type KnownOps = (key: string) => readonly Map<number, OpTimes>[]

/** By place in a span, a number for how a run along an axis lies there. */
type ShapesOf = (span: Span, axis: number, run: TileRun) => readonly number[]

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
  let current = noTimes(0)
  const launch = (kernel: { readonly kind: Kernel['kind'] }, operands: Readonly<Record<string, UnplacedOperand>>): void => {
    const time = nanoseconds(device, kernel as Kernel)
    const name = weightsOperand[kernel.kind]
    const owner = name === undefined ? undefined : parameterOf(operands[name])
    const place = owner === undefined ? undefined : places.get(owner)
    if (kernel.kind === 'loadImage') current.loads += time
    else if (place === undefined) current.other += time
    else if (kernel.kind === 'reorderWeights' || kernel.kind === 'castWeights') current.weights[place]! += time
    else if (transformable.has(place)) current.convolutions[place]! += time
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

/** More than there are ways in which runs lie. */
const shapeLimit = 2 ** 17

const extent = ({ from, to }: Interval): number => to - from

/** How a run along an axis lies for each op of a span: what its launches depend on, as numbers. */
const createShapes = ({ nodes }: StepGraph): ShapesOf => {
  const numbers = new Map<string, number>()
  const known = new WeakMap<TileRun, readonly number[]>()
  const numberOf = (key: string): number => {
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    return number
  }
  return ({ from, to }, axis, run) => {
    const found = known.get(run)
    if (found !== undefined) return found
    const { readings, held, owned, advances } = run
    const placeIn = (tensor: number, { from: first, to: end }: Interval): readonly number[] => [first - held.get(tensor)!.from, end - first]
    const shapes = nodes.slice(from, to).map(({ inputs }, index) => {
      const [tensor, reading] = [from + index + 1, readings[index]!]
      const { padBefore, padAfter, overhang } = reading
      const parts = [index, padBefore, padAfter, overhang, extent(held.get(tensor)!)]
      const part = owned.get(tensor)
      parts.push(...(part === undefined ? [-1] : placeIn(tensor, part)))
      for (const input of inputs) parts.push(extent(held.get(input)!), ...placeIn(input, readInterval(reading, input)))
      // Along the batch what a tile holds may be seen where it begins.
      if (axis === 0) for (const one of [tensor, ...inputs]) parts.push(held.get(one)!.from, advances.get(one)!)
      return numberOf([axis, ...parts].join())
    })
    known.set(run, shapes)
    return shapes
  }
}

/** Nanoseconds of a segment that is alike but for how weights are read, and for prefetching. */
type Timer = (segment: Segment) => number

type Reorder = Segment['reorder']

/** The launches of a segment's tiles, recorded when first asked for; its times follow from them. */
const createTimer = (scope: ModelScope, first: Segment, tiling: SegmentTiling, known: KnownOps, shapesOf: ShapesOf): Timer => {
  const { from, to } = first
  const places = new Map(
    scope.parameters.slice(from, to).flatMap((both, place) => (both?.weight === undefined ? [] : [[both.weight.name, place] as const]))
  )
  const transformable = new Set(
    transformablePositions(scope).flatMap((position) => (from <= position && position < to ? [position - from] : []))
  )
  const emit = (
    builder: Builder,
    decided: Partial<Segment>,
    aroundTile: AroundTile,
    atOp?: (direction: Direction, position: number) => void
  ): void => {
    const { prefetch: _, ...inTurn } = first
    emitSegment({ ...scope, builder }, { ...inTurn, ...decided }, tiling, new Set(), { aroundTile, ...(atOp && { atOp }) })
  }
  const count = to - from
  const positions = Array.from({ length: count }, (_, place) => from + place)
  const owners = new Set(places.values())
  const record = (winograd: readonly number[], reorder: Reorder): Recorded => {
    const { builder, into } = createTimesBuilder(scope.device, places, transformable)
    const all = noTimes(count)
    const tiles = new Map<string, TileTimes>()
    const own = noTimes(count)
    /** What was launched of one op since it was last asked for. */
    const takeOwn = (place: number): OpTimes => {
      const { other, loads, convolutions, weights } = own
      const op = { other, loads, convolution: convolutions[place]!, weights: weights[place]! }
      own.other = own.loads = convolutions[place] = weights[place] = 0
      return op
    }
    /** Of the tile that is emitted: the op that is, and where its times go. */
    let emitted: { readonly place: number; readonly into: Map<number, OpTimes>; readonly shape: number } | undefined
    const endOp = (): void => {
      if (emitted !== undefined) emitted.into.set(emitted.shape, takeOwn(emitted.place))
      emitted = undefined
    }
    let beginOp: ((direction: Direction, place: number) => void) | undefined
    /** By place; what decides of weights tells apart only ops that have any. */
    const opsOf = memoize(
      (pass: string) => pass,
      (pass): ReturnType<KnownOps> =>
        positions.map((_, place) => {
          const isTransformed = winograd.length > 0 && transformable.has(place)
          return known([isTransformed, owners.has(place) ? reorder : '', pass].join())[place]!
        })
    )
    into(all)
    const aroundTile: AroundTile = (tile) => {
      const { runs } = tile.body
      const times = noTimes(count)
      const [batch, rows, columns] = runs.map((run, axis) => shapesOf(first, axis, run))
      const shapes = positions.map((_, place) => (batch![place]! * shapeLimit + rows![place]!) * shapeLimit + columns![place]!)
      const passes = tile.directions.map((direction) => ({ direction, ops: opsOf(`${tile.mode} ${direction}`) }))
      const isUnknown = (ops: ReturnType<KnownOps>) => (place: number) => !ops[place]!.has(shapes[place]!)
      const unknown = passes.map(({ direction, ops }) => ({ direction, ops, places: [...positions.keys()].filter(isUnknown(ops)) }))
      const unknownCount = unknown.reduce((sum, { places }) => sum + places.length, 0)
      into(own)
      if (2 * unknownCount > count * passes.length) {
        // Most of them: then all at once are faster than each by itself.
        beginOp = (direction, place) => {
          endOp()
          const { ops } = passes.find((one) => one.direction === direction)!
          emitted = { place, into: ops[place]!, shape: shapes[place]! }
        }
        tile.run()
        endOp()
        beginOp = undefined
      }
      for (const { direction, ops, places } of unknown)
        for (const place of places.filter(isUnknown(ops))) {
          tile.runOp(direction, from + place)
          ops[place]!.set(shapes[place]!, takeOwn(place))
        }
      into(all)
      for (const { ops } of passes) for (let place = 0; place < count; place++) addOpTimes(times, place, ops[place]!.get(shapes[place]!)!)
      tiles.set(tile.key, { count: runs.reduce((product, run) => product * run.count, 1), times })
    }
    emit(builder, { winograd, reorder }, aroundTile, (direction, position) => beginOp?.(direction, position - from))
    tiles.forEach((tile) => addTimes(all, tile))
    return { tiles, all }
  }
  /** Of tiles that share what they read of the weights: only the copies differ. */
  const recordSharing = (winograd: readonly number[], apart: Recorded): Recorded => {
    const { builder, into } = createTimesBuilder(scope.device, places, transformable)
    const shared = noTimes(count)
    into(shared)
    emit(builder, { winograd, reorder: 'once' }, () => undefined)
    const withoutCopies = ({ count: times, times: one }: TileTimes): TileTimes => ({
      count: times,
      times: { ...one, weights: new Float64Array(count) }
    })
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
      sumOver(transformable, (place) => timesOf(as(place)).convolutions[place]) +
      sumOver(places.values(), (place) => timesOf(as(place)).weights[place])
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
  const shapesOf = createShapes(scope.graph)
  const knownOps = memoize(
    ({ key }: { readonly key: string; readonly places: number }) => key,
    ({ places }): KnownOps =>
      memoize(
        (key) => key,
        () => Array.from({ length: places }, () => new Map<number, OpTimes>())
      )
  )
  return (segment, tiling) => {
    const { grid, recompute, workspace, rematerialize } = segment
    const alike = [structuralId(segment), recompute, workspace, rematerialize]
    const key = [...alike, grid.B, grid.H, grid.W].join(';')
    let timer = timers.get(key)
    if (timer === undefined) {
      const isSplit = [grid.B > 1, grid.H > 1, grid.W > 1]
      const ops = knownOps({ key: [...alike, ...isSplit].join(';'), places: segment.to - segment.from })
      timers.set(key, (timer = createTimer(scope, segment, tiling, ops, shapesOf)))
    }
    return timer(segment)
  }
}
