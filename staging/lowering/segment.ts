import type { Segment } from '../plan'
import { tileCount, type SegmentTiling } from '../tiling'
import { addsToInput, backwardBody } from './backward'
import { forwardBody, type BoundSegment, type ForwardMode } from './body'
import type { Context, ParameterTensor, Step } from './context'
import { at, type Buffer, type Virtual } from './emitter'
import { emitTiles } from './load-ahead'
import { loweringOf } from './ops'
import { learningTensors, weightsIn } from './parameters'
import type { Body, WholeTensor } from './tensors'
import { winogradWeights, withWinograd } from './winograd'

/** A segment ready to be emitted, forward and backward. */
export interface SegmentCode extends BoundSegment {
  readonly bodies: readonly Body[]
  readonly inputGradient: WholeTensor | 'exchange' | undefined
  readonly outputGradient: WholeTensor | undefined
}

/** Every combination of runs along batch, height and width: the bodies of a segment's loops, in tile order. */
export const bodiesOf = ({ B, H, W }: SegmentTiling): readonly Body[] =>
  B.flatMap((batch) => H.flatMap((rows) => W.map((columns): Body => ({ runs: [batch, rows, columns] }))))

const zero = ({ emit }: Context, buffer: Buffer): void =>
  emit.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: at(buffer) })

/** The context of a segment's forward or backward, where its convolutions find how they are computed. */
const withAlgorithms = (context: Context, segment: Segment, shared: Parameters<typeof withWinograd>[2]): Context =>
  withWinograd(segment.workspace === undefined ? context : { ...context, workspace: segment.workspace }, segment, shared)

/** Forward of a segment: every tile writes its owned part of the output. Returns what was kept. The last one's belongs to its backward. */
export const emitForward = (
  context: Context,
  code: SegmentCode,
  mode: ForwardMode = code.segment.recompute ? 'discard' : 'keep'
): readonly Step[] | undefined => {
  const { segment, output } = code
  context.emit.moment(segment.from)
  const last = context.graph.nodes[segment.to - 1]!
  if (output !== undefined && loweringOf(last).accumulates) zero(context, output.buffer)
  const shared = context.parameters.slice(segment.from, segment.to)
  const inside = withAlgorithms(context, segment, { winogradForward: shared, winogradBackward: [] })
  let kept: readonly Step[] | undefined
  emitTiles(context, code, mode, (body, input) => {
    kept = forwardBody(inside, code, body, mode, input)
  })
  return mode === 'keep' ? kept : undefined
}

const isTiled = ({ grid }: Segment): boolean => tileCount(grid) > 1

/**
 * Backward of a segment. `kept` are the steps of a forward that was kept; otherwise each tile runs forward again first
 * (for the last segment, whose forward pass this is, for the first time). Then its parameters are updated or handed out, or their
 * gradients left in the arena for the section `update`, which also zeroes them. Nothing runs where nothing is to be learnt.
 */
export const emitBackward = (
  context: Context,
  code: SegmentCode,
  kept: readonly Step[] | undefined,
  finish: (parameter: ParameterTensor, gradient: Buffer) => void
): void => {
  const { elementBytes, emit, firstLearning, graph } = context
  const { segment, bodies, inputGradient } = code
  const isLast = segment.to === graph.nodes.length
  if (segment.to <= firstLearning && !isLast) return
  const partial = isTiled(segment)
  // A last segment without tiles runs forward first.
  if (partial || !isLast) emit.moment(2 * graph.nodes.length - segment.to)
  const nodes = context.parameters.slice(segment.from, segment.to)

  const sums = new Map(
    nodes
      .flatMap(learningTensors)
      .map((tensor) => [tensor, tensor.gradient ?? emit.buffer(`the gradient of ${tensor.name}`, tensor.elements * elementBytes)])
  )
  const forBackward = (weight: ParameterTensor): Virtual => weightsIn(context, weight, weight.backwardLayout)
  const withSourceGradient = nodes.slice(Math.max(0, firstLearning + 1 - segment.from))
  if (partial) sums.forEach((sum, { gradient }) => (gradient === undefined ? zero(context, sum) : undefined))
  const transformed = winogradWeights(context, segment)
  const shared = new Map(
    partial && segment.reorder === 'once'
      ? withSourceGradient.flatMap((both) =>
          both === undefined || transformed.has(both.weight) ? [] : [[both.weight, forBackward(both.weight)] as const]
        )
      : []
  )
  // A convolution at the end is not run forward again: backward does not read what it puts out.
  const again = kept === undefined ? context.parameters.slice(segment.from, isLast ? segment.to : segment.to - 1) : []
  const inside = withAlgorithms(context, segment, { winogradForward: again, winogradBackward: withSourceGradient })
  if (inputGradient !== undefined && inputGradient !== 'exchange' && addsToInput(inputGradient, bodies, segment, elementBytes))
    zero(context, inputGradient.buffer)

  const finishAll = (tensors: readonly ParameterTensor[]): void => tensors.forEach((tensor) => finish(tensor, sums.get(tensor)!))
  const mode = isLast ? 'keep' : 'recompute'
  emitTiles(context, code, mode, (body, input) => {
    const steps = kept ?? forwardBody(inside, code, body, mode, input)
    backwardBody(inside, code, body, steps, {
      output: code.outputGradient,
      input: inputGradient,
      sumOf: (tensor) => sums.get(tensor)!,
      partial,
      backwardWeights: (weight) => shared.get(weight) ?? forBackward(weight),
      done: (both) => (partial ? undefined : finishAll(learningTensors(both)))
    })
  })
  if (partial) finishAll([...sums.keys()])
}
