import { windowOf } from '../../dsl'
import type { Node } from '../graph'
import { layoutCode, weightElements, type Layout } from '../layout'
import { learningOf, updatesLater } from '../objective'
import type { Context, NodeParameters, Optimizer, ParameterTensor } from './context'
import { at, none, type Buffer, type Emitter, type Virtual } from './emitter'
import { copyElements } from './tensors'

const weightForms = (node: Node, sourceLayout: Layout, { device }: Pick<Context, 'device'>) => {
  if (node.op !== 'conv2d') return { forward: 'plain', backwardData: 'plain', transformable: false } as const
  const { kernel, stride, dilation, padding } = windowOf(node.args)
  const [inChannels, outChannels, groups] = [node.input[1], node.output[1], node.args.groups ?? 1]
  const shape = { inChannels, outChannels, groups, kernel, stride, dilation, padding, sourceLayout }
  return { ...device.weightLayouts(shape), transformable: device.winograd(shape) }
}

/** A node's parameters in the arena, where they live across steps; undefined for an op that has none. */
export const parameterTensors = (
  node: Node,
  sourceLayout: Layout,
  { device, emit, elementBytes, objective }: Pick<Context, 'device' | 'emit' | 'elementBytes' | 'objective'>
): NodeParameters | undefined => {
  const [weight, bias] = ['weight', 'bias'].map((wanted) => node.parameters.find(({ role }) => role === wanted))
  if (weight === undefined) return undefined
  const groups = node.op === 'conv2d' ? (node.args.groups ?? 1) : 1
  const { forward, backwardData, transformable } = weightForms(node, sourceLayout, { device })
  const [out, inFeatures, height = 1, width = 1] = weight.shape as readonly [number, number, number?, number?]
  const tensor = (
    name: string,
    shape: readonly number[],
    layout: Layout,
    backwardLayout: Layout,
    elements: number,
    transformable = false
  ): ParameterTensor => {
    const learning = learningOf(objective, name)
    const resident = (of: string) => emit.buffer(of, elements * elementBytes, 'resident')
    return {
      name,
      shape,
      layout,
      backwardLayout,
      groups,
      elements,
      transformable,
      learning,
      buffer: resident(name),
      gradient: learning !== undefined && updatesLater(objective) ? resident(`gradient.${name}`) : undefined
    }
  }
  return {
    weight: tensor(
      weight.name,
      weight.shape,
      forward,
      backwardData,
      weightElements(forward, [out, inFeatures, height, width], groups),
      transformable
    ),
    bias: bias && tensor(bias.name, bias.shape, 'plain', 'plain', out)
  }
}

export const tensorsOf = (parameters: NodeParameters): readonly ParameterTensor[] =>
  parameters.bias === undefined ? [parameters.weight] : [parameters.weight, parameters.bias]

/** Those of a node's parameters that are not frozen. */
export const learningTensors = (parameters: NodeParameters | undefined): readonly ParameterTensor[] =>
  parameters === undefined ? [] : tensorsOf(parameters).filter(({ learning }) => learning !== undefined)

/** Copies a parameter (or a tensor of its form) from one layout to another. */
export const reorderParameter = (
  emit: Emitter,
  { shape, groups, elements }: ParameterTensor,
  [source, sourceLayout]: readonly [Virtual, Layout],
  [destination, destinationLayout]: readonly [Virtual, Layout]
): void => {
  if (sourceLayout === destinationLayout) return copyElements(emit, elements, source, destination, 0)
  const [outChannels, inPerGroup, kernelHeight, kernelWidth] = shape as readonly [number, number, number, number]
  emit.launch<'reorderWeights'>(
    {
      kind: 'reorderWeights',
      outChannels,
      inChannels: inPerGroup * groups,
      kernelHeight,
      kernelWidth,
      groups,
      sourceLayout: layoutCode(sourceLayout),
      destinationLayout: layoutCode(destinationLayout)
    },
    { source, destination }
  )
}

/** Weights in another layout: as they are stored, or a copy. */
export const weightsIn = (
  { emit, elementBytes }: Pick<Context, 'emit' | 'elementBytes'>,
  weight: ParameterTensor,
  layout: Layout
): Virtual => {
  const stored = at(weight.buffer)
  if (weight.layout === layout) return stored
  const elements = weightElements(layout, weight.shape as readonly [number, number, number, number], weight.groups)
  const copy = at(emit.buffer(`${weight.name} in layout ${layout}`, elements * elementBytes))
  reorderParameter(emit, weight, [stored, weight.layout], [copy, layout])
  return copy
}

/** Names of an optimizer's buffers; each has the form of its parameter and starts at zero. */
export const stateNames = (optimizer: Optimizer): readonly string[] =>
  optimizer.kind === 'sgd' ? (optimizer.momentum === 0 ? [] : ['velocity']) : ['firstMoment', 'secondMoment']

/** One optimizer update of a parameter that learns from its complete gradient. */
export const updateParameter = (
  emit: Emitter,
  optimizer: Optimizer,
  { buffer, elements, learning }: ParameterTensor,
  gradient: Buffer,
  state: readonly Buffer[]
): void => {
  const operands = { weights: at(buffer), gradient: at(gradient) }
  const fields = { count: elements, ...learning! }
  const [first = none, second = none] = state.map((part) => at(part))
  if (optimizer.kind === 'sgd')
    emit.launch<'sgd'>({ kind: 'sgd', ...fields, momentum: optimizer.momentum }, { ...operands, velocity: first })
  else
    emit.launch<'adam'>(
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
