import type { BufferIdentity } from '../ir/buffer-identity'
import type { SegmentCode, TileEmitter } from './segment-code'
import type { TileOrder } from './tile-order'
import type { Body, PrefetchSource, Region, BufferSlot, WholeTensor } from '../ir/tile-tensor'
import { tileAxes } from '../../program/program'
import type { Pass } from '../tile/bound-segment'
import type { ModelScope } from '../scope/scope'
import { regionExtents, tensorBytes, wholeRows } from '../scope/regions'

/** A tensor of which each tile of a pass prefetches a part: the images, or a tensor on the host. */
export interface PrefetchedTensor {
  readonly origin: PrefetchSource
  readonly identity: BufferIdentity
  readonly bytesIn: (body: Body) => number
}

/** The prefetch of a whole tensor, of which each body reads all columns of some rows. */
export const prefetchRows = ({ activationBytes }: ModelScope, whole: WholeTensor, regionOf: (body: Body) => Region): PrefetchedTensor => ({
  origin: whole,
  identity: { ...whole.identity, form: 'band' },
  bytesIn: (body) => tensorBytes(whole.layout, regionExtents(regionOf(body), whole.extents[1]), activationBytes)
})

/** Returns the inputs of which the tiles of a pass over a segment prefetch parts. */
const prefetchInputs = (scope: ModelScope, { hostTensors, ...code }: SegmentCode, pass: Pass): readonly PrefetchedTensor[] => {
  const { graph, layouts, activationBytes } = scope
  return code.ends.inputs.filter(pass.isRead).flatMap((tensor): readonly PrefetchedTensor[] => {
    const whole = hostTensors.get(tensor)?.tensor
    if (whole !== undefined) return [prefetchRows(scope, whole, (body) => wholeRows(whole, body.held(tensor)))]
    if (tensor > 0 || graph.source.kind !== 'image') return []
    const bytesIn = (body: Body): number => tensorBytes(layouts[0]!, regionExtents(body.held(0), graph.input[1]), activationBytes)
    return [{ origin: 'images', identity: { kind: 'image' }, bytesIn }]
  })
}

/**
 * The order in which a body's tiles take the two slots: the slot of the first, and the loop that is
 * the innermost, -1 for a single tile.
 */
interface SlotOrder {
  readonly body: Body
  readonly first: number
  readonly innermost: number
}

const assignSlots = (bodies: readonly Body[]): readonly SlotOrder[] => {
  let next = 0
  return bodies.map((body) => {
    const counts = body.runs.map(({ count }) => count)
    const [first, innermost] = [next, counts.findLastIndex((count) => count > 1)]
    next = (first + (counts[innermost] ?? 1)) % 2
    return { body, first, innermost }
  })
}

/** Creates both slots, with places for the largest of what the tiles of each prefetch. */
const createSlots = (
  { builder }: ModelScope,
  order: readonly SlotOrder[],
  prefetched: readonly PrefetchedTensor[]
): readonly [BufferSlot, BufferSlot] => {
  const create = (slot: number): BufferSlot => {
    const bodies = order.filter(({ first, innermost }) => first === slot || innermost >= 0)
    const places = prefetched.flatMap(({ origin, identity, bytesIn }) => {
      const bytes = Math.max(...bodies.map(({ body }) => bytesIn(body)))
      return bytes === 0 ? [] : [[origin, builder.buffer(identity, bytes)] as const]
    })
    return { places: new Map(places), computed: builder.freshEvent(), stored: builder.freshEvent(), storing: [] }
  }
  return [create(0), create(1)]
}

/**
 * Emits every tile of a segment in an order, body by body. Where tiles prefetch (double
 * buffering), their parts have two slots in turn, so that the innermost loop runs over pairs; one
 * that is run an odd number of times by a loop around it waits for one load in each slot. `more`
 * is what tiles prefetch beside their inputs.
 */
export const emitTiles = (
  scope: ModelScope,
  code: SegmentCode,
  pass: Pass,
  { tile, op, directions }: TileEmitter,
  { bodies, edges, send }: TileOrder,
  more: readonly PrefetchedTensor[] = []
): void => {
  const { builder } = scope
  const { segment, ends, hostTensors, aroundTile } = code
  const order = assignSlots(bodies)
  const isTiled = bodies.length > 1 || order.some(({ innermost }) => innermost >= 0)
  const slots = segment.prefetch === true && isTiled ? createSlots(scope, order, [...prefetchInputs(scope, code, pass), ...more]) : []
  const inBands = [...ends.inputs, ...ends.outputs].some((tensor) => hostTensors.has(tensor))
  /** Waits until nothing of a slot is on its way to the host any more. */
  const waitForStores = ({ stored, storing }: BufferSlot): void =>
    storing.splice(0).forEach((buffer) => builder.wait('compute', stored, buffer))
  for (const { places, computed, stored } of slots) {
    if (inBands) builder.record('to-host', stored)
    places.forEach((place) => builder.record('compute', computed, place))
  }
  for (const [place, { body, first, innermost }] of order.entries()) {
    if (place === edges) send()
    const runTile = (slot: BufferSlot | undefined): void =>
      aroundTile === undefined
        ? tile(body, slot)
        : aroundTile({
            ...{ mode: pass.mode, directions, body, slot },
            key: `${pass.mode} ${place}`,
            isAtEnd: place === 0 || place === order.length - 1,
            run: () => tile(body, slot),
            runOp: (direction, position) => op(body, direction, position)
          })
    const runIn = (index: number): void => {
      const [own, other] = [slots[(first + index) % 2], slots[(first + index + 1) % 2]]
      runTile(own)
      if (own === undefined || other === undefined) return
      builder.record('compute', own.computed)
      if (!inBands) return
      builder.record('to-host', own.stored)
      builder.wait('compute', other.stored)
      waitForStores(other)
    }
    const nest = (axis: number): void => {
      if (axis === body.runs.length) return runIn(0)
      const { count } = body.runs[axis]!
      if (slots.length > 0 && axis === innermost) builder.pairs(tileAxes[axis]!, count, runIn)
      else builder.loop(tileAxes[axis]!, count, () => nest(axis + 1))
    }
    // What leaves when a loop begins would have to stay until it ends.
    if (innermost >= 0) slots.forEach(waitForStores)
    nest(0)
  }
  if (order.length === edges) send()
  for (const slot of slots) {
    waitForStores(slot)
    slot.places.forEach((place) => builder.record('compute', slot.computed, place))
  }
}
