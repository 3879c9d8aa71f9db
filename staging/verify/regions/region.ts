import type { KernelKind, KernelOf, OperandsOf } from '../../kernels/kernels'
import { activationElements, layouts } from '../../kernels/layout'

/** `count` times, `stride` bytes apart. */
export interface StridedRepeat {
  readonly count: number
  readonly stride: number
}

/** The region of an operand that a kernel touches. */
export type ByteRegion =
  /**
   * Runs of `run` contiguous bytes, repeated; the outermost repetition first. The first begins
   * `start` bytes (else 0) after the address.
   */
  | { readonly kind: 'bytes'; readonly start?: number; readonly repeats: readonly StridedRepeat[]; readonly run: number }
  /** All of the buffer from here on, as much as the device wants (scratch, indices). */
  | { readonly kind: 'rest' }
  /** A coordinate of 0 .. limit. */
  | { readonly kind: 'index'; readonly limit: number }

/**
 * The regions of each operand of a family's kernels, from their definition and not from the C++,
 * so that a mistake in one is refused by the other. Elements of activations and of parameters may
 * differ in bytes; values of the I/O buffer have those of parameters.
 */
export type RegionRows<Kinds extends KernelKind> = {
  readonly [K in Kinds]: (
    kernel: KernelOf<K>,
    activationBytes: number,
    parameterBytes: number
  ) => { readonly [O in OperandsOf<K>]: ByteRegion }
}

/** Bytes of one float64. */
export const float64Bytes = 8

/** Returns `run` bytes from the address on. */
export const contiguous = (run: number): ByteRegion => ({ kind: 'bytes', repeats: [], run })
/** All that is left of the buffer. */
export const rest: ByteRegion = { kind: 'rest' }
/** Returns a coordinate of 0 .. limit. */
export const index = (limit: number): ByteRegion => ({ kind: 'index', limit })

/** Returns a dense tensor [batch, channels, height, width] of the layout with this code. */
export const activation = (
  layout: number,
  [batch, channels, height, width]: readonly [number, number, number, number],
  elementBytes: number
) => {
  const known = layouts[layout]
  return contiguous(known === undefined ? NaN : activationElements(known, [batch, channels, height, width]) * elementBytes)
}

/** Fields of a dense tile. */
export type TileFields = Record<'batch' | 'channels' | 'height' | 'width' | 'layout', number>
/** Returns a whole dense tile. */
export const tile = ({ batch, channels, height, width, layout }: TileFields, elementBytes: number): ByteRegion =>
  activation(layout, [batch, channels, height, width], elementBytes)

/** Returns a tile's place in a plain tensor, whose strides are in elements. */
export const strided = (
  {
    batch,
    channels,
    height,
    width,
    strideBatch,
    strideChannel,
    strideHeight
  }: TileFields & Record<'strideBatch' | 'strideChannel' | 'strideHeight', number>,
  elementBytes: number
): ByteRegion => ({
  kind: 'bytes',
  repeats: [
    { count: batch, stride: strideBatch * elementBytes },
    { count: channels, stride: strideChannel * elementBytes },
    { count: height, stride: strideHeight * elementBytes }
  ],
  run: width * elementBytes
})

/** Fields of a sliding window. */
export type WindowFields = Record<'batch' | 'inChannels' | 'inHeight' | 'inWidth' | 'outHeight' | 'outWidth', number>
/** Returns the tile that a window slides over. */
export const windowSource = (k: WindowFields, layout: number, elementBytes: number): ByteRegion =>
  activation(layout, [k.batch, k.inChannels, k.inHeight, k.inWidth], elementBytes)
/** Returns the tile that a window makes. */
export const windowDestination = (k: WindowFields, channels: number, layout: number, elementBytes: number): ByteRegion =>
  activation(layout, [k.batch, channels, k.outHeight, k.outWidth], elementBytes)

/** Returns the coordinates at which a tile may begin in a tensor of the full extents. */
export const origin = ({ height, width, fullHeight, fullWidth }: TileFields & Record<'fullHeight' | 'fullWidth', number>) => ({
  batchOrigin: index(Infinity),
  rowOrigin: index(fullHeight - height),
  columnOrigin: index(fullWidth - width)
})
