import type { BufferIdentity } from '../ir/buffer-identity'
import type { NormalisationNode } from '../../graph/statistics'
import type { TileScope } from '../scope/scope'
import { arenaOperand, zeroStrides, type Buffer } from '../ir/builder'
import { normalisationKernel } from '../../ops/normalisation-kernel'
import { copyRowsToDevice, copyRowsToHost, type RowBand } from './host-rows'
import type { HostTensor } from './bound-segment'
import { wholePart, regionExtents } from '../scope/regions'
import { freshTile, zeroTile, copyPart } from '../scope/copies'
import type { Body, Part, Region, TileTensor, WholeTensor } from '../ir/tile-tensor'

/**
 * A gradient on the host to which a segment's tiles contribute: of an input, or of the output of a
 * normalisation that waits for all of it.
 */
export interface HostGradient {
  readonly tensor: number
  /** Position of the normalisation. */
  readonly position: number | undefined
  readonly whole: WholeTensor
  /** Returns the region that a tile has of the gradient. */
  readonly regionOf: (body: Body) => Region
  /** True if other segments have contributed before. */
  readonly isFirst: boolean
  readonly bandOf: (body: Body) => RowBand
  /** Rows that tiles leave to the next one. */
  readonly strip: Buffer | undefined
}

/** Returns the tensors on the host that tiles prefetch to seed their backward. */
export const listSeeds = ({ tensor, gradient, pending, isWritten }: HostTensor): readonly WholeTensor[] =>
  gradient === undefined
    ? []
    : [
        ...(isWritten ? [gradient] : []),
        ...(pending.length === 0 ? [] : [tensor]),
        ...pending.flatMap(({ dy }) => (dy === gradient ? [] : [dy]))
      ]

/**
 * Loads the rows of a gradient on the host that a tile owns, and applies what normalisations have
 * left to be done.
 */
export const seedFromHost = (scope: TileScope, hostTensor: HostTensor, owned: Region): TileTensor => {
  const { builder } = scope
  const { tensor, gradient, pending, isWritten } = hostTensor
  const brought = (whole: WholeTensor, identity: BufferIdentity, seed?: true): TileTensor =>
    copyRowsToDevice(scope, whole, owned, (extents) => freshTile(scope, identity, extents, whole.layout), seed)
  let seed = isWritten ? brought(gradient!, { kind: 'seed' }, true) : undefined
  const source = pending.length === 0 ? undefined : brought(tensor, { kind: 'normalised-tile' })
  for (const { position, dy, sums, slope, scope: inside } of pending) {
    const node = scope.graph.nodes[position] as NormalisationNode
    const { fields, operands } = normalisationKernel(inside, node, position, source!, owned, slope)
    const isAlone = dy === gradient
    const destinationGradient = isAlone ? seed! : brought(dy, { kind: 'output-gradient', node: node.name, form: 'owned-rows' }, true)
    const add = isAlone || seed === undefined ? 0 : 1
    seed ??= destinationGradient
    builder.launch<'normaliseBackward'>(
      { kind: 'normaliseBackward', ...fields, add },
      { ...operands, sums, destinationGradient: destinationGradient.address, sourceGradient: seed.address }
    )
  }
  return seed!
}

/**
 * Rows of a gradient on the host that a tile completes; those that no tile reads have no gradient,
 * and are written by the first to contribute.
 */
export const completeRows = ({ whole, regionOf, isFirst, bandOf }: HostGradient, body: Body): Region => {
  const { lead, rows } = bandOf(body)
  const { from, size, advance } = regionOf(body)
  const [above, count] = isFirst ? [lead, lead + rows] : [0, Math.min(size[1], rows)]
  return { from: [from[0], from[1] - above, 0], size: [size[0], count, whole.extents[3]], advance }
}

/**
 * Adds to a tile what tiles before it have left to it, takes what is complete to the host, and
 * leaves the rest to the next.
 */
export const flushRows = (scope: TileScope, outgoing: HostGradient, body: Body, tile: TileTensor): void => {
  const { whole, isFirst, bandOf, strip } = outgoing
  const { builder, activationBytes } = scope
  const { lead, before, rows, overlapRows: left } = bandOf(body)
  const [batch, channels, height, width] = tile.extents
  const rowsFrom = (from: number, count: number, column = 0): Region => {
    return { from: [0, from, column], size: [batch, count, width], advance: zeroStrides }
  }
  const inStrip = (count: number): Part => wholePart({ ...tile, address: arenaOperand(strip!), extents: [batch, channels, count, width] })
  if (before > 0) copyPart(builder, inStrip(before), { tensor: tile, region: rowsFrom(0, before) }, 1, activationBytes)
  if (left > 0) copyPart(builder, { tensor: tile, region: rowsFrom(rows, left) }, inStrip(left), 0, activationBytes)
  const complete: Part = { tensor: tile, region: rowsFrom(0, Math.min(height, rows)) }
  const place = completeRows(outgoing, body)
  const count = place.size[1]
  if (count === 0) return
  const above = isFirst ? lead : 0
  if (isFirst && above === 0 && rows <= height && width === whole.extents[3]) return copyRowsToHost(scope, complete, whole, place)
  const fresh = (extents: TileTensor['extents']): TileTensor => freshTile(scope, { kind: 'gradient-rows' }, extents, tile.layout)
  const wide = isFirst ? fresh(regionExtents(place, channels)) : copyRowsToDevice(scope, whole, place, fresh)
  if (isFirst) zeroTile(builder, wide, activationBytes)
  const target = { tensor: wide, region: rowsFrom(above, complete.region.size[1], outgoing.regionOf(body).from[2]) }
  if (complete.region.size[1] > 0) copyPart(builder, complete, target, isFirst ? 0 : 1, activationBytes)
  copyRowsToHost(scope, wholePart(wide), whole, place)
}
