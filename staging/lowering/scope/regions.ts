import type { Region, TileTensor, Body, Part } from '../ir/tile-tensor'
import type { Extents } from '../../graph/extents'
import { activationElements, channelBlock, layoutCode, type Layout } from '../../kernels/layout'
import type { KernelOf } from '../../kernels/kernels'
import type { TileRun } from '../../graph/tile-runs'
import type { ModelScope } from './scope'
import { stepIoOperand, indexOperand, offsetBy, zeroStrides, type Strides, type UnplacedOperand } from '../ir/builder'
import type { Interval } from '../../graph/interval'
import { readInterval } from '../../graph/axis-access'
import { memoizeByNumber } from '../../memoize'

const regionBy = ([batch, rows, columns]: Body['runs'], tensor: number, intervalIn: (run: TileRun) => Interval): Region => {
  const [b, h, w] = [intervalIn(batch), intervalIn(rows), intervalIn(columns)]
  return {
    from: [b.from, h.from, w.from],
    size: [b.to - b.from, h.to - h.from, w.to - w.from],
    advance: [batch.advances.get(tensor)!, rows.advances.get(tensor)!, columns.advances.get(tensor)!]
  }
}

/** More tensors than any graph has. */
const tensorLimit = 2 ** 24

/** The body of these runs; plans are made of millions of regions, so each is made once a body. */
export const createBody = (runs: Body['runs']): Body => {
  const read = memoizeByNumber((key: number) => {
    const [index, tensor] = [Math.floor(key / tensorLimit), key % tensorLimit]
    return regionBy(runs, tensor, (run) => readInterval(run.readings[index]!, tensor))
  })
  return {
    runs,
    held: memoizeByNumber((tensor) => regionBy(runs, tensor, (run) => run.held.get(tensor)!)),
    owned: memoizeByNumber((tensor) => regionBy(runs, tensor, (run) => run.owned.get(tensor)!)),
    read: (index, tensor) => read(index * tensorLimit + tensor)
  }
}

const isSame = (a: Strides, b: Strides): boolean => a[0] === b[0] && a[1] === b[1] && a[2] === b[2]

/**
 * Tells whether two regions begin at the same place and have the same size; how they advance from
 * tile to tile does not count.
 */
export const isSameRegion = (a: Region, b: Region): boolean => a === b || (isSame(a.from, b.from) && isSame(a.size, b.size))

/** Returns the place of a region in the tile that holds it. */
export const within = (outer: Region, { from, size }: Region): Region => ({
  from: [from[0] - outer.from[0], from[1] - outer.from[1], from[2] - outer.from[2]],
  size,
  advance: zeroStrides
})

/** A region with all columns of its rows. */
export const wholeRows = ({ extents }: TileTensor, { from, size, advance }: Region): Region => ({
  from: [from[0], from[1], 0],
  size: [size[0], size[1], extents[3]],
  advance
})

/** The extents [B, C, H, W] of a region of a tensor with so many channels. */
export const regionExtents = (region: Region, channels: number): Extents => [region.size[0], channels, region.size[1], region.size[2]]

/** Bytes of a tensor in a layout, channel padding included. */
export const tensorBytes = (layout: Layout, extents: Extents, elementBytes: number): number =>
  activationElements(layout, extents) * elementBytes

/** Elements from one batch element, row, and column to the next. */
const elementStrides = ({ layout, extents: [, channels, height, width] }: Pick<TileTensor, 'layout' | 'extents'>): Strides => {
  const block = channelBlock(layout, channels)
  return [activationElements(layout, [1, channels, height, width]), width * block, block]
}

const dot = (a: Strides, b: Strides): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
const scaleStrides = (a: Strides, b: Strides, factor: number): Strides => [a[0] * b[0] * factor, a[1] * b[1] * factor, a[2] * b[2] * factor]

/** Returns the address at which a region of a tensor begins, in bytes. */
export const regionAddress = (whole: TileTensor, region: Region, elementBytes: number): UnplacedOperand => {
  const strides = elementStrides(whole)
  const [batch, row, column] = region.from
  const from: Strides = [batch - (whole.firstImage ?? 0), row - (whole.firstRow ?? 0), column]
  return offsetBy(whole.address, dot(from, strides) * elementBytes, scaleStrides(region.advance, strides, elementBytes))
}

/**
 * The tile as it lies in a larger one, when it is contiguous there: all rows and columns of some
 * batch elements, or whole rows of one whose channels lie together at each pixel.
 */
export const contiguousSlice = (whole: TileTensor, region: Region, elementBytes: number): TileTensor | undefined => {
  const [, channels, height, width] = whole.extents
  const isBand = region.size[0] === 1 && channelBlock(whole.layout, channels) >= channels
  return region.size[2] === width && (region.size[1] === height || isBand)
    ? { address: regionAddress(whole, region, elementBytes), extents: regionExtents(region, channels), layout: whole.layout }
    : undefined
}

/**
 * A slice of activations that any kernel of the device can read and write, as it begins where that
 * wants it.
 */
export const alignedSlice = (
  { device: { viewAlignment = 1 }, activationBytes }: Pick<ModelScope, 'device' | 'activationBytes'>,
  whole: TileTensor,
  region: Region
): TileTensor | undefined => {
  const slice = contiguousSlice(whole, region, activationBytes)
  if (slice === undefined || slice.address.space === 'none') return slice
  return [slice.address.base, ...slice.address.strides].every((bytes) => bytes % viewAlignment === 0) ? slice : undefined
}

/** Tells whether a region has all rows and columns of a tensor's images. */
export const coversImages = ({ extents }: TileTensor, { size }: Region): boolean => size[1] === extents[2] && size[2] === extents[3]

/** Tells whether a region has the size of all of a tensor. */
export const coversAll = (whole: TileTensor, region: Region): boolean => region.size[0] === whole.extents[0] && coversImages(whole, region)

/** Strides in elements from one batch element, block of channels and row to the next. */
export const boxStrides = ({ layout, extents: [, channels, height, width] }: TileTensor): Strides => {
  const block = channelBlock(layout, channels)
  return [Math.ceil(channels / block) * height * width * block, height * width * block, width * block]
}

/** All of a tensor, as a part of it. */
export const wholePart = (tensor: TileTensor): Part => {
  const [batch, , height, width] = tensor.extents
  return { tensor, region: { from: [tensor.firstImage ?? 0, tensor.firstRow ?? 0, 0], size: [batch, height, width], advance: zeroStrides } }
}

/** The extents and the layout of a tile as fields of a kernel. */
export const tileFields = ({ extents: [batch, channels, height, width], layout }: TileTensor) => ({
  batch,
  channels,
  height,
  width,
  layout: layoutCode(layout)
})

/**
 * Fields and address of a tile's place in a plain tensor of `extents` at byte `offset` of the
 * I/O buffer.
 */
export const inStepIo = (
  tile: TileTensor,
  [, channels, height, width]: Extents,
  region: Region,
  offset: number,
  elementBytes: number
): { readonly fields: Omit<KernelOf<'packTile'>, 'kind'>; readonly address: UnplacedOperand } => {
  const strides: Strides = [channels * height * width, width, 1]
  return {
    fields: { strideBatch: strides[0], strideChannel: height * width, strideHeight: width, ...tileFields(tile) },
    address: stepIoOperand(offset + dot(region.from, strides) * elementBytes, scaleStrides(region.advance, strides, elementBytes))
  }
}

/** Absolute coordinates of a tile's first element, as index operands. */
export const originOperands = ({ from, advance }: Region) => ({
  batchOrigin: indexOperand(from[0], [advance[0], 0, 0]),
  rowOrigin: indexOperand(from[1], [0, advance[1], 0]),
  columnOrigin: indexOperand(from[2], [0, 0, advance[2]])
})
