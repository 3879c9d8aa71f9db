import type { ForwardMode, Pass } from './bound-segment'
import { isLoss } from '../../graph/graph'
import { isNormalisation } from '../../graph/normalisation'
import { crossesAfter } from '../../graph/tiling'
import type { Segment } from '../../plans/plan'
import type { ModelScope } from '../scope/scope'
import { loweringOf } from '../ops'

/** Whether an op's backward reads its input: for the gradient of its input, or of a weight that learns. */
const backwardReadsInput = ({ graph, parameters, requiresGrad }: ModelScope, position: number): boolean => {
  const node = graph.nodes[position]!
  const { input } = loweringOf(node).saves
  const both = parameters[position]
  if (input === 'for-weights') return both?.weight?.learning !== undefined || both?.bias?.learning !== undefined
  return input === 'always' && (isLoss(node.op) || requiresGrad[position + 1] === true)
}

export const passOf = (
  scope: ModelScope,
  { segment: { from, to }, wanted }: { readonly segment: Segment; readonly wanted?: ReadonlySet<number> },
  mode: ForwardMode
): Pass => {
  const { graph, requiresGrad, layouts } = scope
  const { nodes, readers } = graph
  const keeps = mode === 'keep' || mode === 'recompute'
  const inside = (tensor: number): readonly number[] => readers[tensor]!.filter((reader) => from <= reader && reader < to)
  const leaves = (tensor: number): boolean => tensor > from && crossesAfter(graph, tensor, to)
  const readsInput = (position: number): boolean => backwardReadsInput(scope, position)

  /** Rectifiers whose input nothing else reads and that the op before can apply. */
  const rectifies = (position: number): boolean => {
    const [tensor] = nodes[position]!.inputs
    const producer = tensor! - 1
    return (
      loweringOf(nodes[position]!).slope !== undefined &&
      producer >= from &&
      loweringOf(nodes[producer]!).fusesRectifier === true &&
      readers[tensor!]!.length === 1
    )
  }
  const isFusedIntoPrevious = (position: number): boolean => rectifies(position) && isNormalisation(nodes[nodes[position]!.inputs[0]! - 1]!)
  const keepsOutput = (position: number): boolean => loweringOf(nodes[position]!).saves.output === true && !isFusedIntoPrevious(position)

  const writes = (tensor: number): boolean => mode !== 'recompute' && leaves(tensor) && (mode !== 'repeat' || wanted!.has(tensor))
  const isReadBackward = (position: number): boolean => mode !== 'repeat' && readsInput(position)

  const running = new Set<number>()
  for (let position = to - 1; position >= from; position--) {
    const own = requiresGrad[position + 1]! && (keepsOutput(position) || loweringOf(nodes[position]!).saves.indices === true)
    const isWanted = mode === 'repeat' ? writes(position + 1) : mode !== 'recompute' || own || isLoss(nodes[position]!.op)
    if (isWanted || inside(position + 1).some((reader) => running.has(reader) || isReadBackward(reader))) running.add(position)
  }
  const runs = (position: number): boolean => running.has(position)

  const inPlaceConsumerOf = (tensor: number): number | undefined => {
    const consumers = inside(tensor)
    const consumer = consumers[0]
    if (consumers.length !== 1 || consumer === undefined || leaves(tensor)) return undefined
    const { inputs } = nodes[consumer]!
    const isKept = keeps && tensor > from && requiresGrad[tensor]! && keepsOutput(tensor - 1)
    return loweringOf(nodes[consumer]!).inPlace &&
      inputs[0] === tensor &&
      !inputs.slice(1).includes(tensor) &&
      layouts[tensor] === layouts[consumer + 1] &&
      !isKept &&
      !(keeps && readsInput(consumer))
      ? consumer
      : undefined
  }
  const fuses = (position: number): boolean => rectifies(position) && (runs(position) || isFusedIntoPrevious(position))
  const negativeSlopeOf = (position: number): number => {
    const rectifier = inside(position + 1).find(fuses)
    return rectifier === undefined ? 1 : loweringOf(nodes[rectifier]!).slope!(nodes[rectifier]!.args as never)
  }
  return {
    mode,
    runs,
    readsInput: isReadBackward,
    isRead: (tensor) => inside(tensor).some((reader) => runs(reader) || isReadBackward(reader)),
    writes,
    inPlaceConsumerOf,
    fuses,
    negativeSlopeOf
  }
}
