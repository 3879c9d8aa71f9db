import type { TrainingParameters } from '../../graph/objective'
import type { Layout, TransformedLayouts } from '../../kernels/layout'
import type { Buffer } from '../ir/builder'

/**
 * A parameter in the arena; its gradient has the same layout, and so has its optimizer state, or
 * slices of it.
 */
export interface ParameterTensor {
  readonly name: string
  readonly buffer: Buffer
  readonly shape: readonly number[]
  readonly layout: Layout
  /** The layout that the layer reads. */
  readonly forwardLayout: Layout
  /** The layout that the gradient of the layer's input reads. */
  readonly backwardLayout: Layout
  readonly groups: number
  readonly elements: number
  /**
   * Elements that this rank updates, and has optimizer state of: all, or those of its slices, with
   * what fills them up to one size.
   */
  readonly updatedElements: number
  /**
   * As what Winograd reads them; undefined unless they are the weights of a convolution that the
   * device also has by it.
   */
  readonly transformed: TransformedLayouts | undefined
  /** The directions in which Winograd reads them as they are stored where nothing is tiled. */
  readonly storedForWinograd: readonly (keyof TransformedLayouts)[]
  /**
   * True if they are the weights of a convolution that the device also has as one that normalises
   * what it reads.
   */
  readonly normalisable: boolean
  /** How the parameter is trained; undefined where it is frozen. */
  readonly learning: TrainingParameters | undefined
  /**
   * The parameter's gradient over the micro-batches of an update, where the update has a section of
   * its own.
   */
  readonly gradient: Buffer | undefined
  /**
   * The sum of gradients over the micro-batches of all ranks, where ranks share them: of each piece
   * of it a rank keeps a slice, at the piece's beginning, or, where it updates slices alone, one
   * after the other.
   */
  readonly sum: Buffer | undefined
}

/** Convolutions and linear layers have a weight; normalisations may have none. */
export interface NodeParameters {
  readonly weight: ParameterTensor | undefined
  readonly bias: ParameterTensor | undefined
  /** Running statistics. */
  readonly mean: ParameterTensor | undefined
  readonly variance: ParameterTensor | undefined
}
