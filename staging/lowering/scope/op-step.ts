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

/** How large a tile is that a kernel reads, and how large what it writes. */
export const extentFields = ({ source, destination }: Pick<Step, 'source' | 'destination'>) => ({
  batch: source.extents[0],
  inHeight: source.extents[2],
  inWidth: source.extents[3],
  outHeight: destination.extents[2],
  outWidth: destination.extents[3]
})

/** The geometry of a sliding-window kernel on a tile. */
export const windowFields = (
  {
    kernel,
    stride,
    dilation
  }: { kernel: readonly [number, number]; stride: readonly [number, number]; dilation: readonly [number, number] },
  step: Pick<Step, 'source' | 'destination' | 'rows' | 'columns'>
) => ({
  inChannels: step.source.extents[1],
  kernelHeight: kernel[0],
  kernelWidth: kernel[1],
  strideHeight: stride[0],
  strideWidth: stride[1],
  dilationHeight: dilation[0],
  dilationWidth: dilation[1],
  padTop: step.rows.padBefore,
  padBottom: step.rows.padAfter,
  padLeft: step.columns.padBefore,
  padRight: step.columns.padAfter,
  ...extentFields(step)
})
