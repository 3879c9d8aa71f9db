import { tileIdentity } from '../ir/buffer-identity'
import { extentsOfTensor } from '../../graph/graph'
import type { UnplacedOperand } from '../ir/builder'
import type { Region, TileTensor } from '../ir/tile-tensor'
import { copyPart, freshTile } from '../scope/copies'
import { wholePart, isSameRegion, regionExtents, alignedSlice, wholeRows, within } from '../scope/regions'
import type { TileScope } from '../scope/scope'
import type { HostTensor } from './bound-segment'
import { copyRowsToDevice, copyRowsToHost } from './host-rows'
import { createImageTile } from './image-tile'
import { accumulateMoments } from './moments'
import { inPlaceConsumerIn } from './output-buffers'
import type { TilePass } from './tile-pass'

/** A tile on its way forward. */
export interface ForwardTile extends TilePass {
  /** The place of each tensor that the tile makes. */
  readonly outputBuffers: ReadonlyMap<number, UnplacedOperand>
  /** The tile of each tensor so far. */
  readonly tiles: Map<number, TileTensor>
}

/**
 * Copies a tile's region of a tensor on the host to the device, in whole rows; `allocate` is where
 * it goes when it is copied for this tile alone.
 */
const copyRegionToDevice = (scope: TileScope, { tensor }: HostTensor, region: Region, allocate: () => TileTensor): TileTensor => {
  const rows = wholeRows(tensor, region)
  if (isSameRegion(rows, region)) return copyRowsToDevice(scope, tensor, region, allocate)
  const band = copyRowsToDevice(scope, tensor, rows, (extents) => freshTile(scope, { kind: 'whole-rows' }, extents, tensor.layout))
  const tile = allocate()
  copyPart(scope.builder, { tensor: band, region: within(rows, region) }, wholePart(tile), 0, scope.activationBytes)
  return tile
}

/**
 * A place for the tile of a tensor that comes from outside: that of the op which overwrites it, or
 * one of its own.
 */
const allocateInput = ({ scope, bound, body, pass, outputBuffers }: ForwardTile, tensor: number): TileTensor => {
  const { graph, layouts } = scope
  const [extents, layout] = [regionExtents(body.held(tensor), extentsOfTensor(graph, tensor)[1]), layouts[tensor]!]
  const consumer = inPlaceConsumerIn(bound, body, pass, tensor)
  if (consumer !== undefined) return { address: outputBuffers.get(consumer + 1)!, extents, layout }
  const reader = graph.nodes[graph.readers[tensor]!.find((position) => position >= bound.segment.from)!]!
  return freshTile(scope, tileIdentity('input', reader.name), extents, layout)
}

/**
 * The tile of a tensor that comes from outside: seen in place, copied, or loaded; left empty where
 * nothing reads it.
 */
const createInputTile = (tile: ForwardTile, tensor: number): TileTensor => {
  const { scope, bound, body, pass } = tile
  const region = body.held(tensor)
  const hostTensor = bound.hostTensors.get(tensor)
  const whole = hostTensor === undefined ? bound.boundaries.get(tensor)?.tensor : undefined
  const view = whole && alignedSlice(scope, whole, region)
  if (view !== undefined) return view
  const allocate = (): TileTensor => allocateInput(tile, tensor)
  if (tensor === 0) return createImageTile(scope, region, allocate, pass.isRead(0))
  if (pass.isRead(tensor) && hostTensor !== undefined) return copyRegionToDevice(scope, hostTensor, region, allocate)
  const input = allocate()
  if (pass.isRead(tensor)) copyPart(scope.builder, { tensor: whole!, region }, wholePart(input), 0, scope.activationBytes)
  return input
}

/** The tile of a tensor, which is fetched when an op first reads it. */
const getTile = (tile: ForwardTile, tensor: number): TileTensor => {
  const known = tile.tiles.get(tensor)
  if (known !== undefined) return known
  const created = createInputTile(tile, tensor)
  tile.tiles.set(tensor, created)
  if (tensor === 0) accumulateMoments(tile, tensor, created)
  return created
}

/**
 * A part of a tile by itself, for a kernel that wants it densely packed; left empty unless
 * `wanted`.
 */
const packedPart = (scope: TileScope, tile: TileTensor, region: Region, reader: string, wanted: boolean): TileTensor => {
  const view = alignedSlice(scope, tile, region)
  if (view !== undefined) return view
  const copy = freshTile(scope, tileIdentity('operand', reader), regionExtents(region, tile.extents[1]), tile.layout)
  if (wanted) copyPart(scope.builder, { tensor: tile, region }, wholePart(copy), 0, scope.activationBytes)
  return copy
}

/** Returns the tiles that the op at a position reads of each of its inputs. */
export const operandTiles = (tile: ForwardTile, position: number): readonly TileTensor[] => {
  const { scope, bound, body, pass } = tile
  const { name, inputs } = scope.graph.nodes[position]!
  return inputs.map((tensor) => {
    const [whole, region] = [body.held(tensor), body.read(position - bound.segment.from, tensor)]
    const input = getTile(tile, tensor)
    return isSameRegion(whole, region)
      ? input
      : packedPart(scope, input, within(whole, region), name, pass.runs(position) || pass.readsInput(position, tensor))
  })
}

/** Writes the owned part of an output where it belongs. */
export const storeOutput = ({ scope, bound, body }: ForwardTile, tensor: number, tile: TileTensor): void => {
  const [region, owned] = [body.held(tensor), body.owned(tensor)]
  const part = { tensor: tile, region: within(region, owned) }
  const hostTensor = bound.hostTensors.get(tensor)
  if (hostTensor !== undefined) return copyRowsToHost(scope, part, hostTensor.tensor, owned)
  const whole = bound.boundaries.get(tensor)!.tensor
  if (tile.address.space === 'arena' && tile.address.buffer === whole.buffer) return
  copyPart(scope.builder, part, { tensor: whole, region: owned }, 0, scope.activationBytes)
}
