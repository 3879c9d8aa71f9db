import type { ArgsOf, Op } from '../../dsl/internal'
import type { AccessRule } from '../graph/access'
import type { Node, Parameter, Statistics } from '../graph/graph'
import type { Kernel } from '../kernels/kernels'
import type { Layout } from '../kernels/layout'
import type { Region, TileTensor } from '../lowering/ir/tile-tensor'
import type { OpStep, StepGeometry, StepGradients } from '../lowering/scope/op-step'
import type { WeightForms } from '../lowering/scope/parameters'
import type { ModelScope, TileScope } from '../lowering/scope/scope'
import type { DeviceModel } from '../devices/device-model'

/** A node of a graph whose op is one of P. */
export type NodeFor<P extends Op> = Extract<Node, { readonly op: P }>

/** A tile of what an op that accumulates overlaps reads. */
export interface OverlapTile<N extends Node> {
  readonly node: N
  readonly position: number
  readonly source: TileTensor
  readonly region: Region
}

/**
 * All that staging declares of an op: what it reads, what it learns, and how it runs forward on a
 * tile and back.
 */
export interface OpLowering<P extends Op> {
  /** Which part of its input one output element reads; all of its inputs are read alike. */
  readonly access: AccessRule<P>
  /** The parameters that it learns; none where this is absent. */
  readonly parameters?: (args: ArgsOf<P>, inChannels: number) => readonly Omit<Parameter, 'name'>[]
  /** Multiply-adds of forward per element of its output, on average; 0 where this is absent. */
  readonly multiplyAdds?: (node: NodeFor<P>) => number
  /** By what the op normalises its input; absent where it does not. */
  readonly statistics?: (args: ArgsOf<P>, channels: number) => Statistics
  /** The op's arguments where a network is evaluated; absent where they are the same. */
  readonly inEvaluation?: (args: ArgsOf<P>) => ArgsOf<P>
  /**
   * The arguments with which an op that draws random numbers, by its position, computes the same
   * every time.
   */
  readonly withoutRandomness?: (args: ArgsOf<P>) => ArgsOf<P>
  /** What a plan's hash knows it by; its name and arguments where absent. */
  readonly identity?: (args: ArgsOf<P>) => readonly unknown[]
  /** Why no device can run it with these arguments; undefined where they can. */
  readonly validate?: (args: ArgsOf<P>) => string | undefined
  /**
   * What backward reads besides the output's gradient, inputs perhaps for weights that learn only
   * (or biases, which most kernels make with those), or for gradients of the inputs beside them;
   * the rest need not be kept.
   */
  readonly saves: {
    readonly input?: 'always' | 'for-weights' | 'for-weights-alone' | 'for-others'
    readonly output?: true
    readonly indices?: true
  }
  /** Forward may overwrite its first input, and backward its output's gradient. */
  readonly inPlace: boolean
  /** Its output is its inputs, one after the other along the channels. */
  readonly joinsChannels?: true
  /** How its weights are stored; plain, as they are declared, where absent. */
  readonly weightForms?: (device: DeviceModel, node: NodeFor<P>, source: Layout) => WeightForms
  /** The gradient of its input reads the weights as they are stored. */
  readonly backwardReadsStored?: true
  /** Reads the input in the layout of images, and gives gradients in that of activations. */
  readonly readsImageLayout?: true
  /** Whether forward adds to its output, which is zeroed first. */
  readonly accumulates?: (args: ArgsOf<P>) => boolean
  /** Whether forward merges the maxima of an image's tiles, which are kept until backward. */
  readonly accumulatesMaxima?: true
  /**
   * Sums of each image's input and target that must be complete before backward runs: their bytes,
   * how a tile's are added, and what becomes of them after all tiles, once a step.
   */
  readonly overlaps?: {
    readonly bytes: (node: NodeFor<P>) => number
    readonly accumulate: (scope: ModelScope, tile: OverlapTile<NodeFor<P>>) => void
    readonly finish: (scope: ModelScope, node: NodeFor<P>, position: number) => void
  }
  /** The kernel whose indices forward writes, for backward; absent where there are none. */
  readonly indicesKernel?: (step: StepGeometry<NodeFor<P>>) => Kernel
  /** A rectifier that backward knows by its output's sign: an op before it that can applies it. */
  readonly slope?: (args: ArgsOf<P>) => number
  /**
   * Applies the rectifier that is its only reader in the same go: forward alone, or its backward
   * too.
   */
  readonly fusesRectifier?: 'forward' | 'both'
  /** The record in the place of this one for some nodes; undefined for the others. */
  readonly variant?: (node: NodeFor<P>) => OpLowering<P> | undefined
  readonly outputLayout: (scope: Pick<ModelScope, 'device'>, source: Layout, node: NodeFor<P>) => Layout
  readonly forward: (scope: TileScope, step: OpStep<NodeFor<P>>) => void
  /**
   * The gradients of a step's inputs and parameters. `identity`: that of every input is that of the
   * output. `reduction`: those of an op that normalises need sums over all of the output's gradient
   * (see reduction-backward.ts).
   */
  readonly backward: ((scope: TileScope, step: OpStep<NodeFor<P>>, gradients: StepGradients) => void) | 'identity' | 'reduction'
}

/** The output layout of ops that any layout serves: that of the input. */
export const sameLayout = (_: unknown, source: Layout): Layout => source
/** The output layout of ops that read and write row-major tensors alone. */
export const plainLayout = (): Layout => 'plain'

/** A weight of this shape, and one bias an output channel. */
export const weightAndBias = (shape: readonly number[], out: number, bias = true): readonly Omit<Parameter, 'name'>[] => [
  { role: 'weight', shape },
  ...(bias ? [{ role: 'bias' as const, shape: [out] }] : [])
]
