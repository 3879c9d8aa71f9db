import { activationElements } from '../kernels/layout'
import type { ModelScope } from '../lowering/scope/scope'
import { isLoss, type Graph } from '../graph/graph'
import { getNodeLowering } from '../ops'
import { requestedCheckpoints, requestedTiles } from '../graph/directives'
import { accumulatesStatistics } from '../graph/statistics'
import { isSingleTensorBoundary } from '../graph/boundary-tensors'
import type { Span } from '../graph/span'

/** Bytes of the output of each node, in the device's layouts. */
export const outputBytes = ({
  graph,
  layouts,
  activationBytes
}: Pick<ModelScope, 'graph' | 'layouts' | 'activationBytes'>): readonly number[] =>
  graph.nodes.map(({ output }, index) => activationElements(layouts[index + 1]!, output) * activationBytes)

/**
 * Xu 2022, Listing 3 on the ops in the order in which they run, as if each were the post-dominator
 * of the one before; which of these ends are ends of blocks, checkpointPositions sees. A node must
 * be tiled when its output is larger than `capacity` bytes; a run of such nodes is closed by the
 * next node that may be checkpointed, and every other node is a segment of its own. (The listing
 * prints the comparison the wrong way round.)
 */
export const findSegments = (sizes: readonly number[], capacity: number): readonly Span[] => {
  const spans: Span[] = []
  let from = 0
  sizes.forEach((size, node) => {
    const mayEnd = size <= capacity || node === sizes.length - 1
    if (!mayEnd) return
    spans.push({ from, to: node + 1 })
    from = node + 1
  })
  return spans
}

const sumsPixels = ({ nodes }: Graph, position: number): boolean => nodes[position]!.access.H.kind === 'reduce'

/** Blocks of branches of at least so many nodes are cut inside too. */
const longBlock = 12

const changesExtent = ({ input, output }: Graph['nodes'][number]): boolean => input[2] !== output[2] || input[3] !== output[3]

/**
 * Inside long blocks of branches, as a U-Net's, the positions before feature maps get smaller or
 * larger. Where statistics are needed, the places that those ask for are enough.
 */
const insideLongBlocks = (graph: Graph): ReadonlySet<number> => {
  const { nodes } = graph
  const ends = [...nodes.keys()].filter((position) => position === 0 || isSingleTensorBoundary(graph, position))
  return new Set(
    ends.flatMap((from, index) => {
      const to = ends[index + 1] ?? nodes.length
      if (to - from < longBlock || nodes.slice(from, to).some(accumulatesStatistics)) return []
      return [...nodes.keys()].filter((position) => from < position && position < to && changesExtent(nodes[position]!))
    })
  )
}

/** Graphs of at most so many nodes are searched in whole: that takes milliseconds. */
const shortGraph = 16

/**
 * A checkpoint here is never better than one op later, where one tensor alone goes on too: that op
 * works in place, or, in longer graphs, has no weights and shrinks a feature map (which is seldom
 * worth its input's bytes). (Except after a sum over pixels, which only the last op of a tiled
 * segment may be, and before statistics.)
 */
const isDominated = (graph: Graph, sizes: readonly number[], position: number): boolean => {
  if (accumulatesStatistics(graph.nodes[position]!) || (position + 1 < graph.nodes.length && !isSingleTensorBoundary(graph, position + 1)))
    return false
  const node = graph.nodes[position]!
  const { op, input, access } = node
  if (sumsPixels(graph, position - 1)) return false
  const { inPlace, saves } = getNodeLowering(node)
  if (inPlace && saves.input === undefined) return true
  if (graph.nodes.length <= shortGraph) return false
  const flat = input[2] * input[3] === 1
  // A layer with weights is worth a checkpoint: then it need not be computed again.
  return !flat && !isLoss(op) && node.parameters.length === 0 && access.H.kind !== 'whole' && sizes[position]! < sizes[position - 1]!
}

/**
 * Where segments may begin or end for any capacity up to `budget`, and where the model asks for a
 * checkpoint: the union of Listing 3's boundaries, without those that the next position dominates.
 * Inside blocks of branches those alone for which statistics ask, a sum over pixels, which ends a
 * tiled segment, or the length of the block. Tensors on the host are as small as one likes.
 */
export const checkpointPositions = (
  graph: Graph,
  sizes: readonly number[],
  budget: number,
  onHost?: ReadonlySet<number>
): readonly number[] => {
  const asked = requestedCheckpoints(graph)
  const tiled = requestedTiles(graph)
  const insideBlocks = insideLongBlocks(graph)
  const onDevice = sizes.map((size, position) => (onHost?.has(position + 1) === true ? 0 : size))
  return findSegments(onDevice, budget)
    .map(({ to }) => to)
    .filter((position) => position < graph.nodes.length && !tiled.some(({ from, to }) => from < position && position < to))
    .filter(
      (position) =>
        asked.includes(position) ||
        isSingleTensorBoundary(graph, position) ||
        accumulatesStatistics(graph.nodes[position]!) ||
        sumsPixels(graph, position - 1) ||
        insideBlocks.has(position)
    )
    .filter((position) => asked.includes(position) || !isDominated(graph, sizes, position))
}
