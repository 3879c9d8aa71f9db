import type { BufferIdentity, NodeBuffer } from '../ir/buffer-identity'
import type { Extents } from '../../graph/extents'
import { extentsOfTensor } from '../../graph/graph'
import type { ImageRows, SharedTensor } from '../../graph/shared-tensor'
import { channelBlock, layoutCode, type Layout } from '../../kernels/layout'
import type { BufferRole, ImageRanges, TensorShare } from '../../program/program-buffer'
import { arenaOperand, type Buffer, type Builder, type UnplacedOperand } from '../ir/builder'
import type { Part, TileTensor, WholeTensor } from '../ir/tile-tensor'
import { boxStrides, regionAddress, tensorBytes, tileFields } from './regions'
import type { ModelScope } from './scope'

/** Copies a part of activations to a part of others of the same layout, or adds it there. */
export const copyPart = (builder: Builder, from: Part, to: Part, add: 0 | 1, elementBytes: number): void => {
  const { layout, extents } = from.tensor
  const block = channelBlock(layout, extents[1])
  const [batch, rows, columns] = from.region.size
  const [source, destination] = [boxStrides(from.tensor), boxStrides(to.tensor)]
  builder.launch<'copyBox'>(
    {
      kind: 'copyBox',
      n0: batch,
      n1: Math.ceil(extents[1] / block),
      n2: rows,
      n3: columns * block,
      sourceStride0: source[0],
      sourceStride1: source[1],
      sourceStride2: source[2],
      destinationStride0: destination[0],
      destinationStride1: destination[1],
      destinationStride2: destination[2],
      add,
      ofParameters: 0
    },
    { source: regionAddress(from.tensor, from.region, elementBytes), destination: regionAddress(to.tensor, to.region, elementBytes) }
  )
}

/** Zeroes all of a buffer. */
export const zeroBuffer = (builder: Builder, buffer: Buffer): void =>
  builder.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: arenaOperand(buffer) })

/** Zeroes all of a tile. */
export const zeroTile = (builder: Builder, { address, layout, extents }: TileTensor, elementBytes: number): void =>
  builder.launch<'zero'>({ kind: 'zero', bytes: tensorBytes(layout, extents, elementBytes) }, { destination: address })

/** A tile in another layout, copied where it has not that layout already. */
export const reorderTile = (builder: Builder, source: TileTensor, destination: TileTensor): void => {
  const [batch, channels, height, width] = source.extents
  builder.launch<'reorderActivation'>(
    {
      kind: 'reorderActivation',
      ...{ batch, channels, height, width },
      sourceLayout: layoutCode(source.layout),
      destinationLayout: layoutCode(destination.layout)
    },
    { source: source.address, destination: destination.address }
  )
}

/** A tile of activations in a new buffer, whose bytes nothing has written. */
export const freshTile = (scope: ModelScope, identity: BufferIdentity, extents: Extents, layout: Layout): TileTensor => ({
  address: arenaOperand(scope.builder.buffer(identity, tensorBytes(layout, extents, scope.activationBytes))),
  extents,
  layout
})

/** The tile itself where it has this layout, else a copy. */
export const inLayout = (
  scope: ModelScope,
  tile: TileTensor,
  layout: Layout,
  identity: BufferIdentity = { kind: 'reordered-operand' }
): TileTensor => {
  if (tile.layout === layout) return tile
  const copy = freshTile(scope, identity, tile.extents, layout)
  reorderTile(scope.builder, tile, copy)
  return copy
}

/** Whose type the elements of a tensor have. */
export type ElementsOf = 'activations' | 'parameters'

/** A copy of `count` contiguous elements. */
const oneRow = (count: number, elements: ElementsOf) =>
  ({
    kind: 'copyBox',
    n0: 1,
    n1: 1,
    n2: 1,
    n3: count,
    sourceStride0: count,
    sourceStride1: count,
    sourceStride2: count,
    destinationStride0: count,
    destinationStride1: count,
    destinationStride2: count,
    add: 0,
    ofParameters: elements === 'parameters' ? 1 : 0
  }) as const

/** `count` contiguous elements from one place to another, copied or added. */
export const copyElements = (
  launch: Builder['networkLaunch'],
  count: number,
  source: UnplacedOperand,
  destination: UnplacedOperand,
  add: 0 | 1,
  elements: ElementsOf = 'parameters'
): void => launch({ ...oneRow(count, elements), add }, { source, destination })

/**
 * Adds `parts` times `count` elements, which lie one after the other, to one place, in their order.
 */
export const addParts = (
  launch: Builder['networkLaunch'],
  parts: number,
  count: number,
  source: UnplacedOperand,
  destination: UnplacedOperand,
  elements: ElementsOf = 'parameters'
): void => launch({ ...oneRow(count, elements), add: 1, ...(parts > 1 && { n0: parts, destinationStride0: 0 }) }, { source, destination })

/** A plain tensor of the parameters' type to one of the activations'. */
export const castTile = (builder: Builder, source: TileTensor, destination: TileTensor): void => {
  const [, channels, height, width] = source.extents
  const strides = { strideBatch: channels * height * width, strideChannel: height * width, strideHeight: width }
  builder.launch<'packTile'>(
    { kind: 'packTile', ...strides, ...tileFields(destination) },
    { source: source.address, destination: destination.address }
  )
}

/** Images and rows as Programs have them. */
export const toRanges = ({ images, rows }: ImageRows): ImageRanges => ({ images: [images.from, images.to], rows: [rows.from, rows.to] })

/** What this rank has of a tensor that ranks share; undefined where it has all of it. */
const makeShare = (
  { graph, layouts, activationBytes }: Pick<ModelScope, 'graph' | 'layouts' | 'activationBytes'>,
  tensor: number,
  shared: SharedTensor | undefined
): TensorShare | undefined => {
  if (graph.shard === undefined || shared === undefined) return undefined
  const { owned, held } = shared.partOf(graph.shard.index)
  const last = shared.partOf(shared.ranks - 1).owned
  const of = { images: last.images.to, rows: last.rows.to }
  const [, channels, , width] = extentsOfTensor(graph, tensor)
  const rowBytes = width * channelBlock(layouts[tensor]!, channels) * activationBytes
  return shared.isSummed
    ? { kind: 'sum', own: toRanges(owned), of }
    : { kind: 'part', held: toRanges(held), rowBytes, own: toRanges(owned), of, isSent: shared.readInParts.length > 0 }
}

/** A place for all of a tensor of the graph, or for what of it a rank has. */
export const wholeTensor = (
  scope: Pick<ModelScope, 'graph' | 'layouts' | 'builder' | 'activationBytes'>,
  tensor: number,
  identity: NodeBuffer,
  role: BufferRole,
  shared?: SharedTensor
): WholeTensor => {
  const [batch, channels, height, width] = extentsOfTensor(scope.graph, tensor)
  const share = makeShare(scope, tensor, shared)
  const { images, rows }: ImageRanges = share?.kind === 'part' ? share.held : { images: [0, batch], rows: [0, height] }
  const [layout, extents] = [scope.layouts[tensor]!, [images[1] - images[0], channels, rows[1] - rows[0], width] as const]
  const buffer = { ...scope.builder.buffer(identity, tensorBytes(layout, extents, scope.activationBytes), role), ...(share && { share }) }
  return {
    buffer,
    identity,
    address: arenaOperand(buffer),
    extents,
    layout,
    ...(images[0] > 0 && { firstImage: images[0] }),
    ...(rows[0] > 0 && { firstRow: rows[0] })
  }
}
