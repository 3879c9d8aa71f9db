import type { SegmentTiling } from '../../graph/tiling'
import { memoize } from '../../memoize'
import { getNodeLowering } from '../../ops'
import type { Segment } from '../../plans/plan'
import type { Builder } from '../ir/builder'
import type { ModelScope } from '../scope/scope'
import { hasSlices } from '../scope/weight-slices'
import type { AroundTile } from '../segment/segment-code'
import { transformablePositions } from '../segment/winograd'
import type { Direction } from '../tile/bound-segment'
import { emitSegment } from './emit-segment'
import { type OpTimes, type TileTimes, type Times, addOpTimes, addTimes, createTimesBuilder, noTimes } from './launch-times'
import { type RunShapes, tileShapes } from './tile-shapes'

/** A tiled segment's launches, where all of its convolutions run in the same way. */
export interface Recorded {
  /** Launches of one tile of each body, by pass and body. */
  readonly tiles: ReadonlyMap<string, TileTimes>
  /** Times of all tiles, and of what stands around them. */
  readonly all: Times
}

/**
 * What an op takes in tiles that are alike for it, whatever the grid: by its place, and by pass,
 * direction and how convolutions run; then by how the tile lies there.
 */
export type KnownOps = (place: number, key: string) => Map<number, OpTimes>

/** By place. */
type KnownTimes = readonly Map<number, OpTimes>[]

/** Whether weights are reordered once for all tiles of a segment, or in each. */
export type Reorder = Segment['reorder']

/** How the convolutions of a segment run that may run by Winograd: all of them alike. */
export type Way = 'direct' | 'winograd' | 'sliced'

/** A segment in tiles whose launches are recorded, or emitted in another way. */
export interface TimedSegment {
  readonly scope: ModelScope
  readonly segment: Segment
  /** Places of layers with weights, by the names of these. */
  readonly places: ReadonlyMap<string, number>
  /** Places of convolutions that may run by Winograd. */
  readonly transformable: ReadonlySet<number>
  /** Of those whose weights have slices then, by the direction that reads them. */
  readonly sliceable: { readonly [D in Direction]: ReadonlySet<number> }
  /** Emits it with other decisions; `atOp` is told of each op of a tile before its launches. */
  readonly emit: (
    builder: Builder,
    decided: Partial<Segment>,
    aroundTile: AroundTile,
    atOp?: (direction: Direction, position: number) => void
  ) => void
  /** Places of layers whose weights are read in its tiles, however they are shared. */
  readonly readInTiles: ReadonlySet<number>
}

/** A segment of a plan, with its tiles, ready to have its launches recorded. */
export const createTimedSegment = (scope: ModelScope, segment: Segment, tiling: SegmentTiling): TimedSegment => {
  const { prefetch: _, ...inTurn } = segment
  const { from, to } = segment
  const positions = transformablePositions(scope).filter((position) => from <= position && position < to)
  const slicedIn = (direction: Direction): ReadonlySet<number> =>
    new Set(positions.filter((position) => hasSlices(scope.parameters[position]!.weight!, direction)).map((position) => position - from))
  return {
    scope,
    segment,
    places: new Map(
      scope.parameters.slice(from, to).flatMap((both, place) => (both?.weight === undefined ? [] : [[both.weight.name, place] as const]))
    ),
    transformable: new Set(positions.map((position) => position - from)),
    sliceable: { forward: slicedIn('forward'), backward: slicedIn('backward') },
    emit: (builder, decided, aroundTile, atOp) =>
      emitSegment({ ...scope, builder }, { ...inTurn, ...decided }, tiling, new Set(), { aroundTile, ...(atOp && { atOp }) }),
    readInTiles: new Set(
      scope.graph.nodes.slice(from, to).flatMap((node, place) => (getNodeLowering(node).backwardReadsStored === true ? [place] : []))
    )
  }
}

/** Times of the launches of one tile, taken apart by the op that launches. */
const createOpSplitter = (count: number) => {
  const own = noTimes(count)
  /** Of the op that is emitted: where its times go. */
  let current: { readonly place: number; readonly into: Map<number, OpTimes>; readonly shape: number } | undefined
  /** What was launched of an op since it was last asked for. */
  const take = (place: number): OpTimes => {
    const { other, loads, convolutions, weights } = own
    const op = { other, loads, convolution: convolutions[place]!, weights: weights[place]! }
    own.other = own.loads = convolutions[place] = weights[place] = 0
    return op
  }
  const end = (): void => {
    if (current !== undefined) current.into.set(current.shape, take(current.place))
    current = undefined
  }
  const begin = (next: NonNullable<typeof current>): void => {
    end()
    current = next
  }
  return { own, take, begin, end }
}

/** What a segment decides where all that may run by Winograd run in one way. */
const decidedBy = ({ segment: { from }, transformable }: TimedSegment, way: Way): Pick<Segment, 'winograd' | 'slicedWinograd'> => {
  const positions = [...transformable].map((place) => from + place)
  return { winograd: way === 'direct' ? [] : positions, slicedWinograd: way === 'sliced' ? positions : [] }
}

/** Goes through all launches of a segment; ops whose times are known are not emitted again. */
export const recordTiles = (
  timed: TimedSegment,
  { way, reorder }: { readonly way: Way; readonly reorder: Reorder },
  known: KnownOps,
  shapesOf: RunShapes
): Recorded => {
  const { scope, segment, places, transformable, sliceable, emit, readInTiles } = timed
  const { from, to } = segment
  const count = to - from
  const owners = new Set(places.values())
  const { builder, into } = createTimesBuilder(scope.device, places, transformable)
  const all = noTimes(count)
  const tiles = new Map<string, TileTimes>()
  const ops = createOpSplitter(count)
  let beginOp: ((direction: Direction, place: number) => void) | undefined
  const isSliced = (direction: Direction, place: number): boolean => way === 'sliced' && sliceable[direction].has(place)
  const wayAt = (place: number): Way => {
    if (!transformable.has(place)) return 'direct'
    return way === 'sliced' && !isSliced('forward', place) && !isSliced('backward', place) ? 'winograd' : way
  }
  /** By place; what decides of weights tells apart only ops that have any. */
  const opsWith = (pass: string, reorder: Reorder): KnownTimes =>
    Array.from({ length: count }, (_, place) => known(place, [wayAt(place), owners.has(place) ? reorder : '', pass].join()))
  const opsOf = memoize(
    (pass: string) => pass,
    (pass) => opsWith(pass, reorder)
  )
  const opsApart = memoize(
    (pass: string) => pass,
    (pass) => opsWith(pass, 'each-tile')
  )
  /**
   * Where tiles share what they read of the weights, ops take what they take where tiles do not,
   * but for the copies: those of slices are made in each tile even so.
   */
  const shareCopies = (pass: string, direction: Direction, shapes: readonly number[]): void => {
    const [found, apart] = [opsOf(pass), opsApart(pass)]
    for (const place of owners) {
      const shape = shapes[place]!
      const op = readInTiles.has(place) || found[place]!.has(shape) ? undefined : apart[place]!.get(shape)
      if (op !== undefined) found[place]!.set(shape, isSliced(direction, place) ? op : { ...op, weights: 0 })
    }
  }
  into(all)
  const aroundTile: AroundTile = (tile) => {
    const { runs } = tile.body
    const times = noTimes(count)
    const shapes = tileShapes(shapesOf, segment, runs)
    const passes = tile.directions.map((direction) => ({ direction, found: opsOf(`${tile.mode} ${direction}`) }))
    if (reorder === 'once') passes.forEach(({ direction }) => shareCopies(`${tile.mode} ${direction}`, direction, shapes))
    const isUnknown = (found: KnownTimes) => (place: number) => !found[place]!.has(shapes[place]!)
    const unknown = passes.map(({ direction, found }) => ({ direction, found, places: [...shapes.keys()].filter(isUnknown(found)) }))
    const unknownCount = unknown.reduce((sum, one) => sum + one.places.length, 0)
    into(ops.own)
    if (2 * unknownCount > count * passes.length) {
      // Most of them: then all at once are faster than each by itself.
      beginOp = (direction, place) => {
        const { found } = passes.find((one) => one.direction === direction)!
        ops.begin({ place, into: found[place]!, shape: shapes[place]! })
      }
      tile.run()
      ops.end()
      beginOp = undefined
    }
    for (const { direction, found, places: left } of unknown)
      for (const place of left.filter(isUnknown(found))) {
        tile.runOp(direction, from + place)
        found[place]!.set(shapes[place]!, ops.take(place))
      }
    into(all)
    for (const { found } of passes) for (let place = 0; place < count; place++) addOpTimes(times, place, found[place]!.get(shapes[place]!)!)
    tiles.set(tile.key, { count: runs.reduce((product, run) => product * run.count, 1), times })
  }
  emit(builder, { ...decidedBy(timed, way), reorder }, aroundTile, (direction, position) => beginOp?.(direction, position - from))
  tiles.forEach((tile) => addTimes(all, tile))
  return { tiles, all }
}

/**
 * Records tiles that share what they read of the weights, from a record of tiles that do not: only
 * the copies differ.
 */
export const recordSharing = (timed: TimedSegment, way: Exclude<Way, 'sliced'>, apart: Recorded): Recorded => {
  const { scope, places, transformable, emit } = timed
  const { from, to } = timed.segment
  const { builder, into } = createTimesBuilder(scope.device, places, transformable)
  const shared = noTimes(to - from)
  into(shared)
  emit(builder, { ...decidedBy(timed, way), reorder: 'once' }, () => undefined)
  const withoutCopies = ({ count, times }: TileTimes): TileTimes => ({ count, times: { ...times, weights: noTimes(to - from).weights } })
  const tiles = new Map([...apart.tiles].map(([key, tile]) => [key, withoutCopies(tile)]))
  return { tiles, all: { ...apart.all, weights: shared.weights } }
}
