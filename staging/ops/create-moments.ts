import type { Node } from '../graph/graph'
import { sharesMicroBatches } from '../graph/objective'
import { accumulatesMoments, type NormalisationNode, updatesRunning } from '../graph/statistics'
import { tileIdentity } from '../lowering/ir/buffer-identity'
import type { Buffer } from '../lowering/ir/builder'
import type { ModelScope } from '../lowering/scope/scope'
import { getNodeLowering } from '.'
import { statisticsCount, maximumBytes, momentBytes } from './moment-addresses'

/**
 * A place for the moments of every op that accumulates them, for maxima of those that pool whole
 * images, and for the overlaps of a loss.
 */
export const createMoments = ({ graph, builder }: Pick<ModelScope, 'graph' | 'builder'>): ReadonlyMap<number, Buffer> =>
  new Map(
    graph.nodes.flatMap((node: Node, position) => {
      // The section `reduce` hands them to all ranks.
      const role = sharesMicroBatches(graph.objective) && updatesRunning(node) ? 'persistent' : 'statistics'
      const place = (kind: 'moments' | 'maxima' | 'overlaps', bytes: number) => [
        [position, builder.buffer(tileIdentity(kind, node.name), bytes, role)] as const
      ]
      if (node.overlaps) return place('overlaps', getNodeLowering(node).overlaps!.bytes(node))
      if (node.accumulatesMaxima) return place('maxima', node.input[0] * node.input[1] * maximumBytes)
      return accumulatesMoments(node)
        ? place('moments', statisticsCount(node as NormalisationNode) * node.statistics!.groups * momentBytes)
        : []
    })
  )
