import type { Buffer, UnplacedOperand } from '../ir/builder'
import type { Region, TileTensor, WholeTensor } from '../ir/tile-tensor'
import type { NodeParameters, ParameterTensor } from '../scope/parameter-tensor'
import type { HostGradient } from './host-gradients'
import type { TilePass } from './tile-pass'

/** The buffers of the gradients that leave a segment's tiles. */
export interface BoundGradients {
  /**
   * The whole gradient of an input of the segment, 'stepIo' for the network's own; undefined
   * where none is wanted.
   */
  readonly inputOf: (tensor: number) => WholeTensor | 'stepIo' | undefined
  /**
   * Tells whether this segment's backward is the first to contribute to it, and tiles need not add
   * to it.
   */
  readonly isFirst: (tensor: number) => boolean
  /**
   * Returns, for a normalisation whose moments go beyond a tile, the whole gradient of its output.
   */
  readonly pendingOf: (position: number) => WholeTensor | 'host' | undefined
  /** Gradients that are stored on the host, band by band. */
  readonly hostGradients: readonly HostGradient[]
  /** Returns, for a normalisation, the sums for the gradients of its parameters and input. */
  readonly sumsAt: (position: number, region: Region) => UnplacedOperand
  /**
   * Returns the buffer in which a parameter's gradient is summed over the tiles and micro-batches.
   */
  readonly sumOf: (parameter: ParameterTensor) => Buffer
  /** True if several tiles add to the sums. */
  readonly partial: boolean
  /** Weights as the gradient of the input reads them. */
  readonly backwardWeights: (weight: ParameterTensor) => UnplacedOperand
  /** Told when this tile has no more use for a layer's parameters. */
  readonly done: (parameters: NodeParameters) => void
}

/** The place to which a tile's gradient of a parameter goes. */
export interface ParameterTarget {
  readonly address: UnplacedOperand
  /** Adds what was written to the sum over tiles and micro-batches. */
  readonly add: () => void
}

/** A tile on its way backward. */
export interface BackwardTile extends Omit<TilePass, 'pass'> {
  readonly gradients: BoundGradients
  readonly targetOf: (parameters: NodeParameters | undefined, role: 'weight' | 'bias') => ParameterTarget
  /** Gradients that a tensor's readers have contributed so far, by tensor. */
  readonly received: Map<number, TileTensor>
  /**
   * Gradients of the outputs of normalisations that wait on the host for all of it, by position.
   */
  readonly waiting: Map<number, TileTensor>
  /** Inputs of the segment to whose gradients the tile has contributed. */
  readonly given: Set<number>
}
