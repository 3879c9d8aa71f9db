import { memoizePerObject } from '../memoize'
import { inputInterval, type AxisAccess } from './axis-access'
import { axisIndex, type Graph, type Node } from './graph'
import { size } from './interval'
import type { Span } from './span'

type ImageAxis = 'H' | 'W'

/** Whether neighbouring outputs may leave something between them that neither reads. */
const leavesGaps = (access: AxisAccess): boolean =>
  access.kind === 'window'
    ? access.stride > access.dilation * (access.kernel - 1) + 1
    : access.kind === 'resize' && access.inExtent > access.outExtent

/** How much outputs read one by one along an axis, over what all of them span. */
const readApart = memoizePerObject(
  (_: Node, axis: ImageAxis) => axis,
  ({ access, input, output }, axis) => {
    const [inExtent, outExtent] = [input[axisIndex[axis]], output[axisIndex[axis]]]
    const countRead = (from: number, to: number): number => {
      const { interval } = inputInterval(access[axis], { from, to }, inExtent)
      return Math.max(0, size(interval))
    }
    let all = 0
    for (let at = 0; at < outExtent; at++) all += countRead(at, at + 1)
    return all / countRead(0, outExtent)
  }
)

/** Of each op of a span, the least share of its output along an axis that tiles compute. */
const sharesAlong = ({ nodes, readers }: Graph, { from, to }: Span, axis: ImageAxis): readonly number[] => {
  const shares: number[] = []
  const readBy = (reader: number): number => {
    if (reader >= to) return 1
    const [node, share] = [nodes[reader]!, shares[reader - from]!]
    return share === 1 && !leavesGaps(node.access[axis]) ? 1 : share * readApart(node, axis)
  }
  for (let position = to - 1; position >= from; position--) {
    const positions = readers[position + 1]!
    shares[position - from] = positions.length === 0 ? 1 : Math.min(1, Math.max(...positions.map(readBy)))
  }
  return shares
}

/**
 * Of each op of a span, a share of what it computes of its whole output that no tiles fall below
 * that run the span and make all that is read after it: those of one pixel leave out all that
 * strides pass over. 1 where nothing is passed over.
 */
export const leastSharesComputed = (graph: Graph, span: Span): readonly number[] => {
  const [rows, columns] = [sharesAlong(graph, span, 'H'), sharesAlong(graph, span, 'W')]
  return rows.map((share, place) => share * columns[place]!)
}

/** Whether tiles may compute less of some layer than it makes as a whole. */
export const tilesMayLeaveOut = (graph: Graph): boolean =>
  leastSharesComputed(graph, { from: 0, to: graph.nodes.length }).some((share) => share < 1)
