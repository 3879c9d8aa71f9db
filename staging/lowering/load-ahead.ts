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
  return loadsAhead && from === 0 && tileCount(grid) > 1 && context.source.kind === 'image' && passOf(context, code.segment, mode).isRead(0)
}

/** Two places for the largest tile, both free. */
const openInputTiles = ({ emit, graph, layouts, elementBytes }: Context, bodies: readonly Body[]): readonly [InputTile, InputTile] => {
  const sizes = bodies.map((body) => tensorBytes(layouts[0]!, regionExtents(regionOf(body, 0), graph.input[1]), elementBytes))
  const open = (): InputTile => {
    const tile = { buffer: emit.buffer('input tile', Math.max(...sizes)), free: emit.freshEvent(), loaded: emit.freshEvent() }
    emit.record('compute', tile.free, tile.buffer)
    return tile
  }
  return [open(), open()]
}

/**
 * Emits every tile of a segment, body by body. Where tiles are loaded ahead they take two places in turn, so that the innermost loop
 * runs over pairs; one that is run an odd number of times by a loop around it waits for one load in each turn.
 */
export const emitTiles = (context: Context, code: Tiled, mode: ForwardMode, run: (body: Body, input?: InputTile) => void): void => {
  const { emit } = context
  const places = loadsAhead(context, code, mode) ? openInputTiles(context, code.bodies) : undefined
  let next = 0
  for (const body of code.bodies) {
    const counts = body.runs.map(({ count }) => count)
    const innermost = counts.findLastIndex((count) => count > 1)
    const first = next
    const runIn = (turn: number): void => {
      const place = places?.[(first + turn) % 2]
      run(body, place)
      if (place !== undefined) emit.record('compute', place.free, place.buffer)
    }
    const nest = (axis: number): void => {
      if (axis === counts.length) runIn(0)
      else if (places !== undefined && axis === innermost) emit.pairs(tileAxes[axis]!, counts[axis]!, runIn)
      else emit.loop(tileAxes[axis]!, counts[axis]!, () => nest(axis + 1))
    }
    nest(0)
    next = (first + (counts[innermost] ?? 1)) % 2
  }
}
