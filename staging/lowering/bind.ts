import type { Segment } from '../plan'
import type { BufferRole } from '../program'
import type { SegmentTiling } from '../tiling'
import type { Context } from './context'
import { bodiesOf, type SegmentCode } from './segment'
import { tensorBytes, type WholeTensor } from './tensors'

/** A tensor between two segments, and its gradient unless nothing before it learns. */
export interface Boundary {
  readonly tensor: WholeTensor
  readonly gradient: WholeTensor | undefined
}

/** Where the gradient of the network's input is handed out. */
export const exportsInput = ({ objective, source }: Pick<Context, 'objective' | 'source'>): boolean =>
  objective.kind === 'gradients' && source.kind === 'float'

/** The boundary before node `position`; undefined at the network's input and after its loss. */
export const boundaryAt = (context: Context, position: number): Boundary | undefined => {
  const { graph, layouts, firstLearning, emit, elementBytes } = context
  const node = graph.nodes[position - 1]
  if (node === undefined || position === graph.nodes.length) return undefined
  const layout = layouts[position]!
  const whole = (name: string, scope: BufferRole): WholeTensor => ({
    buffer: emit.buffer(`${name} of ${node.name}`, tensorBytes(layout, node.output, elementBytes), scope),
    extents: node.output,
    layout
  })
  return {
    tensor: whole('the output', 'boundary'),
    gradient: position > firstLearning ? whole('the gradient of the output', 'output-gradient') : undefined
  }
}

export const bindSegment = (
  context: Context,
  segment: Segment,
  tiling: SegmentTiling,
  before: Boundary | undefined,
  after: Boundary | undefined
): SegmentCode => ({
  segment,
  bodies: bodiesOf(tiling),
  input: before?.tensor,
  output: after?.tensor,
  outputGradient: after?.gradient,
  inputGradient: segment.from === 0 ? (exportsInput(context) ? 'exchange' : undefined) : before?.gradient
})
