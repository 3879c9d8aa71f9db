import type { Segment } from '../../plans/plan'
import type { BoundaryTensors } from '../../graph/boundary-tensors'
import type { Span } from '../../graph/span'
import type { SharedTensor } from '../../graph/shared-tensor'
import type { ModelScope } from '../scope/scope'
import type { UnplacedOperand } from '../ir/builder'
import type { WholeTensor } from '../ir/tile-tensor'

/** A tensor between two segments, and its gradient unless nothing before it learns. */
export interface Boundary {
  readonly tensor: WholeTensor
  readonly gradient: WholeTensor | undefined
  /** How ranks share it; absent where every rank has all of it. */
  readonly shared: SharedTensor | undefined
  /** The segments that read it of which each rank runs its rows. */
  readonly readInParts: readonly Span[]
}

/**
 * A segment with the whole tensors at its ends, by tensor; the network's input and a loss have
 * none.
 */
export interface BoundSegment {
  readonly segment: Segment
  readonly ends: BoundaryTensors
  readonly boundaries: ReadonlyMap<number, Boundary>
  /** Boundary tensors that are on the host instead. */
  readonly hostTensors: ReadonlyMap<number, HostTensor>
  /**
   * A pass over it, in any mode but that of making outputs once more, which depends on what is
   * wanted of them.
   */
  readonly passIn: (mode: Exclude<ForwardMode, 'rematerialize'>) => Pass
  /** Told before each op of a tile is emitted; absent where nobody asks. */
  readonly atOp?: (direction: Direction, position: number) => void
}

/** Whether a pass computes outputs or gradients. */
export type Direction = 'forward' | 'backward'

/**
 * The gradient of a normalisation's input where it waits for all of that of its output: it is made
 * where it seeds.
 */
export interface PendingGradient {
  readonly position: number
  /** On the host; the gradient of the tensor itself where nothing else reads that. */
  readonly dy: WholeTensor
  readonly sums: UnplacedOperand
  readonly slope: number
  readonly scope: Pick<ModelScope, 'parameters' | 'moments'>
  /** Updates the normalisation's parameters, which this still reads. */
  readonly finish: () => void
}

/**
 * A tensor between segments that is on the host, as is its gradient: tiles take and bring bands of
 * rows.
 */
export interface HostTensor {
  tensor: WholeTensor
  readonly gradient: WholeTensor | undefined
  /** Takes a new place for the tensor, which is made once more. */
  readonly reopen: () => void
  /** Gradients that backward has come across so far and that normalisations have left to do. */
  readonly pending: PendingGradient[]
  /** True if a segment's backward has written to the gradient. */
  isWritten: boolean
}

/**
 * `discard` computes the segment's output and keeps nothing; `keep` keeps what backward reads;
 * `recompute` keeps it and writes no output; `rematerialize` computes outputs once more and keeps
 * nothing; `evaluate` keeps nothing and hands out the loss's input in place of the loss.
 */
export type ForwardMode = 'discard' | 'keep' | 'recompute' | 'rematerialize' | 'evaluate'

/**
 * A pass over a segment: what each op does in it, whatever the tile. Positions are those of nodes
 * in the graph.
 */
export interface Pass {
  readonly mode: ForwardMode
  readonly runs: (position: number) => boolean
  /** Tells whether the op's backward reads a tensor, its input, as this pass leaves it. */
  readonly readsInput: (position: number, tensor: number) => boolean
  /**
   * Tells whether the op is the segment's last and its backward runs on whole tensors, before the
   * tiles.
   */
  readonly endsWhole: (position: number) => boolean
  /** Tells whether the pass reads a tensor at all. */
  readonly isRead: (tensor: number) => boolean
  /** Tells whether a tensor is written to where it lies between segments. */
  readonly writes: (tensor: number) => boolean
  /** The op that may overwrite a tensor with its own output. */
  readonly inPlaceConsumerOf: (tensor: number) => number | undefined
  /** The op that joins a tensor to others along the channels, and in whose output it lies. */
  readonly joinOf: (tensor: number) => number | undefined
  /** Tells whether a rectifier is applied by the op before it. */
  readonly fuses: (position: number) => boolean
  /**
   * Tells whether it is one of which a normalisation before it does all the work, forward and
   * backward.
   */
  readonly isFusedIntoPrevious: (position: number) => boolean
  /** The normalisation that the convolution at a position applies to what it reads. */
  readonly normaliserOf: (position: number) => number | undefined
  /** Tells whether the op is a normalisation that the convolution which reads it applies. */
  readonly isAppliedOnLoad: (position: number) => boolean
  /**
   * Returns the slope by which the op multiplies negative results, for the rectifier after it; 1
   * where there is none.
   */
  readonly negativeSlopeOf: (position: number) => number
}
