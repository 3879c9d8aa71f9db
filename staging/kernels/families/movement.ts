import { kernelFields as fields } from '../kernel-fields'
import type { KernelRows } from '../kernel-row'

/** What moves elements and computes nothing of them, and the loading of images. */
export const movementKernels = {
  /** An activation from one layout to another (flatten and its gradient, export). */
  reorderActivation: {
    fields: fields.activationReorder,
    operands: { source: 'read', destination: 'write' }
  },
  /**
   * `count` channels of every pixel from one dense tile to another of the same batch, height and
   * width. `add` 1 adds; 0 writes the channels, with the padding behind them where they are the
   * last, so whole blocks where fillWholeBlocks (layout.ts).
   */
  copyChannels: {
    fields: fields.copyChannels,
    operands: { source: 'read', destination: 'accumulate' }
  },
  /**
   * Moves pixels as torch.nn.functional.pixel_shuffle, forward and backward; pixel_unshuffle is its
   * inverse.
   */
  pixelShuffle: { fields: fields.pixelShuffle, operands: { source: 'read', destination: 'write' } },
  /**
   * Channel i of group g becomes channel g of group i, of channels / groups groups, by which it is
   * taken back.
   */
  channelShuffle: { fields: fields.channelGroups, operands: { source: 'read', destination: 'write' } },
  /**
   * Channel c of the destination, which has `channels`, is channel c + offset of the source, and
   * zero where the source has none. The channels of the one lie within those of the other.
   */
  shiftChannels: {
    fields: { ...fields.activationReorder, sourceChannels: 'integer', offset: 'integer' },
    operands: { source: 'read', destination: 'write' }
  },
  /**
   * A box of n0 x n1 x n2 rows of n3 contiguous elements, of activations or of parameters; strides
   * in elements. `add` 1 adds to the destination; where `destinationStride0` is 0,
   * it adds all n0 boxes of rows to one, in their order.
   */
  copyBox: {
    fields: fields.copyBox,
    operands: { source: 'read', destination: 'accumulate' }
  },
  /** A tile of a plain strided tensor to a dense tile in `layout` (channel padding is zeroed). */
  packTile: { fields: fields.stridedTile, operands: { source: 'read', destination: 'write' } },
  /** Adds a dense tile in `layout` to a plain strided tensor. */
  unpackAddTile: { fields: fields.stridedTile, operands: { source: 'read', destination: 'accumulate' } },
  /** Zeroes `bytes` bytes. */
  zero: { fields: fields.zero, operands: { destination: 'write' } },
  /**
   * A tile of the step's images: (value - mean[c]) / deviation[c], with each image's crop, flips,
   * turns and colour. The value of a uint8 is pixel / 255, of other element types the pixel.
   * channels <= 64.
   */
  loadImage: {
    fields: fields.loadImage,
    operands: { destination: 'write', batchOrigin: 'index', rowOrigin: 'index', columnOrigin: 'index' }
  }
} as const satisfies KernelRows
