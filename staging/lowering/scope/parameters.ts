import type { BufferIdentity } from '../ir/buffer-identity'
import { isTrainable, type Node, type Parameter } from '../../graph/graph'
import { isTransformed, layoutCode, roundUp, weightElements, type Layout, type TransformedLayouts } from '../../kernels/layout'
import {
  findTrainingParameters,
  gradientSlices,
  hasSeparateUpdate,
  ranksOfOptimizer,
  reducingRanks,
  type Optimizer,
  type TrainingParameters
} from '../../graph/objective'
import { type Segment } from '../../plans/plan'
import { tileCount } from '../../graph/span'
import { isMixedPrecision, type ModelScope, type SegmentScope } from './scope'
import type { NodeParameters, ParameterTensor } from './parameter-tensor'
import type { WeightLayouts } from '../../devices/device-model'
import { arenaOperand, noOperand, type Buffer, type Builder, type UnplacedOperand } from '../ir/builder'
import { copyElements } from './copies'

/** How a node's weights are stored, and as what its kernels read them. */
export interface WeightForms extends WeightLayouts {
  /** As what Winograd reads them; undefined where the device may not transform them for it. */
  readonly transformed: TransformedLayouts | undefined
  /** The directions in which Winograd reads them as they are stored where nothing is tiled. */
  readonly storedForWinograd: readonly (keyof TransformedLayouts)[]
  /** Whether the device has the convolution as one that normalises what it reads. */
  readonly normalisable: boolean
  /** Groups of channels, each with weights of its own. */
  readonly groups: number
}

/**
 * A node's parameters in the arena, where they live across steps; undefined for an op that has
 * none.
 */
export const parameterTensors = (
  node: Node,
  { stored, forward, backwardData, transformed, storedForWinograd, normalisable, groups }: WeightForms,
  { graph: { objective }, builder, parameterBytes }: Pick<ModelScope, 'graph' | 'builder' | 'parameterBytes'>
): NodeParameters | undefined => {
  if (node.parameters.length === 0) return undefined
  const tensor = (role: Parameter['role']): ParameterTensor | undefined => {
    const parameter = node.parameters.find((one) => one.role === role)
    if (parameter === undefined) return undefined
    const { name, shape } = parameter
    const [out, inPerGroup = 1, height = 1, width = 1] = shape as readonly [number, number?, number?, number?]
    const learning = isTrainable(parameter) ? findTrainingParameters(objective, name) : undefined
    const isWeight = role === 'weight'
    const elements = isWeight ? weightElements(stored, [out, inPerGroup, height, width], groups) : out
    const resident = (identity: BufferIdentity, count: number) => builder.buffer(identity, count * parameterBytes, 'persistent')
    const isReduced = reducingRanks(objective) !== undefined
    // So that ranks have slices of one size, however many there are.
    const kept = isReduced ? roundUp(elements, gradientSlices(objective)) : elements
    const sliced = learning === undefined ? undefined : ranksOfOptimizer(objective)
    const updatedElements = sliced === undefined ? elements : kept / sliced
    return {
      name,
      shape,
      layout: isWeight ? stored : 'plain',
      forwardLayout: isWeight ? forward : 'plain',
      backwardLayout: isWeight ? backwardData : 'plain',
      groups,
      elements,
      updatedElements,
      transformed: isWeight ? transformed : undefined,
      storedForWinograd: isWeight ? storedForWinograd : [],
      normalisable: isWeight && normalisable,
      learning,
      // Slices of weights are gathered as those of gradients are.
      buffer: resident({ kind: 'parameter', parameter: name }, sliced === undefined ? elements : kept),
      gradient:
        learning !== undefined && hasSeparateUpdate(objective)
          ? resident({ kind: 'state', parameter: name, state: 'gradient' }, kept)
          : undefined,
      sum:
        learning !== undefined && isReduced
          ? resident({ kind: 'state', parameter: name, state: 'sum' }, sliced === undefined ? kept : updatedElements)
          : undefined
    }
  }
  return { weight: tensor('weight'), bias: tensor('bias'), mean: tensor('runningMean'), variance: tensor('runningVariance') }
}

/** The parameters of a node, in the order of the graph's. */
export const listParameters = ({ weight, bias, mean, variance }: NodeParameters): readonly ParameterTensor[] =>
  [weight, bias, mean, variance].filter((tensor) => tensor !== undefined)

/** The parameters of a node that are not frozen. */
export const trainableTensors = (parameters: NodeParameters | undefined): readonly ParameterTensor[] =>
  parameters === undefined ? [] : listParameters(parameters).filter(({ learning }) => learning !== undefined)

/** Copies a parameter (or a tensor of its form) from one layout to another. */
export const reorderParameter = (
  builder: Builder,
  parameter: ParameterTensor,
  [source, sourceLayout]: readonly [UnplacedOperand, Layout],
  [destination, destinationLayout]: readonly [UnplacedOperand, Layout]
): void => {
  if (sourceLayout === destinationLayout) return copyElements(builder.launch, parameter.elements, source, destination, 0)
  builder.launch<'reorderWeights'>(
    { kind: 'reorderWeights', ...reorderFields(parameter, sourceLayout, destinationLayout) },
    { source, destination }
  )
}

/** Fields of a kernel that copies a parameter, of two dimensions or four, between layouts. */
export const reorderFields = ({ shape, groups }: ParameterTensor, source: Layout, destination: Layout) => {
  const [outChannels, inPerGroup, kernelHeight = 1, kernelWidth = 1] = shape as readonly [number, number, number?, number?]
  return {
    outChannels,
    inChannels: inPerGroup * groups,
    kernelHeight,
    kernelWidth,
    groups,
    sourceLayout: layoutCode(source),
    destinationLayout: layoutCode(destination)
  }
}

/**
 * Whether products read a copy of these weights that is rounded; those of normalisations are read
 * as they are.
 */
export const isCast = (scope: Pick<ModelScope, 'activationBytes' | 'parameterBytes'>, { shape }: ParameterTensor): boolean =>
  isMixedPrecision(scope) && shape.length > 1

/**
 * Weights as a product reads them: as they are stored, or a copy in another layout or rounded to
 * the activations' type.
 */
export const weightsIn = (scope: WeightScope, weight: ParameterTensor, layout: Layout): UnplacedOperand => {
  if (!isCast(scope, weight) || isTransformed(layout))
    return weight.layout === layout ? arenaOperand(weight.buffer) : reorderWeight(scope, weight, layout)
  const shared = weight.forwardLayout === layout ? scope.castWeights.get(weight) : undefined
  if (shared !== undefined) return shared
  const copy = arenaOperand(scope.builder.buffer({ kind: 'cast-weights', parameter: weight.name }, copyBytes(scope, weight, layout)))
  scope.builder.launch<'castWeights'>(
    { kind: 'castWeights', ...reorderFields(weight, weight.layout, layout) },
    { source: arenaOperand(weight.buffer), destination: copy }
  )
  return copy
}

/**
 * Bytes of the copy that `weightsIn` makes of weights; 0 where they are read as they are stored.
 */
export const copyBytes = (
  scope: Pick<ModelScope, 'activationBytes' | 'parameterBytes'>,
  weight: ParameterTensor,
  layout: Layout
): number => {
  const isRounded = isCast(scope, weight) && !isTransformed(layout)
  if (!isRounded && weight.layout === layout) return 0
  return elementsIn(weight, layout) * (isRounded ? scope.activationBytes : scope.parameterBytes)
}

type WeightScope = Pick<SegmentScope, 'builder' | 'activationBytes' | 'parameterBytes' | 'castWeights'>

const elementsIn = ({ shape, groups }: ParameterTensor, layout: Layout): number => {
  const [out, inPerGroup, height = 1, width = 1] = shape as readonly [number, number, number?, number?]
  return weightElements(layout, [out, inPerGroup, height, width], groups)
}

const reorderWeight = (scope: WeightScope, weight: ParameterTensor, layout: Layout): UnplacedOperand => {
  const identity = { kind: 'reordered-weights', parameter: weight.name, layout } as const
  const copy = arenaOperand(scope.builder.buffer(identity, copyBytes(scope, weight, layout)))
  reorderParameter(scope.builder, weight, [arenaOperand(weight.buffer), weight.layout], [copy, layout])
  return copy
}

/** Whether copies of weights are made before a segment's tiles, which share them. */
export const sharesCopies = ({ grid, reorder }: Segment): boolean => tileCount(grid) > 1 && reorder === 'once'

/**
 * Before the tiles of a segment: the weights of these layers that its tiles share, cast to the
 * activations' type.
 */
export const castSharedWeights = (
  scope: ModelScope,
  segment: Segment,
  layers: readonly (NodeParameters | undefined)[]
): SegmentScope['castWeights'] => {
  if (!isMixedPrecision(scope) || !sharesCopies(segment)) return new Map()
  const transformed = new Set((segment.winograd ?? []).map((position) => scope.parameters[position]!.weight))
  const cast = (weight: ParameterTensor | undefined): weight is ParameterTensor =>
    weight !== undefined && isCast(scope, weight) && !transformed.has(weight)
  const weights = new Set(layers.map((both) => both?.weight).filter(cast))
  const notYetCast = { ...scope, castWeights: new Map() }
  return new Map([...weights].map((weight) => [weight, weightsIn(notYetCast, weight, weight.forwardLayout)]))
}

/** Names of an optimizer's buffers; each has the form of its parameter and starts at zero. */
export const stateNames = (optimizer: Optimizer): readonly string[] =>
  optimizer.kind === 'sgd' ? (optimizer.momentum === 0 ? [] : ['velocity']) : ['firstMoment', 'secondMoment']

/** What of a parameter an optimizer updates: all of it, or a slice. */
export interface Updated {
  readonly learning: TrainingParameters
  readonly count: number
  readonly weights: UnplacedOperand
  /** Complete. */
  readonly gradient: UnplacedOperand
  /** The optimizer's buffers, in the order of `stateNames`. */
  readonly state: readonly UnplacedOperand[]
}

/** One optimizer update of a parameter that learns, or of a slice of it. */
export const updateElements = (builder: Builder, optimizer: Optimizer, { learning, count, weights, gradient, state }: Updated): void => {
  const operands = { weights, gradient }
  const fields = { count, ...learning }
  const [first = noOperand, second = noOperand] = state
  if (optimizer.kind === 'sgd')
    builder.launch<'sgd'>({ kind: 'sgd', ...fields, momentum: optimizer.momentum }, { ...operands, velocity: first })
  else
    builder.launch<'adam'>(
      {
        kind: 'adam',
        ...fields,
        beta1: optimizer.beta1,
        beta2: optimizer.beta2,
        epsilon: optimizer.epsilon,
        decoupled: optimizer.kind === 'adamw' ? 1 : 0
      },
      { ...operands, firstMoment: first, secondMoment: second }
    )
}

/** One optimizer update of all of a parameter that learns from its complete gradient. */
export const updateParameter = (
  builder: Builder,
  optimizer: Optimizer,
  { buffer, elements, learning }: ParameterTensor,
  gradient: Buffer,
  state: readonly Buffer[]
): void =>
  updateElements(builder, optimizer, {
    learning: learning!,
    count: elements,
    weights: arenaOperand(buffer),
    gradient: arenaOperand(gradient),
    state: state.map((part) => arenaOperand(part))
  })
