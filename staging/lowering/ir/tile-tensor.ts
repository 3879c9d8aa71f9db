import type { NodeBuffer } from './buffer-identity'
import type { Extents } from '../../graph/extents'
import type { Layout } from '../../kernels/layout'
import type { TileRun } from '../../graph/tile-runs'
import type { Buffer, Strides, UnplacedOperand } from './builder'

/**
 * The place of a tile's part of a tensor: first coordinates, sizes, and the advance from tile to
 * tile, along B, H, W, in elements.
 */
export interface Region {
  readonly from: Strides
  readonly size: Strides
  readonly advance: Strides
}

/** A tile of a tensor (or a whole one), densely packed in `layout`. */
export interface TileTensor {
  readonly address: UnplacedOperand
  readonly extents: Extents
  readonly layout: Layout
  /** The image and the row with which it begins, where it has not all of them; 0 where absent. */
  readonly firstImage?: number
  readonly firstRow?: number
}

/** A tensor between segments, all of it in the arena, or in the host pool. */
export interface WholeTensor extends TileTensor {
  readonly buffer: Buffer
  readonly identity: NodeBuffer
}

/** The runs along B, H, W of which each combination of tiles is one body of a Program. */
export interface Body {
  readonly runs: readonly [TileRun, TileRun, TileRun]
  /** The region of a tensor that a tile holds, halo included. */
  readonly held: (tensor: number) => Region
  /** The region of a tensor that a tile owns. */
  readonly owned: (tensor: number) => Region
  /** The region of a tensor that the segment's op `index` reads. */
  readonly read: (index: number, tensor: number) => Region
}

/** A part of a tensor. */
export interface Part {
  readonly tensor: TileTensor
  readonly region: Region
}

/** The source of a prefetched buffer: a part of the images, or of a tensor on the host. */
export type PrefetchSource = 'images' | WholeTensor

/**
 * One of the two slots of double buffering, which tiles take in turns. What a tile prefetches has
 * places of its slot, and is loaded while the tile before it is computed; what it stores on the
 * host goes while the next one is.
 */
export interface BufferSlot {
  readonly places: ReadonlyMap<PrefetchSource, Buffer>
  /** Recorded by who computes, once a tile is computed. */
  readonly computed: number
  /** Recorded by the to-host engine, once all is gone that a tile takes. */
  readonly stored: number
  /** Buffers on their way to the host. */
  readonly storing: Buffer[]
}
