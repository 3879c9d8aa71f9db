import { extentsOfTensor } from '../graph'
import type { Segment } from '../plan'
import type { BufferRole } from '../program'
import { endsOf, type SegmentTiling } from '../tiling'
import type { Boundary } from './body'
import type { Context } from './context'
import { at } from './emitter'
import { bodiesOf, type SegmentCode } from './segment'
import { tensorBytes, type WholeTensor } from './tensors'

/** Where the gradient of the network's input is handed out. */
export const exportsInput = ({ objective, source }: Pick<Context, 'objective' | 'source'>): boolean =>
  objective.kind === 'gradients' && source.kind === 'float'

/** Places for whole tensors between segments. */
export const boundariesOf = (context: Context, tensors: Iterable<number>): ReadonlyMap<number, Boundary> => {
  const { graph, layouts, gradients, emit, elementBytes } = context
  const open = (tensor: number): Boundary => {
    const [layout, extents] = [layouts[tensor]!, extentsOfTensor(graph, tensor)]
    const whole = (name: string, scope: BufferRole): WholeTensor => {
      const buffer = emit.buffer(`${name} of ${graph.nodes[tensor - 1]!.name}`, tensorBytes(layout, extents, elementBytes), scope)
      return { buffer, address: at(buffer), extents, layout }
    }
    return {
      tensor: whole('the output', 'boundary'),
      gradient: gradients[tensor]! ? whole('the gradient of the output', 'output-gradient') : undefined
    }
  }
  return new Map([...tensors].filter((tensor) => tensor > 0).map((tensor) => [tensor, open(tensor)]))
}

/** Of the tensors that leave any of the segments. */
export const allBoundaries = (context: Context, segments: readonly Segment[]): ReadonlyMap<number, Boundary> =>
  boundariesOf(context, new Set(segments.flatMap((segment) => endsOf(context.graph, segment).outputs)))

export const bindSegment = (
  context: Context,
  segment: Segment,
  tiling: SegmentTiling,
  boundaries: ReadonlyMap<number, Boundary>
): SegmentCode => ({ segment, bodies: bodiesOf(tiling), ends: endsOf(context.graph, segment), boundaries })

/** A segment by itself, with whole tensors at its ends. */
export const bindAlone = (context: Context, segment: Segment, tiling: SegmentTiling): SegmentCode => {
  const { inputs, outputs } = endsOf(context.graph, segment)
  return bindSegment(context, segment, tiling, boundariesOf(context, [...inputs, ...outputs]))
}
