import { tileAxes } from '../program'
import { tileCount } from '../tiling'
import type { BoundSegment } from './body'
import type { Context } from './context'
import type { Buffer } from './emitter'
import { passOf, type ForwardMode } from './pass'
import { regionExtents, regionOf, tensorBytes, type Body } from './tensors'

/** Where a tile of the network's input is loaded: after `free` was recorded, by who computed the tile before it in there. */
export interface InputTile {
  readonly buffer: Buffer
  readonly free: number
  readonly loaded: number
}

type Tiled = BoundSegment & { readonly bodies: readonly Body[] }

/** Whether a pass over a segment's tiles loads images, each tile while the one before it is computed. */
const loadsAhead = (context: Context, code: Tiled, mode: ForwardMode): boolean => {
  const { from, grid, loadsAhead = false } = code.segment
  return loadsAhead && from === 0 && tileCount(grid) > 1 && context.source.kind === 'image' && passOf(context, code, mode).isRead(0)
}

/** How a body's tiles take turns in two places: where the first goes, and which of its loops is the innermost, -1 for a single tile. */
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

/** Two places, each for the largest tile that goes there, both free. */
const openInputTiles = ({ emit, graph, layouts, elementBytes }: Context, turns: readonly Turns[]): readonly [InputTile, InputTile] => {
  const open = (place: number): InputTile => {
    const bodies = turns.filter(({ first, innermost }) => first === place || innermost >= 0)
    const sizes = bodies.map(({ body }) => tensorBytes(layouts[0]!, regionExtents(regionOf(body, 0), graph.input[1]), elementBytes))
    const tile = { buffer: emit.buffer('input tile', Math.max(...sizes)), free: emit.freshEvent(), loaded: emit.freshEvent() }
    emit.record('compute', tile.free, tile.buffer)
    return tile
  }
  return [open(0), open(1)]
}

/**
 * Emits every tile of a segment, body by body. Where tiles are loaded ahead they take two places in turn, so that the innermost loop
 * runs over pairs; one that is run an odd number of times by a loop around it waits for one load in each turn.
 */
export const emitTiles = (context: Context, code: Tiled, mode: ForwardMode, run: (body: Body, input?: InputTile) => void): void => {
  const { emit } = context
  const turns = turnsOf(code.bodies)
  const places = loadsAhead(context, code, mode) ? openInputTiles(context, turns) : undefined
  for (const { body, first, innermost } of turns) {
    const runIn = (turn: number): void => {
      const place = places?.[(first + turn) % 2]
      run(body, place)
      if (place !== undefined) emit.record('compute', place.free, place.buffer)
    }
    const nest = (axis: number): void => {
      if (axis === body.runs.length) return runIn(0)
      const { count } = body.runs[axis]!
      if (places !== undefined && axis === innermost) emit.pairs(tileAxes[axis]!, count, runIn)
      else emit.loop(tileAxes[axis]!, count, () => nest(axis + 1))
    }
    nest(0)
  }
}
