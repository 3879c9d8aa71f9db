import type { Extents } from './extents'
import { isNormalisedLoss, type Loss, type NormalisedLoss } from '../../dsl'
import { comparesWith, isLoss, type ArgsOf, type LossTarget, type Op } from '../../dsl/internal'
import type { AccessMap } from './access'
import type { TileAxis } from '../program/program'

export { isLoss }

/**
 * What a layer has beside its arguments: what learns, and batchNorm's running statistics, which
 * training updates by itself.
 */
export interface Parameter {
  readonly name: string
  readonly role: 'weight' | 'bias' | 'runningMean' | 'runningVariance'
  readonly shape: readonly number[]
  /** The value with which all of it starts; absent where the op's kind decides. */
  readonly initial?: number
}

/** Tells whether a parameter is trained: a weight or a bias, and no running statistics. */
export const isTrainable = ({ role }: Parameter): boolean => role === 'weight' || role === 'bias'

/** How an op normalises its input: by a mean and a variance of each group of channels. */
export interface Statistics {
  readonly groups: number
  /** 1 where each image has its own, 0 where all images share them. */
  readonly perImage: 0 | 1
  /** Added to the variance. */
  readonly epsilon: number
  /** Whether they are computed from the input; else they are running statistics, as they are. */
  readonly fromInput: boolean
  /** How much running statistics take in of those of the input; undefined where there are none. */
  readonly momentum: number | undefined
}

/**
 * One op of the network with its tensors known. Tensor 0 is the network's input, tensor k the
 * output of node k - 1.
 */
interface NodeOf<P extends Op> {
  readonly name: string
  readonly op: P
  readonly args: ArgsOf<P>
  /** The tensors that it reads, in the order of its operands. */
  readonly inputs: readonly number[]
  /** Extents of the first input; others have the same height and width, or are broadcast. */
  readonly input: Extents
  /** Whether the second of them is one value for each image and channel. */
  readonly broadcast: boolean
  readonly output: Extents
  readonly access: AccessMap
  readonly parameters: readonly Parameter[]
  /** Multiply-adds of forward per element of its output; on average, where these differ. */
  readonly multiplyAdds: number
  /** By what it normalises its input; undefined where it does not. */
  readonly statistics: Statistics | undefined
  /**
   * Whether it is a loss that needs sums over each image of its input and target before its
   * gradient.
   */
  readonly overlaps: boolean
  /** Whether forward merges the maxima of an image's tiles, which are kept until backward. */
  readonly accumulatesMaxima: boolean
}
/** An op of a graph, with its shapes, parameters and the tensors that it reads. */
export type Node = { [P in Op]: NodeOf<P> }[Op]

/**
 * What a person wrote between layers: a segment must end before node `at`, or the segment that
 * holds node `at` has this grid.
 */
export type PlacedDirective =
  | { readonly kind: 'checkpoint'; readonly at: number }
  | { readonly kind: 'tile'; readonly at: number; readonly grid: { readonly [A in TileAxis]?: number } }

/** A network as a list of ops with shapes. */
export interface Graph {
  readonly model: string
  readonly input: Extents
  /** In execution order; the last one is the loss. */
  readonly nodes: readonly Node[]
  /** The positions of the nodes that read each tensor, in order. */
  readonly readers: readonly (readonly number[])[]
  readonly directives: readonly PlacedDirective[]
  /** The parameters of all nodes, in order. */
  readonly parameters: readonly Parameter[]
  /** Which of the processes that share the images of a batch runs it; absent where none do. */
  readonly shard?: Shard
}

/**
 * One of the processes that share a batch: each has some of its images, or some rows of each, or
 * both. Those with the same images follow each other.
 */
export interface Shard {
  /** Processes in all. */
  readonly count: number
  /** Which of them, from 0. */
  readonly index: number
  /** Parts into which the images are shared, a divisor of `count`; 1 where absent. */
  readonly images?: number
}

/** The extents of a tensor: 0 is the network's input, n the output of node n - 1. */
export const extentsOfTensor = ({ input, nodes }: Pick<Graph, 'input' | 'nodes'>, tensor: number): Extents =>
  tensor === 0 ? input : nodes[tensor - 1]!.output

/** Where the extent along each axis of tiles stands in [B, C, H, W]. */
export const axisIndex = { B: 0, H: 2, W: 3 } as const

/** Tells whether a node sums a dimension away. */
export const reduces = (node: Node, axis: TileAxis): boolean => node.access[axis].kind === 'reduce'

/** Who reads each tensor of a list of nodes. */
export const findReaders = (nodes: readonly Pick<Node, 'inputs'>[]): Graph['readers'] => {
  const readers: number[][] = Array.from({ length: nodes.length + 1 }, () => [])
  nodes.forEach(({ inputs }, position) => new Set(inputs).forEach((tensor) => readers[tensor]!.push(position)))
  return readers
}

/** Whether a node is a loss that is divided by what comes with the step. */
export const isNormalised = (node: Node): node is Extract<Node, { readonly op: NormalisedLoss }> => isNormalisedLoss(node.op)

/** Whether a node is a loss that compares its input with such a target. */
export const hasTarget = <T extends LossTarget>(node: Node, target: T): node is Extract<Node, { readonly op: Loss<T> }> =>
  comparesWith(node.op, target)
