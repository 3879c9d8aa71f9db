import * as E from 'fp-ts/Either'
import type { Op, OpArguments } from './arguments'
import { addShape, concatShape } from './joins'
import { batchNormShape, groupNormShape, instanceNormShape } from './normalisation'
import { optionsMistake } from './option-names'
import { groupsMistake, sizesMistake, wholes } from './options'
import { pixelCrossEntropyShape } from './pixel-cross-entropy'
import { adaptivePoolShape, resizeShape } from './resampling'
import { imageRule, showShape, type ShapeRule, type UnaryRule } from './shape'
import { transposedShape } from './transposed-convolution'
import { windowCount, windowExtent, windowOf, type WindowArguments } from './window'

const windowed =
  <A extends WindowArguments>(op: Op, channels: (args: A, inChannels: number) => E.Either<string, number>): UnaryRule<A> =>
  (args, shape) => {
    const [batch, inChannels, height, width] = shape
    if (shape.length !== 4) return E.left(`${op}: takes an image BxCxHxW, not ${showShape(shape)}`)
    const outChannels = channels(args, inChannels!)
    if (E.isLeft(outChannels)) return outChannels
    const { kernel, stride, dilation, padding } = windowOf(args)
    const { top, bottom, left, right } = padding
    if (!wholes([...kernel, ...stride, ...dilation], 1) || !wholes([top, bottom, left, right], 0)) return E.left(sizesMistake(op))
    const extents = [windowExtent(kernel[0], dilation[0]), windowExtent(kernel[1], dilation[1])] as const
    const padded = [height! + top + bottom, width! + left + right] as const
    const ceilMode = 'ceilMode' in args && args.ceilMode === true
    const outHeight = windowCount(height!, [top, bottom], kernel[0], stride[0], dilation[0], ceilMode)
    const outWidth = windowCount(width!, [left, right], kernel[1], stride[1], dilation[1], ceilMode)
    if (outHeight === 0 || outWidth === 0)
      return E.left(
        `${op}: the ${dilation[0] * dilation[1] === 1 ? '' : 'dilated '}kernel ${showShape(extents)} is larger than its padded input ${showShape(padded)}`
      )
    if (op !== 'conv2d' && (2 * Math.max(top, bottom) > kernel[0] || 2 * Math.max(left, right) > kernel[1]))
      return E.left(`${op}: a padding is more than half of the kernel ${showShape(kernel)}`)
    return E.right([batch!, outChannels.right, outHeight, outWidth])
  }

const convolutionChannels = ({ out, groups = 1 }: OpArguments['conv2d'], inChannels: number): E.Either<string, number> => {
  const mistake = wholes([out, groups], 1) ? groupsMistake('conv2d', inChannels, out, groups) : sizesMistake('conv2d')
  return mistake === undefined ? E.right(out) : E.left(mistake)
}

const sameChannels = (_: unknown, inChannels: number): E.Either<string, number> => E.right(inChannels)

const pointwise =
  (op: Op): UnaryRule<unknown> =>
  (_, shape) =>
    shape.length === 0 ? E.left(`${op}: nothing can follow a loss`) : E.right(shape)

const linear: UnaryRule<OpArguments['linear']> = (args, shape) => {
  const [batch, features] = shape
  return shape.length !== 2
    ? E.left(`linear: takes features BxN, not ${showShape(shape)}`)
    : !wholes([args.out, args.in ?? 1], 1)
      ? E.left('linear: sizes must be whole numbers above 0')
      : args.in !== undefined && args.in !== features
        ? E.left(`linear: takes ${args.in} features, not ${features}`)
        : E.right([batch!, args.out])
}

const dropout: UnaryRule<OpArguments['dropout']> = (args, shape) =>
  args.rate >= 0 && args.rate < 1 ? pointwise('dropout')(args, shape, shape) : E.left(`dropout: the rate ${args.rate} is not in [0, 1)`)

const leakyRelu: UnaryRule<OpArguments['leakyRelu']> = ({ slope = 0.01 }, shape) =>
  slope >= 0 ? pointwise('leakyRelu')({}, shape, shape) : E.left(`leakyRelu: the slope ${slope} is below 0`)

const softmaxCrossEntropy: UnaryRule<unknown> = (_, shape) =>
  shape.length === 2 ? E.right([]) : E.left(`softmaxCrossEntropy: takes scores BxN, not ${showShape(shape)}`)

const meanSquaredError: UnaryRule<unknown> = (_, shape) =>
  shape.length === 0 ? E.left('meanSquaredError: nothing can follow a loss') : E.right([])

/** Of one tensor; refuses options that the op does not know, and asks for those that it needs: an untyped program may have misspelt them. */
const unary =
  <P extends Op>(op: P, rule: UnaryRule<OpArguments[P]>): ShapeRule<OpArguments[P]> =>
  (args, [input], start) => {
    const mistake = optionsMistake(op, args)
    return mistake === undefined ? rule(args, input!, start) : E.left(mistake)
  }

/** Run-time shape rule of each op; the types of rules.ts say the same, in the same sentences. */
export const shapeRules: { readonly [P in Op]: ShapeRule<OpArguments[P]> } = {
  conv2d: unary('conv2d', windowed('conv2d', convolutionChannels)),
  relu: unary('relu', pointwise('relu')),
  leakyRelu: unary('leakyRelu', leakyRelu),
  maxPool2d: unary('maxPool2d', windowed('maxPool2d', sameChannels)),
  avgPool2d: unary('avgPool2d', windowed('avgPool2d', sameChannels)),
  globalAvgPool: unary(
    'globalAvgPool',
    imageRule('globalAvgPool', (_, [batch, channels]) => E.right([batch, channels]))
  ),
  flatten: unary(
    'flatten',
    imageRule('flatten', (_, [batch, channels, height, width]) => E.right([batch, channels * height * width]))
  ),
  linear: unary('linear', linear),
  dropout: unary('dropout', dropout),
  convTranspose2d: unary('convTranspose2d', transposedShape),
  batchNorm: unary('batchNorm', batchNormShape),
  groupNorm: unary('groupNorm', groupNormShape),
  instanceNorm: unary('instanceNorm', instanceNormShape),
  sigmoid: unary('sigmoid', pointwise('sigmoid')),
  tanh: unary('tanh', pointwise('tanh')),
  silu: unary('silu', pointwise('silu')),
  gelu: unary('gelu', pointwise('gelu')),
  resize: unary('resize', resizeShape),
  adaptiveAvgPool2d: unary('adaptiveAvgPool2d', adaptivePoolShape),
  add: (_, inputs) => addShape(inputs),
  concat: (_, inputs) => concatShape(inputs),
  softmaxCrossEntropy: unary('softmaxCrossEntropy', softmaxCrossEntropy),
  pixelCrossEntropy: unary('pixelCrossEntropy', pixelCrossEntropyShape),
  meanSquaredError: unary('meanSquaredError', meanSquaredError)
}
