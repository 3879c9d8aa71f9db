import { microBatches } from '../../graph/objective'
import { gathersMoments, isNormalisation, type Normalisation } from '../../graph/normalisation'
import { tileCount, type Segment } from '../../plans/plan'
import { viewOfOutput } from './forward'
import type { BoundSegment } from './bound-segment'
import type { ModelScope, TileScope } from '../scope/scope'
import type { NodeParameters, ParameterTensor } from '../scope/parameter-tensor'
import type { Step } from '../scope/op-step'
import { at, none, type Buffer, type UnplacedOperand } from '../ir/builder'
import { handOn, seedOnHost, type Outgoing } from './host-gradients'
import { normalisationKernel } from '../ops/normalisation-kernel'
import { loweringOf } from '../ops'
import { learningTensors } from '../scope/parameters'
import {
  allOf,
  coversAll,
  inExchange,
  isSameRegion,
  ownedRegionOf,
  readRegionOf,
  regionExtents,
  regionOf,
  viewOf,
  within
} from '../scope/regions'
import { copyElements, inLayout, freshTile, zeroTile, copyPart } from '../scope/copies'
import type { Body, Region, TileTensor, WholeTensor } from '../ir/tile-tensor'

/** Where gradients go that leave a segment's tiles. */
export interface BoundGradients {
  /** The whole gradient of an input of the segment, 'exchange' for the network's own; undefined where none is wanted. */
  readonly inputOf: (tensor: number) => WholeTensor | 'exchange' | undefined
  /** Whether this segment's backward is the first to contribute to it, and tiles need not add to it. */
  readonly isFirst: (tensor: number) => boolean
  /** Of a normalisation whose moments go beyond a tile: the gradient of its output, in whole. */
  readonly pendingOf: (position: number) => WholeTensor | 'host' | undefined
  /** What goes to the host, band by band. */
  readonly outgoing: readonly Outgoing[]
  /** Of a normalisation: sums for the gradients of its parameters and input. */
  readonly sumsAt: (position: number, region: Region) => UnplacedOperand
  /** Where a parameter's gradient is summed over the tiles and micro-batches. */
  readonly sumOf: (parameter: ParameterTensor) => Buffer
  /** Whether several tiles add to the sums. */
  readonly partial: boolean
  /** Weights as the gradient of the input reads them. */
  readonly backwardWeights: (weight: ParameterTensor) => UnplacedOperand
  /** Told when this tile has no more use for a layer's parameters. */
  readonly done: (parameters: NodeParameters) => void
}

/** Whether a tile's gradient of an input can be written where it belongs: no other tile reads these rows and columns, so none adds to them. */
export const writesDirectly = (scope: ModelScope, input: WholeTensor, region: Region, { grid }: Segment): boolean => {
  if (grid.H > 1 || grid.W > 1) return false
  return grid.B > 1 ? viewOf(scope, input, region) !== undefined : coversAll(input, region)
}

interface Target {
  readonly address: UnplacedOperand
  /** Adds what was written to the sum over tiles and micro-batches. */
  readonly add: () => void
}
const nowhere: Target = { address: none, add: () => undefined }

/** Where a tile's gradient of a parameter goes. */
const targetOf = (
  { builder, parameterBytes, objective }: ModelScope,
  { sumOf, partial }: Pick<BoundGradients, 'sumOf' | 'partial'>
): ((parameters: NodeParameters | undefined, role: 'weight' | 'bias') => Target) => {
  const adds = partial || microBatches(objective) > 1
  const ownBuffer = ({ name, elements }: ParameterTensor, role: 'local' | 'unwanted' = 'local'): UnplacedOperand =>
    at(builder.buffer(`${partial ? 'tile' : 'micro-batch'}'s gradient of ${name}`, elements * parameterBytes, role))
  return (parameters, role) => {
    const parameter = parameters?.[role]
    if (parameter === undefined) return nowhere
    if (parameter.learning === undefined)
      // Kernels give a bias its gradient beside that of its weight, wanted or not.
      return role === 'weight' && learningTensors(parameters).length > 0
        ? { ...nowhere, address: ownBuffer(parameter, 'unwanted') }
        : nowhere
    const sum = at(sumOf(parameter))
    if (!adds) return { ...nowhere, address: sum }
    const address = ownBuffer(parameter)
    return { address, add: () => copyElements(builder, parameter.elements, address, sum, 1) }
  }
}

/** The gradients of a normalisation's parameters, once its sums are complete. */
export const normalisationParameters = (
  scope: ModelScope,
  position: number,
  images: number,
  sums: UnplacedOperand,
  gradients: Pick<BoundGradients, 'sumOf'>
): void => {
  const parameters = scope.parameters[position]
  if (learningTensors(parameters).length === 0) return
  const target = targetOf(scope, { ...gradients, partial: false })
  const [weight, bias] = [target(parameters, 'weight'), target(parameters, 'bias')]
  scope.builder.launch<'normaliseParameters'>(
    { kind: 'normaliseParameters', images, channels: scope.graph.nodes[position]!.input[1] },
    { sums, weightGradient: weight.address, biasGradient: bias.address }
  )
  weight.add()
  bias.add()
}

/** Gradients of one tile: ordinary backward of a small network, seeded with the owned parts of the outputs' gradients (DESIGN §3). */
export const backwardBody = (
  scope: TileScope,
  bound: BoundSegment,
  body: Body,
  steps: readonly Step[],
  gradients: BoundGradients
): void => {
  const { builder, activationBytes, parameterBytes, stepIo, graph, device } = scope
  const { segment, ends, boundaries, streams } = bound
  const received = new Map<number, TileTensor>()
  const waiting = new Map<number, TileTensor>()
  const given = new Set<number>()
  const target = targetOf(scope, gradients)

  /** The gradient of a tensor may have another layout than the tensor: the network's input is loaded as its first reader likes it. */
  const layoutOf = (step: Step, operand: number): TileTensor['layout'] =>
    step.node.inputs[operand] === 0 && step.node.op === 'conv2d'
      ? device.activationLayout(step.sources[operand]!.extents[1], false)
      : step.sources[operand]!.layout

  /** The gradient that comes from behind the segment, added to what came from within. */
  const seeded = (tensor: number): TileTensor | undefined => {
    const fromWithin = received.get(tensor)
    if (!ends.outputs.includes(tensor)) return fromWithin
    const [region, owned] = [regionOf(body, tensor), ownedRegionOf(body, tensor)]
    const stream = streams.get(tensor)
    const whole = stream === undefined ? boundaries.get(tensor)?.gradient : stream.gradient
    if (whole === undefined) return fromWithin
    const alone = fromWithin === undefined && isSameRegion(region, owned)
    const part = stream && seedOnHost(scope, stream, owned)
    if (part === undefined) builder.seed(whole.buffer)
    const seed = alone ? (part ?? viewOfOutput(scope, graph.nodes[tensor - 1]!, whole, region)) : undefined
    if (seed !== undefined) return seed
    const tile = fromWithin ?? freshTile(scope, 'tile of the output gradient', regionExtents(region, whole.extents[1]), whole.layout)
    if (fromWithin === undefined && !isSameRegion(region, owned)) zeroTile(builder, tile, activationBytes)
    const source = part === undefined ? { tensor: whole, region: owned } : allOf(part)
    copyPart(builder, source, { tensor: tile, region: within(region, owned) }, fromWithin === undefined ? 0 : 1, activationBytes)
    return tile
  }
  /** Where an op writes the gradient of an operand: where it belongs, over the gradient of its output, or to a place of its own. */
  const placeFor = (step: Step, operand: number, destination: TileTensor | undefined): TileTensor => {
    const tensor = step.node.inputs[operand]!
    const source = step.sources[operand]!
    const shape = { extents: source.extents, layout: layoutOf(step, operand) }
    const region = readRegionOf(body, step.position - segment.from, tensor)
    const whole = tensor <= segment.from ? gradients.inputOf(tensor) : undefined
    // An op that reads a tensor twice adds to it the second time.
    const isFirstOperand = step.node.inputs.indexOf(tensor) === operand
    if (whole !== undefined && whole !== 'exchange' && isFirstOperand && startsAt(tensor, whole, region))
      return viewOf(scope, whole, region)!
    if (operand === 0 && loweringOf(step.node).inPlace && destination !== undefined) return { address: destination.address, ...shape }
    return freshTile(scope, `gradient of the input of ${step.node.name}`, shape.extents, shape.layout)
  }
  const startsAt = (tensor: number, whole: WholeTensor, region: Region): boolean =>
    !given.has(tensor) && gradients.isFirst(tensor) && writesDirectly(scope, whole, region, segment)

  /** Hands a tile's contribution to the gradient of a tensor on. `own`: nobody else needs the tile any more. */
  const contribute = (tensor: number, region: Region, tile: TileTensor, own: boolean): void => {
    if (tensor > segment.from || streams.has(tensor)) {
      const held = regionOf(body, tensor)
      const before = received.get(tensor)
      if (before === undefined && own && isSameRegion(held, region)) return void received.set(tensor, tile)
      const sum = before ?? freshTile(scope, 'sum of gradients', regionExtents(held, tile.extents[1]), tile.layout)
      const covers = before === undefined && isSameRegion(held, region)
      if (before === undefined && !covers) zeroTile(builder, sum, activationBytes)
      received.set(tensor, sum)
      return copyPart(builder, allOf(tile), { tensor: sum, region: within(held, region) }, covers ? 0 : 1, activationBytes)
    }
    const whole = gradients.inputOf(tensor)
    if (whole === 'exchange') {
      const { fields, address } = inExchange(tile, graph.input, region, stepIo.inputGradient, parameterBytes)
      builder.launch<'scatterAdd'>({ kind: 'scatterAdd', ...fields }, { source: tile.address, destination: address })
    } else if (whole !== undefined) {
      const direct = startsAt(tensor, whole, region)
      given.add(tensor)
      const view = viewOf(scope, whole, region)
      const isThere = view !== undefined && view.address.space === 'arena' && tile.address.space === 'arena'
      if (direct && isThere && view.address.buffer === tile.address.buffer) return
      copyPart(builder, allOf(tile), { tensor: whole, region }, direct ? 0 : 1, activationBytes)
    }
  }
  const gradientFor = (step: Step, operand: number, tile: TileTensor): TileTensor =>
    inLayout(scope, tile, layoutOf(step, operand), 'gradient in another layout')

  /** Backward of a normalisation: its sums, and its input's gradient unless that waits for the other tiles. */
  const normalise = (step: Step, destination: TileTensor): void => {
    const { node, position, source } = step
    if (!isNormalisation(node)) return
    const { fields, operands } = normalisationKernel(scope, node, position, source, step.sourceRegion, step.slope)
    const sums = gradients.sumsAt(position, step.sourceRegion)
    const dy = { destinationGradient: destination.address }
    if (sums !== none) builder.launch<'normaliseSums'>({ kind: 'normaliseSums', ...fields }, { ...operands, ...dy, sums })
    const [tensor] = node.inputs
    if (!scope.requiresGrad[tensor!]!) return
    const pending = gradients.pendingOf(position)
    if (pending === 'host') return void waiting.set(position, destination)
    if (pending !== undefined)
      return copyPart(builder, allOf(destination), { tensor: pending, region: step.sourceRegion }, 1, activationBytes)
    const place = placeFor(step, 0, destination)
    builder.launch<'normaliseBackward'>(
      { kind: 'normaliseBackward', ...fields, add: 0 },
      { ...operands, ...dy, sums: gathersMoments(node) ? sums : none, sourceGradient: place.address }
    )
    contribute(tensor!, step.sourceRegion, { ...place, extents: source.extents }, true)
  }

  for (const step of [...steps].reverse()) {
    const { node, position } = step
    const isWanted = scope.requiresGrad[position + 1]!
    if (!isWanted) continue
    if (tileCount(segment.grid) === 1) builder.timepoint(2 * graph.nodes.length - 1 - position)
    const destination = seeded(position + 1)
    const regionFor = (tensor: number): Region => readRegionOf(body, position - segment.from, tensor)
    const wanted = node.inputs.map((tensor) => scope.requiresGrad[tensor]!)
    if (isNormalisation(node)) {
      normalise(step, destination!)
      continue
    }
    if (step.fusedIntoPrevious || loweringOf(node).passesGradient === true) {
      // The first operand may take the tile itself, so it comes last.
      for (const [operand, tensor] of [...node.inputs.entries()].reverse())
        if (wanted[operand]!) contribute(tensor, regionFor(tensor), gradientFor(step, operand, destination!), operand === 0)
      continue
    }
    const sources = node.inputs.map((_, operand) => (wanted[operand]! ? placeFor(step, operand, destination) : undefined))
    const [weight, bias] = [target(step.parameters, 'weight'), target(step.parameters, 'bias')]
    loweringOf(node).backward(scope, step as never, {
      destination,
      sources,
      source: sources[0],
      weight: weight.address,
      bias: bias.address,
      backwardWeights: () => gradients.backwardWeights(step.parameters!.weight!)
    })
    weight.add()
    bias.add()
    if (step.parameters !== undefined) gradients.done(step.parameters)
    sources.forEach((source, operand) => {
      const tensor = node.inputs[operand]!
      if (source !== undefined) contribute(tensor, regionFor(tensor), source, true)
    })
  }
  for (const one of gradients.outgoing) {
    const tile = one.position === undefined ? received.get(one.tensor)! : waiting.get(one.position)!
    handOn(scope, one, body, tile)
  }
}

/** After the tiles: the gradient of a normalisation's input, where it waited for that of its output (DESIGN §3: affine, not linear, in dy). */
export const emitPending = (
  scope: ModelScope,
  position: number,
  whole: { readonly source: TileTensor; readonly dy: TileTensor; readonly gradient: TileTensor; readonly sums: UnplacedOperand },
  slope: number
): void => {
  const node = scope.graph.nodes[position] as Normalisation
  const { fields, operands } = normalisationKernel(scope, node, position, whole.source, allOf(whole.source).region, slope)
  const add = whole.dy === whole.gradient ? 0 : 1
  scope.builder.launch<'normaliseBackward'>(
    { kind: 'normaliseBackward', ...fields, add },
    { ...operands, sums: whole.sums, destinationGradient: whole.dy.address, sourceGradient: whole.gradient.address }
  )
}
