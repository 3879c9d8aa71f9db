import type { Node } from '../../graph/graph'
import type { Reading } from '../../graph/region'
import type { UnplacedOperand } from '../ir/builder'
import type { Region, TileTensor } from '../ir/tile-tensor'
import type { NodeParameters } from './parameter-tensor'

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
  readonly indices: UnplacedOperand
  /** Of the rectifier that runs with this op: times what is negative; 1 where there is none. */
  readonly slope: number
  /**
   * Whether this is a rectifier of which a normalisation before it does all the work, forward and
   * backward.
   */
  readonly fusedIntoPrevious: boolean
}

/** Of which op a step is, and the tiles that it reads and writes. */
export type StepGeometry<N extends Node = Node> = Pick<Step<N>, 'node' | 'source' | 'destination' | 'rows' | 'columns'>

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
  /**
   * The weights in the layout that the gradient of the input reads; asked for just before they are
   * read.
   */
  readonly backwardWeights: () => UnplacedOperand
}
