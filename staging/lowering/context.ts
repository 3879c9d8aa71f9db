import { refusedBytes, type DeviceModel } from '../device-model'
import type { Graph, Node } from '../graph'
import type { ConvolutionKernel, Kernel } from '../kernels'
import type { Layout } from '../layout'
import type { Learning, Objective } from '../objective'
import type { Reading } from '../region'
import { at, none, type Buffer, type Emitter, type UnplacedOperand } from './emitter'
import type { Region, TileTensor, BufferSlot } from './tile-tensor'

/** How a step's input arrives: uint8 images, normalised as tiles are loaded, or float values from the exchange buffer. */
export type Source =
  { readonly kind: 'image'; readonly mean: readonly number[]; readonly deviation: readonly number[] } | { readonly kind: 'float' }

/** A parameter in the arena; its gradient and optimizer state have the same layout and bytes. */
export interface ParameterTensor {
  readonly name: string
  readonly buffer: Buffer
  readonly shape: readonly number[]
  readonly layout: Layout
  /** What the gradient of the layer's input reads instead, where it differs. */
  readonly backwardLayout: Layout
  readonly groups: number
  readonly elements: number
  /** Whether they are the weights of a convolution that the device also has by Winograd. */
  readonly transformable: boolean
  /** Undefined where it is frozen. */
  readonly learning: Learning | undefined
  /** Its gradient over the micro-batches of an update, where the update has a section of its own. */
  readonly gradient: Buffer | undefined
}

export type TransformedLayout = 'winogradForward' | 'winogradBackward'

/** Convolutions and linear layers have a weight; normalisations may have none. */
export interface NodeParameters {
  readonly weight: ParameterTensor | undefined
  readonly bias: ParameterTensor | undefined
  /** Running statistics. */
  readonly mean: ParameterTensor | undefined
  readonly variance: ParameterTensor | undefined
}

/** Byte offsets in the exchange buffer of a step, or of an evaluation. */
export interface StepExchange {
  readonly target: number
  readonly rowWeights: number
  readonly classWeights: number
  readonly normaliser: number
  readonly classes: number
  readonly scores: number
  readonly loss: number
  readonly input: number
  readonly inputGradient: number
  readonly gradient: (parameter: string) => number
}

/** What lowering a graph on a device needs everywhere. */
export interface Context {
  readonly graph: Graph
  readonly device: DeviceModel
  readonly objective: Objective
  readonly source: Source
  /** Of an element of an activation or of its gradient. */
  readonly activationBytes: number
  /** Of an element of a parameter, its gradient and its optimizer state, and of what a step exchanges. */
  readonly parameterBytes: number
  readonly emit: Emitter
  /** By tensor. */
  readonly layouts: readonly Layout[]
  /** By node. */
  readonly parameters: readonly (NodeParameters | undefined)[]
  /** By tensor: whether its gradient is wanted, because something that it is made of learns (or it is the input, whose own is wanted). */
  readonly gradients: readonly boolean[]
  /** Where backward ends: the first node whose output's gradient is wanted, -1 where the input's is, one past the last where none is. */
  readonly firstLearning: number
  /** By node: the moments with which it normalises, or the maxima that it gathers. */
  readonly moments: ReadonlyMap<number, Buffer>
  readonly exchange: StepExchange
  /** Inside a segment that runs some convolutions by Winograd: the transformed weights of those; asked for just before they are read. */
  readonly winograd?: ReadonlyMap<ParameterTensor, { readonly [L in TransformedLayout]: () => UnplacedOperand }>
  /** Inside a segment whose tiles share them: weights rounded to the activations' type. */
  readonly rounded?: ReadonlyMap<ParameterTensor, UnplacedOperand>
  /** Inside a segment: where its tiles add up an output that is rounded to the activations' type when they are done, by tensor. */
  readonly sums?: ReadonlyMap<number, TileTensor>
  /** Inside a tile of a segment that loads ahead. */
  readonly turn?: BufferSlot | undefined
  /** Inside a segment that may take it: bytes of scratch for a convolution's algorithm. */
  readonly workspace?: number
}

/** Whether activations keep fewer bits than parameters. */
export const rounds = ({ activationBytes, parameterBytes }: Pick<Context, 'activationBytes' | 'parameterBytes'>): boolean =>
  activationBytes !== parameterBytes

/**
 * The algorithm of a convolution, given with algorithm 0: the first of the device's within the workspace that it does not refuse, as it
 * may one that is listed for all kernels of about this size; else 0.
 */
export const algorithmWithin = ({ device, workspace }: Context, kernel: ConvolutionKernel): number =>
  workspace === undefined
    ? 0
    : (device
        .algorithms?.(kernel)
        .find(({ algorithm, scratchBytes }) => scratchBytes <= workspace && device.scratchBytes({ ...kernel, algorithm }) < refusedBytes)
        ?.algorithm ?? 0)

/** One op on one tile. */
export interface Step<N extends Node = Node> {
  readonly node: N
  /** Of the node in the graph. */
  readonly position: number
  /** Just what the op reads of each of its inputs. */
  readonly sources: readonly TileTensor[]
  /** The first of them. */
  readonly source: TileTensor
  /** The output tile; of a loss, nothing. */
  readonly destination: TileTensor
  readonly rows: Reading
  readonly columns: Reading
  readonly sourceRegion: Region
  readonly destinationRegion: Region
  readonly parameters: NodeParameters | undefined
  /** Which input won each window of a max pool. */
  readonly winners: UnplacedOperand
  /** Of the rectifier that runs with this op: times what is negative; 1 where there is none. */
  readonly slope: number
  /** Whether this is a rectifier of which a normalisation before it does all the work, forward and backward. */
  readonly fusedIntoPrevious: boolean
}

/** What a step's backward reads and writes; absent ones are not wanted. */
export interface StepGradients {
  /** Gradient of the output tile; of a loss, nothing. */
  readonly destination: TileTensor | undefined
  /** Of each input, and of the first one. */
  readonly sources: readonly (TileTensor | undefined)[]
  readonly source: TileTensor | undefined
  /** In space none, as the bias, where the node does not learn. */
  readonly weight: UnplacedOperand
  readonly bias: UnplacedOperand
  /** The weights in the layout that the gradient of the input reads; asked for just before they are read. */
  readonly backwardWeights: () => UnplacedOperand
}

/** A fresh scratch operand for a kernel, or none where the device needs none. */
export const scratchFor = ({ device, emit }: Context, kernel: Kernel): UnplacedOperand => {
  const bytes = device.scratchBytes(kernel)
  return bytes === 0 ? none : at(emit.buffer(`scratch of ${kernel.kind}`, bytes))
}

/** The geometry of a sliding-window kernel on a tile. */
export const windowFields = (
  {
    kernel,
    stride,
    dilation
  }: { kernel: readonly [number, number]; stride: readonly [number, number]; dilation: readonly [number, number] },
  { source, destination, rows, columns }: Pick<Step, 'source' | 'destination' | 'rows' | 'columns'>
) => ({
  batch: source.extents[0],
  inChannels: source.extents[1],
  inHeight: source.extents[2],
  inWidth: source.extents[3],
  outHeight: destination.extents[2],
  outWidth: destination.extents[3],
  kernelHeight: kernel[0],
  kernelWidth: kernel[1],
  strideHeight: stride[0],
  strideWidth: stride[1],
  dilationHeight: dilation[0],
  dilationWidth: dilation[1],
  padTop: rows.padBefore,
  padBottom: rows.padAfter,
  padLeft: columns.padBefore,
  padRight: columns.padAfter
})
