import * as E from 'fp-ts/Either'
import type { Op, OpArguments } from './arguments'
import { showShape } from './shape'
import { windowCount, windowExtent, windowOf, type WindowArguments } from './window'

/** The output's shape, or one sentence that says why there is none; [B, C, H, W] for images, [B, C] for vectors, [] for a loss. */
export type ShapeRule<A> = (args: A, shape: readonly number[]) => E.Either<string, readonly number[]>

const wholes = (values: readonly number[], least: number): boolean => values.every((value) => Number.isInteger(value) && value >= least)

const sizes = (op: Op): string => `${op}: sizes must be whole numbers above 0, and paddings at least 0`

const windowed =
  <A extends WindowArguments>(op: Op, channels: (args: A, inChannels: number) => E.Either<string, number>): ShapeRule<A> =>
  (args, shape) => {
    const [batch, inChannels, height, width] = shape
    if (shape.length !== 4) return E.left(`${op}: takes an image BxCxHxW, not ${showShape(shape)}`)
    const outChannels = channels(args, inChannels!)
    if (E.isLeft(outChannels)) return outChannels
    const { kernel, stride, dilation, padding } = windowOf(args)
    const { top, bottom, left, right } = padding
    if (!wholes([...kernel, ...stride, ...dilation], 1) || !wholes([top, bottom, left, right], 0)) return E.left(sizes(op))
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

const convolutionChannels = ({ out, groups = 1 }: OpArguments['conv2d'], inChannels: number): E.Either<string, number> =>
  !wholes([out, groups], 1)
    ? E.left(sizes('conv2d'))
    : inChannels % groups !== 0
      ? E.left(`conv2d: its ${inChannels} input channels do not divide into ${groups} groups`)
      : out % groups !== 0
        ? E.left(`conv2d: its ${out} output channels do not divide into ${groups} groups`)
        : E.right(out)

const sameChannels = (_: unknown, inChannels: number): E.Either<string, number> => E.right(inChannels)

const pointwise =
  (op: Op): ShapeRule<unknown> =>
  (_, shape) =>
    shape.length === 0 ? E.left(`${op}: nothing can follow a loss`) : E.right(shape)

const image =
  (op: Op, rule: (batch: number, channels: number, height: number, width: number) => readonly number[]): ShapeRule<unknown> =>
  (_, shape) =>
    shape.length === 4
      ? E.right(rule(...(shape as readonly [number, number, number, number])))
      : E.left(`${op}: takes an image BxCxHxW, not ${showShape(shape)}`)

/** The options that each op knows: what an untyped program may have misspelt. */
const options: { readonly [P in Op]: readonly (keyof OpArguments[P])[] } = {
  conv2d: ['out', 'k', 's', 'p', 'd', 'groups', 'bias'],
  relu: [],
  leakyRelu: ['slope'],
  maxPool2d: ['k', 's', 'p', 'd', 'ceilMode'],
  avgPool2d: ['k', 's', 'p', 'ceilMode', 'countIncludePad'],
  globalAvgPool: [],
  flatten: [],
  linear: ['out', 'in', 'bias'],
  dropout: ['rate'],
  softmaxCrossEntropy: [],
  meanSquaredError: []
}

const knownOptions =
  <P extends Op>(op: P, rule: ShapeRule<OpArguments[P]>): ShapeRule<OpArguments[P]> =>
  (args, shape) => {
    const unknown = Object.keys(args).find((name) => !(options[op] as readonly string[]).includes(name))
    return unknown === undefined ? rule(args, shape) : E.left(`${op}: there is no option ${unknown}`)
  }

const linear: ShapeRule<OpArguments['linear']> = (args, shape) => {
  const [batch, features] = shape
  return shape.length !== 2
    ? E.left(`linear: takes features BxN, not ${showShape(shape)}`)
    : !wholes([args.out, args.in ?? 1], 1)
      ? E.left('linear: sizes must be whole numbers above 0')
      : args.in !== undefined && args.in !== features
        ? E.left(`linear: takes ${args.in} features, not ${features}`)
        : E.right([batch!, args.out])
}

const dropout: ShapeRule<OpArguments['dropout']> = (args, shape) =>
  args.rate >= 0 && args.rate < 1 ? pointwise('dropout')(args, shape) : E.left(`dropout: the rate ${args.rate} is not in [0, 1)`)

const leakyRelu: ShapeRule<OpArguments['leakyRelu']> = ({ slope = 0.01 }, shape) =>
  slope >= 0 ? pointwise('leakyRelu')({}, shape) : E.left(`leakyRelu: the slope ${slope} is below 0`)

const softmaxCrossEntropy: ShapeRule<unknown> = (_, shape) =>
  shape.length === 2 ? E.right([]) : E.left(`softmaxCrossEntropy: takes scores BxN, not ${showShape(shape)}`)

const meanSquaredError: ShapeRule<unknown> = (_, shape) =>
  shape.length === 0 ? E.left('meanSquaredError: nothing can follow a loss') : E.right([])

/** Run-time shape rule of each op; the types of rules.ts say the same, in the same sentences. */
export const shapeRules: { readonly [P in Op]: ShapeRule<OpArguments[P]> } = {
  conv2d: knownOptions('conv2d', windowed('conv2d', convolutionChannels)),
  relu: knownOptions('relu', pointwise('relu')),
  leakyRelu: knownOptions('leakyRelu', leakyRelu),
  maxPool2d: knownOptions('maxPool2d', windowed('maxPool2d', sameChannels)),
  avgPool2d: knownOptions('avgPool2d', windowed('avgPool2d', sameChannels)),
  globalAvgPool: knownOptions(
    'globalAvgPool',
    image('globalAvgPool', (batch, channels) => [batch, channels])
  ),
  flatten: knownOptions(
    'flatten',
    image('flatten', (batch, channels, height, width) => [batch, channels * height * width])
  ),
  linear: knownOptions('linear', linear),
  dropout: knownOptions('dropout', dropout),
  softmaxCrossEntropy: knownOptions('softmaxCrossEntropy', softmaxCrossEntropy),
  meanSquaredError: knownOptions('meanSquaredError', meanSquaredError)
}
