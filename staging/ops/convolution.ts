import { toWindow, type ArgsOf } from '../../dsl/internal'
import { imageAccess, type AccessMap } from '../graph/access'
import { elementCount } from '../graph/extents'
import type { Node } from '../graph/graph'
import type { DeviceModel } from '../devices/device-model'
import { layoutCode, transformedFor, type LargestTile, type Layout, type TransformedLayouts } from '../kernels/layout'
import { chooseTile } from '../kernels/winograd-products'
import type { ConvolutionKernel, Kernel } from '../kernels/kernels'
import { algorithmWithin, scratchFor } from '../lowering/scope/workspace'
import { windowFields } from '../kernels/window-fields'
import type { OpStep, StepGradients } from '../lowering/scope/op-step'
import { arenaOperand, noOperand, offsetBy, zeroStrides } from '../lowering/ir/builder'
import { copyBytes, weightsIn } from '../lowering/scope/parameters'
import { tensorBytes } from '../lowering/scope/regions'
import { hasSlices, sliceElements } from '../lowering/scope/weight-slices'
import { launchBackward, type DataProduct, type WeightsProduct } from './backward-order'
import { requireParameters } from './require-parameters'
import { weightAndBias, type NodeFor, type OpLowering } from './op-lowering'
import type { TileScope } from '../lowering/scope/scope'
import { normalisedBackwardWeights, normalisedForward } from './normalised-convolution'
import { launchInSlices } from './winograd-slices'

/** Returns the access map of an op that slides a window. */
export const windowAccess = (args: ArgsOf<'conv2d' | 'maxPool2d' | 'avgPool2d'>): AccessMap => {
  const { kernel, stride, dilation, padding } = toWindow(args)
  const [before, after] = [[padding.top, padding.left] as const, [padding.bottom, padding.right] as const]
  return imageAccess((index) => ({
    kind: 'window',
    kernel: kernel[index],
    stride: stride[index],
    dilation: dilation[index],
    padBefore: before[index],
    padAfter: after[index]
  }))
}

/**
 * Returns the multiply-adds per output of an op each of whose outputs is a product with a row of
 * the weights.
 */
export const productsPerOutput = ({ parameters }: Pick<Node, 'parameters'>): number => elementCount(parameters[0]!.shape.slice(1))

/** A convolution, and as much of the tiles that it reads and writes as its kernels' fields say. */
type Geometry = Parameters<typeof windowFields>[1] & {
  readonly node: Pick<NodeFor<'conv2d'>, 'args'>
  readonly destination: { readonly layout: Layout }
}

/**
 * What is spread comes last: V8 is a hundred times slower the other way round, and plans are made
 * of a million of these.
 */
const fields = (step: Geometry, sourceLayout: Layout, weightLayout: Layout, algorithm: number) => ({
  outChannels: step.node.args.out,
  groups: step.node.args.groups ?? 1,
  sourceLayout: layoutCode(sourceLayout),
  destinationLayout: layoutCode(step.destination.layout),
  weightLayout: layoutCode(weightLayout),
  algorithm,
  ...windowFields(toWindow(step.node.args), step)
})

/** The kernel by Winograd, where a plan says so, or by the algorithm that the workspace allows. */
const chooseKernel = <K extends ConvolutionKernel>(scope: TileScope, isWinograd: boolean, kernelBy: (algorithm: number) => K): K => {
  if (isWinograd) return kernelBy(1)
  const direct = kernelBy(0)
  const algorithm = algorithmWithin(scope, direct)
  return algorithm === 0 ? direct : kernelBy(algorithm)
}

type ConvolutionStep = OpStep<NodeFor<'conv2d'>>

/** The gradients of the weights and the bias; undefined where none is wanted. */
const backwardWeights = (scope: TileScope, step: ConvolutionStep, gradients: StepGradients): WeightsProduct | undefined => {
  const { weight } = requireParameters(step.parameters)
  const { weight: weightGradient, bias: biasGradient } = gradients
  if (weightGradient.space !== 'arena') return undefined
  const { role, bytes } = weightGradient.buffer
  const productOf = (kernel: Kernel, launch: () => void): WeightsProduct => ({
    keptBytes: role === 'local' ? bytes : 0,
    bytes: () => (role === 'persistent' ? 0 : bytes) + (scope.device.scratchBytes(kernel) ?? 0),
    launch
  })
  if (step.normaliser !== undefined) {
    const { kernel, launch } = normalisedBackwardWeights(scope, step, step.normaliser, gradients)
    return productOf(kernel, launch)
  }
  const kernel = chooseKernel(scope, scope.winograd.has(weight), (algorithm) => ({
    kind: 'convolutionBackwardWeights' as const,
    ...fields(step, step.source.layout, weight.layout, algorithm)
  }))
  return productOf(kernel, () =>
    scope.builder.launch<'convolutionBackwardWeights'>(kernel, {
      source: step.source.address,
      destinationGradient: gradients.destination!.address,
      weightGradient,
      biasGradient,
      scratch: scratchFor(scope, kernel)
    })
  )
}

/** The gradient of the input; undefined where it is not wanted. */
const backwardData = (scope: TileScope, step: ConvolutionStep, gradients: StepGradients): DataProduct | undefined => {
  if (gradients.source === undefined) return undefined
  const { weight } = requireParameters(step.parameters)
  const [result, destination] = [gradients.source, gradients.destination!]
  const byWinograd = scope.winograd.get(weight)
  const layout = byWinograd?.backward.layout ?? weight.backwardLayout
  const kernel = chooseKernel(scope, byWinograd !== undefined, (algorithm) => ({
    kind: 'convolutionBackwardData' as const,
    ...fields(step, result.layout, layout, algorithm)
  }))
  // The first to read the gradient of the output reads all of it (staging/verify/seeds.ts).
  const readsAll = gradients.weight !== noOperand || result.extents[0] === 1
  if (byWinograd?.inSlices === true && readsAll && hasSlices(weight, 'backward'))
    return {
      bytes: () => sliceElements(weight, 'backward') * scope.parameterBytes,
      isSecond: result.extents[0] > 1,
      launch: () =>
        launchInSlices(
          scope,
          {
            ...{ weight, direction: 'backward', operand: destination, result },
            kernelOf: (channels) => ({ ...kernel, batch: 1, inChannels: channels })
          },
          (ofSlice, { operand, weights, result: made, scratch }) =>
            scope.builder.launch<'convolutionBackwardData'>(ofSlice, {
              destinationGradient: operand,
              weights,
              sourceGradient: made,
              scratch
            })
        )
    }
  // What Winograd reads as it is stored is not even rounded.
  const isCopied = !scope.sharesCopies && (byWinograd === undefined || layout !== weight.layout)
  return {
    bytes: () => (isCopied ? copyBytes(scope, weight, layout) : 0) + (scope.device.scratchBytes(kernel) ?? 0),
    isSecond: false,
    launch: () =>
      scope.builder.launch<'convolutionBackwardData'>(kernel, {
        destinationGradient: destination.address,
        weights: byWinograd?.backward.weights() ?? gradients.backwardWeights(),
        sourceGradient: result.address,
        scratch: scratchFor(scope, kernel)
      })
  }
}

/**
 * Winograd's tiles, forward and backward. Those of 6x6 results round further: forward, more inputs
 * of rectifiers and pools would then change sides, where bf16 does not round further still.
 */
const winogradTiles = (
  { precision }: DeviceModel,
  { args, input, output }: Pick<NodeFor<'conv2d'>, 'args' | 'input' | 'output'>
): readonly [forward: LargestTile, backward: LargestTile] => {
  const { dilation } = toWindow(args)
  const chosen = ([batch, , height, width]: readonly number[]) =>
    chooseTile({ batch: batch!, height: height!, width: width!, dilation }, input[1], args.out)
  return [precision === 'float32' ? 4 : chosen(output), chosen(input)]
}

/** The directions of a whole convolution that the device has by Winograd of weights as stored. */
const storedForWinograd = (
  { winogradOfStored, activationLayout }: DeviceModel,
  { args, input, output }: Pick<NodeFor<'conv2d'>, 'args' | 'input' | 'output'>,
  sourceLayout: Layout,
  stored: Layout
): readonly (keyof TransformedLayouts)[] => {
  if (winogradOfStored === undefined) return []
  const { top, bottom, left, right } = toWindow(args).padding
  const whole: Geometry = {
    node: { args },
    source: { extents: input },
    destination: { extents: output, layout: activationLayout(args.out, false) },
    rows: { padBefore: top, padAfter: bottom },
    columns: { padBefore: left, padAfter: right }
  }
  const ofWhole = fields(whole, sourceLayout, stored, 1)
  return [
    ...(winogradOfStored({ kind: 'convolutionForward', slope: 1, ...ofWhole }) ? (['forward'] as const) : []),
    ...(winogradOfStored({ kind: 'convolutionBackwardData', ...ofWhole }) ? (['backward'] as const) : [])
  ]
}

/** Convolution by windows, with groups and dilation; by Winograd where a plan says so. */
export const conv2d: OpLowering<'conv2d'> = {
  access: windowAccess,
  parameters: (args, inChannels) =>
    weightAndBias([args.out, inChannels / (args.groups ?? 1), ...toWindow(args).kernel], args.out, args.bias),
  multiplyAdds: productsPerOutput,
  weightForms: (device, { args, input, output }, sourceLayout) => {
    const { kernel, stride, dilation, padding } = toWindow(args)
    const { top, bottom, left, right } = padding
    const { out, groups = 1 } = args
    const shape = { inChannels: input[1], outChannels: out, groups, kernel, stride, dilation, padding, sourceLayout }
    const isPointwise = kernel[0] * kernel[1] * stride[0] * stride[1] === 1 && groups === 1 && top + bottom + left + right === 0
    const layouts = device.weightLayouts(shape)
    const byWinograd = device.winograd(shape)
    return {
      ...layouts,
      transformed: byWinograd ? transformedFor(...winogradTiles(device, { args, input, output })) : undefined,
      storedForWinograd: byWinograd ? storedForWinograd(device, { args, input, output }, sourceLayout, layouts.stored) : [],
      normalisable: isPointwise && device.normaliseOnLoad(shape),
      groups
    }
  },
  readsImageLayout: true,
  saves: { input: 'for-weights' },
  inPlace: false,
  fusesRectifier: 'forward',
  outputLayout: ({ device }, _, { args }) => device.activationLayout(args.out, false),
  forward: (scope, step) => {
    if (step.normaliser !== undefined) return normalisedForward(scope, step, step.normaliser)
    const { weight, bias } = requireParameters(step.parameters)
    const byWinograd = scope.winograd.get(weight)
    const layout = byWinograd?.forward.layout ?? weight.forwardLayout
    const kernel = chooseKernel(scope, byWinograd !== undefined, (algorithm) => ({
      kind: 'convolutionForward' as const,
      slope: step.slope,
      ...fields(step, step.source.layout, layout, algorithm)
    }))
    const biases = bias === undefined ? noOperand : arenaOperand(bias.buffer)
    if (byWinograd?.inSlices === true && hasSlices(weight, 'forward'))
      return launchInSlices(
        scope,
        {
          ...{ weight, direction: 'forward', operand: step.source, result: step.destination },
          kernelOf: (channels) => ({ ...kernel, batch: 1, outChannels: channels })
        },
        (ofSlice, { operand, weights, result, scratch }, { first }) =>
          scope.builder.launch<'convolutionForward'>(ofSlice, {
            source: operand,
            weights,
            bias: offsetBy(biases, first * scope.parameterBytes, zeroStrides),
            destination: result,
            scratch
          })
      )
    scope.builder.launch<'convolutionForward'>(kernel, {
      source: step.source.address,
      weights: byWinograd?.forward.weights() ?? weightsIn(scope, weight, weight.forwardLayout),
      bias: biases,
      destination: step.destination.address,
      scratch: scratchFor(scope, kernel)
    })
  },
  backward: (scope, step, gradients) => {
    const [weights, data] = [backwardWeights(scope, step, gradients), backwardData(scope, step, gradients)]
    if (weights === undefined || data === undefined) (weights ?? data)?.launch()
    else launchBackward(tensorBytes(step.source.layout, step.source.extents, scope.activationBytes), weights, data)
  }
}
