import type { Shape } from '../shapes/shape'

/** Tile counts along batch, height and width. */
export interface PlanGrid {
  readonly B: number
  readonly H: number
  readonly W: number
}

/** The half-open range [from, to) of a plan's `order`, which runs tile by tile. */
export interface PlanSegment {
  readonly from: number
  readonly to: number
  /** Name of the segment's last layer: its output is what is kept. */
  readonly checkpoint: string
  readonly grid: PlanGrid
  /**
   * false keeps what backward needs, true computes it again; what is tiled is computed again, save
   * in the last segment.
   */
  readonly recompute: boolean
  /**
   * Weights that backward wants in another layout are copied once, or by each tile for itself,
   * which takes time and leaves memory.
   */
  readonly reorder: 'once' | 'each-tile'
  /**
   * Names of the convolutions that run by Winograd, which is faster, takes more memory and rounds
   * differently; the others run directly.
   */
  readonly winograd?: readonly string[]
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
   * Names of layers whose outputs leave the segment for the host, where they and their gradients
   * are: tiles store and load bands of their rows.
   */
  readonly hostTensors?: readonly string[]
  /**
   * Nothing that leaves the segment is saved for backward: before the backward of the segment that
   * follows such ones, they run forward again.
   */
  readonly rematerialize?: true
}

/**
 * A tensor that waits on the host from forward to backward. Timepoints are 'forward LAYER' and
 * 'backward LAYER'; a transfer starts right before its timepoint. Where a tensor is listed again,
 * it waits once more between two uses in backward: the host still has it, `swapOut` is the same as
 * `freed`, and only the swap-in moves it.
 */
export interface PlanSwapInterval {
  /** 'output of LAYER', 'indices of LAYER' (of a max pool) or 'input of LAYER'. */
  readonly tensor: string
  readonly swapOut: string
  /**
   * The timepoint from which on the tensor's place on the device is another's; computing waits
   * there for the end of the swap-out.
   */
  readonly freed: string
  readonly swapIn: string
}

/**
 * Virtual placement: each buffer has addresses of its own, to which pages of memory are mapped
 * while it lives; a page has a multiple of 4096 bytes.
 */
export interface PlanPlacement {
  readonly allocator: 'virtual'
  readonly pageBytes: number
}

/** The predicted figures of a plan; nothing here decides anything. */
export interface PlanFigures {
  /** Peak of host memory in bytes: the most that waits on the host at once. */
  readonly peakHostBytes?: number
  /** Peak of device memory in bytes with every activation kept: that of strategy `plain`. */
  readonly plainPeakBytes?: number
  readonly stepMilliseconds?: number
  /** Lower bound of a step's time in milliseconds, in any plan. */
  readonly lowerBoundMilliseconds?: number
  /**
   * Work that overlapping tiles compute twice, as a share of the forward pass; below 0 where tiles
   * leave out more that nothing reads.
   */
  readonly haloOverhead?: number
}

/**
 * The strategies that make plans, as on the command line; `auto` is the fastest plan of all of
 * them.
 */
export const strategyNames = [
  'auto',
  'plain',
  'chen',
  'chen-sqrt',
  'sft',
  'sft-offload',
  'vdnn',
  'lms',
  'lms-hybrid',
  'dymem',
  'window',
  'greedy',
  'dynprog'
] as const
export type StrategyName = (typeof strategyNames)[number]
/** Names of what made a plan; a person who changes it need not say so. */
export const planStrategies = [...strategyNames, 'by hand'] as const
export const planPrecisions = ['float32', 'tf32', 'bf16', 'float64'] as const

/**
 * A plan as a person reads, edits and commits it: what it was made for, what it decides, what is
 * predicted of it.
 */
export interface Plan {
  readonly model: string
  /** [B, C, H, W] */
  readonly input: Shape
  /**
   * One text a layer (see layerText), in the model's order, directives left out; the loss that
   * training appends is the last.
   */
  readonly layers: readonly string[]
  /** Positions in `layers`, in the order in which they run. */
  readonly order: readonly number[]
  readonly strategy: string
  readonly device: { readonly name: string; readonly precision: string; readonly threads: number }
  /** The objective in words, such as "train with sgd": it changes the bytes. */
  readonly objective: string
  /**
   * Hash of names, ops, arguments and shapes; the layers and the input that a person can read say
   * the same but the names.
   */
  readonly graph: string
  /** Budget of device memory in bytes; null for no limit. */
  readonly budget: number | null
  /** Peak of device memory in bytes: the highest address that a step touches, plus one. */
  readonly peak: number
  readonly segments: readonly PlanSegment[]
  /** Tensors that wait on the host for a while; all else that is saved stays on the device. */
  readonly swapSchedule?: readonly PlanSwapInterval[]
  /** Absent where each buffer has its offset in memory (`static`). */
  readonly placement?: PlanPlacement
  readonly predicted: PlanFigures
}
