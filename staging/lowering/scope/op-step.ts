import type { Node } from '../../graph/graph'
import type { NormalisationNode } from '../../graph/statistics'
import type { ReadInterval } from '../../graph/axis-access'
import type { UnplacedOperand } from '../ir/builder'
import type { Region, TileTensor } from '../ir/tile-tensor'
import type { NodeParameters } from './parameter-tensor'

/** A normalisation that a convolution applies to what it reads. */
export interface NormaliserOnLoad {
  readonly node: NormalisationNode
  readonly position: number
  /** Of the rectifier between the two; 1 where there is none. */
  readonly slope: number
}

/** The step of one op on one tile: the node, and the tiles that it reads and writes. */
export interface OpStep<N extends Node = Node> {
  readonly node: N
  /** Position of the node in the graph. */
  readonly position: number
  /** Just what the op reads of each of its inputs. */
  readonly sources: readonly TileTensor[]
  /** The first of them. */
  readonly source: TileTensor
  /** The output tile; of a loss, nothing. */
  readonly destination: TileTensor
  readonly rows: ReadInterval
  readonly columns: ReadInterval
  readonly sourceRegion: Region
  readonly destinationRegion: Region
  readonly parameters: NodeParameters | undefined
  /** Which input won each window of a max pool. */
  readonly indices: UnplacedOperand
  /**
   * Slope of the rectifier that runs with this op, by which negative results are multiplied; 1
   * where there is none.
   */
  readonly slope: number
  /**
   * True if others do its backward: the normalisation before a rectifier, or the segment that it
   * ends, on whole tensors.
   */
  readonly isDifferentiated: boolean
  /** What a convolution normalises by as it reads: its source is what the normalisation reads. */
  readonly normaliser: NormaliserOnLoad | undefined
}

/** The node of a step, and the tiles that it reads and writes. */
export type StepGeometry<N extends Node = Node> = Pick<OpStep<N>, 'node' | 'source' | 'destination' | 'rows' | 'columns'>

/** The gradients that a step's backward reads and writes; absent ones are not wanted. */
export interface StepGradients {
  /** Gradient of the output tile; of a loss, nothing. */
  readonly destination: TileTensor | undefined
  /** The gradient of each input. */
  readonly sources: readonly (TileTensor | undefined)[]
  readonly source: TileTensor | undefined
  /** The gradient of the weight; in space none, as the bias, where the node is frozen. */
  readonly weight: UnplacedOperand
  readonly bias: UnplacedOperand
  /**
   * The weights in the layout that the gradient of the input reads; asked for just before they are
   * read.
   */
  readonly backwardWeights: () => UnplacedOperand
}
