import { weightElements } from '../layout'
import type { Segment } from '../plan'
import { tileAxes } from '../program'
import { tileCount, type SegmentTiling } from '../tiling'
import { addsToInput, backwardBody } from './backward'
import { forwardBody, type BoundSegment } from './body'
import type { Context, ParameterTensor, Step } from './context'
import { at, type Buffer, type Virtual } from './emitter'
import { loweringOf } from './ops'
import { reorderParameter, tensorsOf } from './parameters'
import type { Body, WholeTensor } from './tensors'

/** A segment ready to be emitted, forward and backward. */
export interface SegmentCode extends BoundSegment {
  readonly bodies: readonly Body[]
  readonly inputGradient: WholeTensor | 'exchange' | undefined
  readonly outputGradient: WholeTensor | undefined
}

/** Every combination of runs along batch, height and width: the bodies of a segment's loops, in tile order. */
export const bodiesOf = ({ B, H, W }: SegmentTiling): readonly Body[] =>
  B.flatMap((batch) => H.flatMap((rows) => W.map((columns): Body => ({ runs: [batch, rows, columns] }))))

const emitBodies = ({ emit }: Context, bodies: readonly Body[], run: (body: Body) => void): void => {
  for (const body of bodies) {
    const nest = (axis: number): void =>
      axis === body.runs.length ? run(body) : emit.loop(tileAxes[axis]!, body.runs[axis]!.count, () => nest(axis + 1))
    nest(0)
  }
}

const zero = ({ emit }: Context, buffer: Buffer): void =>
  emit.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: at(buffer) })

/** Forward of a segment that is not the last: every tile writes its owned part of the output. Returns what was kept. */
export const emitForward = (context: Context, code: SegmentCode): readonly Step[] | undefined => {
  const { segment, output, bodies } = code
  const last = context.graph.nodes[segment.to - 1]!
  if (output !== undefined && loweringOf(last).accumulates) zero(context, output.buffer)
  let kept: readonly Step[] | undefined
  emitBodies(context, bodies, (body) => {
    kept = forwardBody(context, code, body, segment.recompute ? 'discard' : 'keep')
  })
  return segment.recompute ? undefined : kept
}

const isTiled = ({ grid }: Segment): boolean => tileCount(grid) > 1

/**
 * Backward of a segment. `kept` are the steps of a forward that was kept; otherwise each tile runs forward again first
 * (for the last segment, whose forward pass this is, for the first time). Then its parameters are updated or handed out.
 */
export const emitBackward = (
  context: Context,
  code: SegmentCode,
  kept: readonly Step[] | undefined,
  finish: (parameter: ParameterTensor, gradient: Buffer) => void
): void => {
  const { emit, elementBytes, parameters, graph } = context
  const { segment, bodies, inputGradient } = code
  const partial = isTiled(segment)
  const learning = parameters.slice(segment.from, segment.to).flatMap((both) => (both === undefined ? [] : [both]))

  const sums = new Map<ParameterTensor, Buffer>()
  for (const tensor of learning.flatMap(tensorsOf)) {
    const sum = emit.buffer(`gradient of ${tensor.name}`, tensor.elements * elementBytes)
    sums.set(tensor, sum)
    if (partial) zero(context, sum)
  }
  const backwardWeights = new Map(
    learning.map(({ weight }, index): readonly [ParameterTensor, Virtual] => {
      const stored = at(weight.buffer)
      const unread = index === 0 && inputGradient === undefined
      if (unread || weight.layout === weight.backwardLayout) return [weight, stored]
      const reordered = at(
        emit.buffer(
          `${weight.name} for backward`,
          weightElements(weight.backwardLayout, weight.shape as never, weight.groups) * elementBytes
        )
      )
      reorderParameter(emit, weight, [stored, weight.layout], [reordered, weight.backwardLayout])
      return [weight, reordered]
    })
  )
  if (inputGradient !== undefined && inputGradient !== 'exchange' && addsToInput(inputGradient, bodies, segment, elementBytes))
    zero(context, inputGradient.buffer)

  const isLast = segment.to === graph.nodes.length
  emitBodies(context, bodies, (body) => {
    const steps = kept ?? forwardBody(context, code, body, isLast ? 'keep' : 'recompute')
    backwardBody(context, code, body, steps, {
      output: code.outputGradient,
      input: inputGradient,
      sums,
      partial,
      backwardWeights
    })
  })
  for (const [tensor, sum] of sums) finish(tensor, sum)
}
