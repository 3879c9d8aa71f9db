import { microBatches } from '../objective'
import type { Segment } from '../plan'
import { tileCount } from '../tiling'
import type { BoundSegment } from './body'
import type { Context, NodeParameters, ParameterTensor, Step } from './context'
import { at, none, type Buffer, type Virtual } from './emitter'
import { loweringOf } from './ops'
import { learningTensors } from './parameters'
import {
  copyElements,
  copyTile,
  coversAll,
  inExchange,
  regionExtents,
  regionOf,
  tensorBytes,
  viewOf,
  type Body,
  type TileTensor,
  type WholeTensor
} from './tensors'

/** The gradients at a segment's ends. No input gradient is wanted where nothing before the segment learns. */
export interface BoundGradients {
  readonly output: WholeTensor | undefined
  readonly input: WholeTensor | 'exchange' | undefined
  /** Where a parameter's gradient is summed over the tiles and micro-batches. */
  readonly sumOf: (parameter: ParameterTensor) => Buffer
  /** Whether several tiles add to the sums. */
  readonly partial: boolean
  /** Weights as the gradient of the input reads them. */
  readonly backwardWeights: (weight: ParameterTensor) => Virtual
  /** Told when this tile has no more use for a layer's parameters. */
  readonly done: (parameters: NodeParameters) => void
}

/** Whether a tile's gradient of the input can be written where it belongs: no other tile reads these rows and columns, so none adds to them. */
const writesInputDirectly = (input: WholeTensor, body: Body, { grid }: Segment, elementBytes: number): boolean => {
  const region = regionOf(body, 0)
  if (grid.H > 1 || grid.W > 1) return false
  return grid.B > 1 ? viewOf(input, region, elementBytes) !== undefined : coversAll(input, region)
}

/** Whether tiles add to the input gradient, which then starts at zero (DESIGN §3). */
export const addsToInput = (input: WholeTensor, bodies: readonly Body[], segment: Segment, elementBytes: number): boolean =>
  bodies.some((body) => !writesInputDirectly(input, body, segment, elementBytes))

/** Gradients of one tile: ordinary backward of a small network, seeded with the owned part of the output's gradient (DESIGN §3). */
export const backwardBody = (
  context: Context,
  bound: BoundSegment,
  body: Body,
  steps: readonly Step[],
  gradients: BoundGradients
): void => {
  const { emit, elementBytes, exchange, graph, device, objective } = context
  const { segment } = bound
  const wholeInput = gradients.input === 'exchange' ? undefined : gradients.input
  const direct = wholeInput !== undefined && writesInputDirectly(wholeInput, body, segment, elementBytes)
  const firstLearning = context.firstLearning - segment.from
  const adds = gradients.partial || microBatches(objective) > 1

  const openOutputGradient = (): TileTensor | undefined => {
    if (gradients.output === undefined) return undefined
    emit.seed(gradients.output.buffer)
    const region = regionOf(body, steps.length)
    const view = viewOf(gradients.output, region, elementBytes)
    if (view !== undefined) return view
    const extents = regionExtents(region, gradients.output.extents[1])
    const { layout } = gradients.output
    const tile = { address: at(emit.buffer('tile of the output gradient', tensorBytes(layout, extents, elementBytes))), extents, layout }
    copyTile(emit, gradients.output, region, tile, 'read', elementBytes)
    return tile
  }

  const sourceGradientOf = (step: Step, received: TileTensor | undefined): TileTensor => {
    const { source, node, position } = step
    // The network's input may be plain where the gradient of a convolution is not.
    const layout = segment.from + position === 0 && node.op === 'conv2d' ? device.activationLayout(source.extents[1], false) : source.layout
    const shape = { extents: source.extents, layout }
    if (position === 0 && direct) return viewOf(wholeInput!, regionOf(body, 0), elementBytes)!
    if (loweringOf(node).inPlace) return { address: received!.address, ...shape }
    const bytes = tensorBytes(layout, source.extents, elementBytes)
    return { address: at(emit.buffer(`gradient of the input of ${node.name}`, bytes)), ...shape }
  }

  interface Target {
    readonly address: Virtual
    /** Adds what was written to the sum over tiles and micro-batches. */
    readonly add: () => void
  }
  const nowhere: Target = { address: none, add: () => undefined }
  const ownBuffer = ({ name, elements }: ParameterTensor, scope: 'local' | 'unwanted' = 'local'): Virtual =>
    at(emit.buffer(`${gradients.partial ? 'tile' : 'micro-batch'}'s gradient of ${name}`, elements * elementBytes, scope))
  const target = (parameter: ParameterTensor | undefined): Target => {
    if (parameter?.learning === undefined) return nowhere
    const sum = at(gradients.sumOf(parameter))
    if (!adds) return { ...nowhere, address: sum }
    const address = ownBuffer(parameter)
    return { address, add: () => copyElements(emit, parameter.elements, address, sum, 1) }
  }
  /** Kernels give a bias its gradient beside that of its weight, wanted or not. */
  const weightTarget = (parameters: NodeParameters | undefined): Target =>
    parameters?.weight.learning === undefined && learningTensors(parameters).length > 0
      ? { ...nowhere, address: ownBuffer(parameters!.weight, 'unwanted') }
      : target(parameters?.weight)

  let received = openOutputGradient()
  for (const step of [...steps].reverse()) {
    if (step.position < firstLearning) break
    if (tileCount(segment.grid) === 1) emit.moment(2 * graph.nodes.length - 1 - segment.from - step.position)
    const source = step.position > firstLearning ? sourceGradientOf(step, received) : undefined
    const weight = weightTarget(step.parameters)
    const bias = target(step.parameters?.bias)
    loweringOf(step.node).backward(context, step as never, {
      destination: received,
      source,
      weight: weight.address,
      bias: bias.address,
      backwardWeights: () => gradients.backwardWeights(step.parameters!.weight)
    })
    weight.add()
    bias.add()
    if (step.parameters !== undefined) gradients.done(step.parameters)
    if (source === undefined) break
    received = source
  }

  if (gradients.input === 'exchange') {
    const { fields, address } = inExchange(received!, graph.input, regionOf(body, 0), exchange.inputGradient, elementBytes)
    emit.launch<'scatterAdd'>({ kind: 'scatterAdd', ...fields }, { source: received!.address, destination: address })
  } else if (wholeInput !== undefined && !direct) copyTile(emit, wholeInput, regionOf(body, 0), received!, 'add', elementBytes)
}
