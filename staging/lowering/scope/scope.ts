import type { DeviceModel } from '../../devices/device-model'
import type { Span } from '../../graph/span'
import type { StepGraph } from '../../graph/step-graph'
import type { Layout, TransformedLayouts } from '../../kernels/layout'
import type { Buffer, Builder, UnplacedOperand } from '../ir/builder'
import type { BufferSlot, TileTensor } from '../ir/tile-tensor'
import type { NodeParameters, ParameterTensor } from './parameter-tensor'

/** Byte offsets in the I/O buffer of a step, or of an evaluation. */
export interface StepIoLayout {
  readonly target: number
  /** Undefined where rows have none: in an evaluation each counts once. */
  readonly rowWeights: number | undefined
  readonly classWeights: number
  readonly normaliser: number
  readonly classes: number
  readonly scores: number
  readonly loss: number
  /** Where what overlaps have to do with the loss is added: apart where it is evaluated. */
  readonly lossOfOverlap: number
  readonly input: number
  readonly inputGradient: number
  readonly gradient: (parameter: string) => number
}

/** What lowering a graph on a device needs everywhere. */
export interface ModelScope {
  readonly graph: StepGraph
  readonly device: DeviceModel
  /** Bytes of an element of an activation or of its gradient. */
  readonly activationBytes: number
  /**
   * Bytes of an element of a parameter, its gradient and its optimizer state, and of what a step
   * exchanges.
   */
  readonly parameterBytes: number
  readonly builder: Builder
  /** By tensor. */
  readonly layouts: readonly Layout[]
  /** By node. */
  readonly parameters: readonly (NodeParameters | undefined)[]
  /**
   * By tensor: whether its gradient is wanted, because something that it is made of learns (or it
   * is the input, whose own is wanted).
   */
  readonly requiresGrad: readonly boolean[]
  /**
   * By node: the moments with which it normalises; of a segment also those made of its frozen
   * normalisations' running statistics.
   */
  readonly moments: ReadonlyMap<number, Buffer>
  readonly stepIo: StepIoLayout
}

/** Whether a gradient is wanted of anything that the nodes of a span make. */
export const wantsGradient = ({ requiresGrad }: Pick<ModelScope, 'requiresGrad'>, { from, to }: Span): boolean =>
  requiresGrad.slice(from + 1, to + 1).some((wanted) => wanted)

/** What Winograd reads in a direction: weights, asked for just before, and their layout. */
interface WeightsForWinograd {
  readonly layout: Layout
  readonly weights: () => UnplacedOperand
}

type WinogradWeights = { readonly [D in keyof TransformedLayouts]: WeightsForWinograd } & {
  /** Whether what has more channels than a slice is made slice by slice (./weight-slices.ts). */
  readonly inSlices: boolean
}

/**
 * What one pass over a segment needs beside: how its ops are computed, and what its tiles share.
 */
export interface SegmentScope extends ModelScope {
  /** What the convolutions read that run by Winograd. */
  readonly winograd: ReadonlyMap<ParameterTensor, WinogradWeights>
  /** Weights cast to the activations' type once for all tiles. */
  readonly castWeights: ReadonlyMap<ParameterTensor, UnplacedOperand>
  /**
   * Whether copies of weights are made before the tiles, which share them; else just before they
   * are read.
   */
  readonly sharesCopies: boolean
  /**
   * By tensor: where the tiles add up an output that is cast to the activations' type when they are
   * done.
   */
  readonly sums: ReadonlyMap<number, TileTensor>
  /** Bytes of scratch that a convolution's algorithm may take; undefined where all run directly. */
  readonly workspace: number | undefined
}

/** The scope of an op on one tile: its segment's, and the places of the tile's prefetched data. */
export interface TileScope extends SegmentScope {
  /**
   * The places and events of the tile's slot; undefined where no tile is loaded while the one
   * before it is computed.
   */
  readonly slot: BufferSlot | undefined
}

/** Whether activations keep fewer bits than parameters. */
export const isMixedPrecision = ({ activationBytes, parameterBytes }: Pick<ModelScope, 'activationBytes' | 'parameterBytes'>): boolean =>
  activationBytes !== parameterBytes
