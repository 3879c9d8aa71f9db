import type { Graph } from '../graph/graph'
import { getNodeLowering } from '../ops'
import { liveTensors } from '../graph/boundary-tensors'
import type { Span } from '../graph/span'

/**
 * The stages of a model's chain: each op, with those after it that work in place on its output, and
 * each block of branches.
 */
export const stageSpans = (graph: Graph): readonly Span[] => {
  const { nodes } = graph
  const joins = (position: number): boolean =>
    position > 0 &&
    (liveTensors(graph, position).some((tensor) => tensor !== position) ||
      (getNodeLowering(nodes[position]!).inPlace && getNodeLowering(nodes[position - 1]!).saves.output !== true))
  const starts = nodes.flatMap((_, position) => (joins(position) ? [] : [position]))
  return starts.map((from, index) => ({ from, to: starts[index + 1] ?? nodes.length }))
}
