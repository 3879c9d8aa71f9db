import { boundaryTensors } from './graph/boundary-tensors'
import { receivedRows } from './graph/crossing-rows'
import { extentsOfTensor, type Shard } from './graph/graph'
import type { Interval } from './graph/interval'
import { inOrder } from './graph/order'
import { findShard } from './graph/shard'
import { readersInParts, sharedTensor, type SharedTensor } from './graph/shared-tensor'
import { accumulatesMoments, type NormalisationNode } from './graph/statistics'
import type { StepGraph } from './graph/step-graph'
import type { ElementSizes } from './kernels/precision'
import { maximumBytes, momentBytes, overlapBytes, statisticsCount, sumBytes } from './ops/moment-addresses'
import type { Plan } from './plans/plan'

/** What a rank receives of others where a segment ends, in bytes, forward and backward together. */
export interface ExchangedBytes {
  /** Bytes of rows of activations and of gradients, and of sums over rows. */
  readonly rows: number
  /** Bytes of moments, of sums for the gradients of normalisations, of overlaps and of maxima. */
  readonly statistics: number
}

const size = ({ from, to }: Interval): number => to - from

/**
 * Rows of images that a rank receives of others: what it holds of theirs, and gradients of what is
 * its.
 */
const rowsReceived = (shared: SharedTensor, { index }: Shard): number =>
  (['holder', 'owner'] as const)
    .flatMap((to) => receivedRows(shared, index, to))
    .reduce((sum, { images, rows }) => sum + size(images) * size(rows), 0)

/**
 * By segment of a plan, for a rank of those that share a micro-batch; nothing of a step without
 * them.
 */
export const exchangedBytes = (
  source: StepGraph,
  { order, segments }: Plan,
  { activationBytes, parameterBytes }: ElementSizes
): readonly ExchangedBytes[] => {
  const graph = inOrder(source, order)
  const { shard, nodes, readers } = graph
  /** Of an output: rows, or sums over them, and the gradients that ranks add of what all have. */
  const receivedOf = (tensor: number, ranks: Shard): number => {
    const shared = sharedTensor(graph, segments, tensor)
    const [batch, channels, height, width] = extentsOfTensor(graph, tensor)
    const elements = (ranks.count - 1) * batch * channels * height * width
    const gradient = readersInParts(graph, segments, tensor).length > 0 ? elements * activationBytes : 0
    if (shared === undefined) return gradient
    if (!shared.isSummed) return rowsReceived(shared, ranks) * channels * width * activationBytes
    return gradient + (nodes[tensor - 1]!.accumulatesMaxima ? 0 : elements * parameterBytes)
  }
  return segments.map((segment) => {
    if (shard === undefined) return { rows: 0, statistics: 0 }
    const { outputs } = boundaryTensors(graph, segment)
    const rows = outputs.reduce((sum, tensor) => sum + receivedOf(tensor, shard), 0)
    if (findShard(graph, segment) === undefined) return { rows, statistics: 0 }
    const made = Array.from({ length: segment.to - segment.from }, (_, index) => segment.from + 1 + index)
    const normalising = made.flatMap((tensor) => readers[tensor]!.filter((reader) => accumulatesMoments(nodes[reader]!)))
    const statistics = normalising.reduce((sum, position) => {
      const node = nodes[position] as NormalisationNode
      const own = statisticsCount(node) * (node.statistics.groups * momentBytes + node.input[1] * sumBytes)
      return sum + (shard.count - 1) * own
    }, 0)
    const overlapping = made.flatMap((tensor) => readers[tensor]!.filter((reader) => nodes[reader]!.overlaps))
    const overlaps = overlapping.reduce((sum, position) => sum + nodes[position]!.input[0] * nodes[position]!.input[1] * overlapBytes, 0)
    const maxima = outputs
      .map((tensor) => nodes[tensor - 1]!)
      .filter(({ accumulatesMaxima }) => accumulatesMaxima)
      .reduce((sum, { input: [batch, channels] }) => sum + batch * channels * maximumBytes, 0)
    return { rows, statistics: statistics + (shard.count - 1) * (overlaps + maxima) }
  })
}
