/** Tile counts along batch, height and width. */
export interface PlanGrid {
  readonly B: number
  readonly H: number
  readonly W: number
}

/** Into how many parts ranks cut what a segment makes, along batch and height. */
export interface PlanShards {
  readonly B: number
  readonly H: number
}

/**
 * The half-open range [from, to) of a plan's `order`, which runs tile by tile. `Place` is how a
 * layer is told: by its name, or by its position in `order`.
 */
export interface PlanSegment<Place = string> {
  readonly from: number
  readonly to: number
  readonly grid: PlanGrid
  /**
   * false keeps what backward needs, true computes it again; what is tiled is computed again, save
   * in the last segment.
   */
  readonly recompute: boolean
  /**
   * Weights that are read in another layout than they are stored in, or rounded, are copied once
   * for all tiles, or by each tile for itself, which takes time and leaves memory.
   */
  readonly reorder: 'once' | 'each-tile'
  /**
   * The convolutions that run by Winograd, which is faster, takes more memory and rounds
   * differently; the others run directly.
   */
  readonly winograd?: readonly Place[]
  /**
   * Those of them whose result is made 64 channels at a time, image by image: only so many channels
   * of their weights are transformed at once, by each tile for itself, which takes less memory and
   * more time.
   */
  readonly slicedWinograd?: readonly Place[]
  /**
   * The 1x1 convolutions that normalise what they read, strip by strip, by the normalisation before
   * them, and rectify it: what they read is stored neither for them nor for backward. Gradients of
   * their weights round differently.
   */
  readonly normaliseOnLoad?: readonly Place[]
  /**
   * Bytes of scratch memory that a convolution may take: each takes the fastest algorithm within
   * them, and the direct one where this is absent.
   */
  readonly workspace?: number
  /**
   * Double buffering: what a tile reads, of the images or in bands of rows from the host, is loaded
   * while the tile before it is computed, which takes a second buffer; bands that it stores on the
   * host go while the next tile is computed.
   */
  readonly prefetch?: true
  /**
   * The layers whose outputs leave the segment for the host, where they and their gradients are:
   * tiles store and load bands of their rows.
   */
  readonly hostTensors?: readonly Place[]
  /**
   * Nothing that leaves the segment is saved for backward: before the backward of the segment that
   * follows such ones, they run forward again.
   */
  readonly rematerialize?: true
  /**
   * Where ranks share batches: B times H is their number where each runs its part of the segment's
   * images and rows; both are 1 where every rank runs the whole segment alike. Absent where ranks
   * share what has a part for each.
   */
  readonly shards?: PlanShards
}

/**
 * A tensor that waits on the host from forward to backward. A transfer starts right before its
 * timepoint. `Timepoint` is how a timepoint is told: as 'forward LAYER' or 'backward LAYER', or as
 * a number, which counts a step's layers as they run: 0 .. n - 1 forward, n .. 2n - 1 backward,
 * from the last layer on. Where a tensor is listed again, it waits once more between two uses in
 * backward: the host still has it, `swapOut` is the same as `freed`, and only the swap-in moves it.
 */
export interface PlanSwapInterval<Timepoint = string> {
  /** 'output of LAYER', 'indices of LAYER' (of a max pool) or 'input of LAYER'. */
  readonly tensor: string
  readonly swapOut: Timepoint
  /**
   * The timepoint from which on the tensor's place on the device is another's; computing waits
   * there for the end of the swap-out.
   */
  readonly freed: Timepoint
  /** Computing waits for its end where backward first reads the tensor. */
  readonly swapIn: Timepoint
}

/**
 * Virtual placement: each buffer has addresses of its own, to which pages of memory are mapped
 * while it lives (Hayakawa 2020, section 4); a page has a multiple of 4096 bytes.
 */
export interface PlanPlacement {
  readonly allocator: 'virtual'
  readonly pageBytes: number
}

/**
 * A plan: the decisions, and all that lowering needs beside a graph and a device. Layers and
 * timepoints are told by names, as in a plan file, or by numbers, as staging and lowering do.
 */
export interface Plan<Place = string> {
  /** Positions in the model's flattened layers, in the order in which they run. */
  readonly order: readonly number[]
  readonly segments: readonly PlanSegment<Place>[]
  /** What waits on the host for a while; all else that is kept stays on the device. */
  readonly swapSchedule?: readonly PlanSwapInterval<Place>[]
  /** Absent where each buffer has its offset in one arena (`static`). */
  readonly placement?: PlanPlacement
  /**
   * Where ranks add gradients, they travel and are added while the backward pass goes on: each as
   * soon as it is complete, or so many pieces wherever a gradient is complete or rows or statistics
   * were exchanged, from the first gradient on, and the others at the end; absent where all travel
   * after it.
   */
  readonly overlapReduction?: true | readonly number[]
  /**
   * Where ranks share rows, a segment's tiles that have rows for other ranks run first, and those
   * travel while the others run; absent where rows travel after all tiles.
   */
  readonly edgeTilesFirst?: true
  /**
   * Momentum, or Adam's moments, wait on the host between updates, but for those of few bytes:
   * what is updated by them is so as soon as its gradient is complete, or so many pieces of at most
   * 1 MiB are wherever one is, in turn, and the others at the end; absent where they stay on the
   * device.
   */
  readonly offloadOptimizer?: true | readonly number[]
  /**
   * Weights wait on the host but for those of few bytes, and come before they are used: so many
   * bytes of them, or those of one layer, are on the device at once; absent where all stay there.
   */
  readonly offloadWeights?: number
}
