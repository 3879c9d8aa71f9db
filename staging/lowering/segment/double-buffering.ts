import type { BufferIdentity } from '../ir/buffer-identity'
import type { SegmentCode } from './segment-code'
import type { Body, Origin, Region, BufferSlot, WholeTensor } from '../ir/tile-tensor'
import { tileAxes } from '../../program/program'
import type { Pass } from '../tile/bound-segment'
import type { ModelScope } from '../scope/scope'
import { regionExtents, regionOf, tensorBytes, wholeRows } from '../scope/regions'

/** What each tile of a pass brings. */
export interface Brought {
  readonly origin: Origin
  readonly identity: BufferIdentity
  readonly bytesIn: (body: Body) => number
}

export const broughtBand = ({ activationBytes }: ModelScope, whole: WholeTensor, regionOf: (body: Body) => Region): Brought => ({
  origin: whole,
  identity: { ...whole.identity, form: 'band' },
  bytesIn: (body) => tensorBytes(whole.layout, regionExtents(regionOf(body), whole.extents[1]), activationBytes)
})

/** What a pass over a segment's tiles brings of its inputs. */
const broughtInputs = (scope: ModelScope, { hostTensors, ...code }: SegmentCode, pass: Pass): readonly Brought[] => {
  const { graph, layouts, activationBytes } = scope
  return code.ends.inputs.filter(pass.isRead).flatMap((tensor): readonly Brought[] => {
    const whole = hostTensors.get(tensor)?.tensor
    if (whole !== undefined) return [broughtBand(scope, whole, (body) => wholeRows(whole, regionOf(body, tensor)))]
    if (tensor > 0 || graph.source.kind !== 'image') return []
    const bytesIn = (body: Body): number => tensorBytes(layouts[0]!, regionExtents(regionOf(body, 0), graph.input[1]), activationBytes)
    return [{ origin: 'images', identity: { kind: 'image' }, bytesIn }]
  })
}

/**
 * How a body's tiles take turns: which comes first, and which of its loops is the innermost, -1 for
 * a single tile.
 */
interface Turns {
  readonly body: Body
  readonly first: number
  readonly innermost: number
}

const turnsOf = (bodies: readonly Body[]): readonly Turns[] => {
  let next = 0
  return bodies.map((body) => {
    const counts = body.runs.map(({ count }) => count)
    const [first, innermost] = [next, counts.findLastIndex((count) => count > 1)]
    next = (first + (counts[innermost] ?? 1)) % 2
    return { body, first, innermost }
  })
}

/** Both turns, with places for the largest of what each brings. */
const createSlots = ({ builder }: ModelScope, turns: readonly Turns[], brought: readonly Brought[]): readonly [BufferSlot, BufferSlot] => {
  const open = (turn: number): BufferSlot => {
    const bodies = turns.filter(({ first, innermost }) => first === turn || innermost >= 0)
    const places = brought.flatMap(({ origin, identity, bytesIn }) => {
      const bytes = Math.max(...bodies.map(({ body }) => bytesIn(body)))
      return bytes === 0 ? [] : [[origin, builder.buffer(identity, bytes)] as const]
    })
    return { places: new Map(places), computed: builder.freshEvent(), gone: builder.freshEvent(), leaving: [] }
  }
  return [open(0), open(1)]
}

/**
 * Emits every tile of a segment, body by body. Where tiles load ahead, what they bring has two
 * places in turn, so that the innermost loop runs over pairs; one that is run an odd number of
 * times by a loop around it waits for one load in each turn. `more` is what tiles bring beside
 * their inputs.
 */
export const emitTiles = (
  scope: ModelScope,
  code: SegmentCode,
  pass: Pass,
  run: (body: Body, slot: BufferSlot | undefined) => void,
  more: readonly Brought[] = []
): void => {
  const { builder } = scope
  const { segment, ends, bodies, hostTensors } = code
  const turns = turnsOf(bodies)
  const isTiled = bodies.length > 1 || turns.some(({ innermost }) => innermost >= 0)
  const opened = segment.prefetch === true && isTiled ? createSlots(scope, turns, [...broughtInputs(scope, code, pass), ...more]) : []
  const inBands = [...ends.inputs, ...ends.outputs].some((tensor) => hostTensors.has(tensor))
  /** Nothing that a turn takes is on its way any more. */
  const settle = ({ gone, leaving }: BufferSlot): void => leaving.splice(0).forEach((buffer) => builder.wait('compute', gone, buffer))
  for (const { places, computed, gone } of opened) {
    if (inBands) builder.record('to-host', gone)
    places.forEach((place) => builder.record('compute', computed, place))
  }
  for (const { body, first, innermost } of turns) {
    const runIn = (turn: number): void => {
      const [own, other] = [opened[(first + turn) % 2], opened[(first + turn + 1) % 2]]
      run(body, own)
      if (own === undefined || other === undefined) return
      builder.record('compute', own.computed)
      if (!inBands) return
      builder.record('to-host', own.gone)
      builder.wait('compute', other.gone)
      settle(other)
    }
    const nest = (axis: number): void => {
      if (axis === body.runs.length) return runIn(0)
      const { count } = body.runs[axis]!
      if (opened.length > 0 && axis === innermost) builder.pairs(tileAxes[axis]!, count, runIn)
      else builder.loop(tileAxes[axis]!, count, () => nest(axis + 1))
    }
    // What leaves when a loop begins would have to stay until it ends.
    if (innermost >= 0) opened.forEach(settle)
    nest(0)
  }
  for (const turn of opened) {
    settle(turn)
    turn.places.forEach((place) => builder.record('compute', turn.computed, place))
  }
}
