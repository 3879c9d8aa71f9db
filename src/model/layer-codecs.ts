import type * as t from 'io-ts'
import type { Directive, Padding, Pair, PointwiseParameter } from '../../dsl'
import { padModes, type ArgsOf, type Expression, type Op } from '../../dsl/internal'
import { type OptionalCodecs, type RequiredCodecs, strictObject } from '../../staging/decoding/strict-object'
import { predicateCodec, oneOfCodec } from '../../staging/decoding/predicate-codec'
import { flagCodec } from '../options/codecs'

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const areNumbers = (value: unknown, ...counts: readonly number[]): boolean =>
  Array.isArray(value) && counts.includes(value.length) && value.every(isNumber)

const count = predicateCodec<number>('a number', isNumber)
const pair = predicateCodec<Pair>('a number or [height, width]', (value) => isNumber(value) || areNumbers(value, 2))
const padding = predicateCodec<Padding>(
  'a number, [height, width] or [top, bottom, left, right]',
  (value) => isNumber(value) || areNumbers(value, 2, 4)
)
const counts = predicateCodec<readonly number[]>('a list of numbers', (value) => Array.isArray(value) && value.every(isNumber))

/** Whether it can be read is for the shape rule. */
const formula = predicateCodec<string>('the formula of a loss, such as "dice+0.5*cross-entropy"', (value) => typeof value === 'string')

const functionName = predicateCodec<string>('a name', (value) => typeof value === 'string' && /^[A-Za-z]\S*( \S+)*$/.test(value))
/** Decodes an expression; whether its steps make sense is for the shape rule. */
const steps = predicateCodec<Expression>('an expression', (value) => Array.isArray(value) && value.every(Array.isArray))
const parameter = predicateCodec<PointwiseParameter>('an initial value, and perhaps perChannel', (value) => {
  if (typeof value !== 'object' || value === null) return false
  const { initial, perChannel } = value as Partial<Record<string, unknown>>
  return isNumber(initial) && (perChannel === undefined || typeof perChannel === 'boolean')
})

/** The joins of blocks are not written. */
type Leaf = Exclude<Op, 'add' | 'mul' | 'concat'> | Directive

/**
 * Its options, each of a kind: whether they make sense where the layer stands is for the shape
 * rules.
 */
const options = <P extends Leaf>(op: P, required: RequiredCodecs<ArgsOf<P>>, optional: OptionalCodecs<ArgsOf<P>>): t.Type<ArgsOf<P>> =>
  strictObject<ArgsOf<P>>(op, 'option', required, optional)

// The compiler cannot tell that `{}` is all that such an op takes.
const without = <P extends Leaf>(op: P & ({} extends ArgsOf<P> ? unknown : never)): t.Type<ArgsOf<P>> =>
  strictObject<{}>(op, 'option', {}, {}) as unknown as t.Type<ArgsOf<P>>

/**
 * The codec of the options of each layer that holds no others: JavaScript and casts get past the
 * compiler.
 */
export const layerCodecs: { readonly [P in Leaf]: t.Type<ArgsOf<P>> } = {
  conv2d: options('conv2d', { out: count, k: pair }, { s: pair, p: padding, d: pair, groups: count, bias: flagCodec }),
  convTranspose2d: options(
    'convTranspose2d',
    { out: count, k: pair },
    { s: pair, p: pair, outputPadding: pair, d: pair, groups: count, bias: flagCodec }
  ),
  linear: options('linear', { out: count }, { in: count, bias: flagCodec }),
  batchNorm: options('batchNorm', {}, { eps: count, momentum: count, affine: flagCodec, frozen: flagCodec }),
  groupNorm: options('groupNorm', { groups: count }, { eps: count, affine: flagCodec }),
  instanceNorm: options('instanceNorm', {}, { eps: count, affine: flagCodec }),
  relu: without('relu'),
  leakyRelu: options('leakyRelu', {}, { slope: count }),
  pointwise: options(
    'pointwise',
    { function: functionName, expression: steps },
    { derivativeOfOutput: steps, weight: parameter, bias: parameter }
  ),
  dropout: options('dropout', { rate: count }, {}),
  maxPool2d: options('maxPool2d', { k: pair }, { s: pair, p: padding, d: pair, ceilMode: flagCodec }),
  avgPool2d: options('avgPool2d', { k: pair }, { s: pair, p: padding, ceilMode: flagCodec, countIncludePad: flagCodec }),
  adaptiveAvgPool2d: options('adaptiveAvgPool2d', { out: pair }, {}),
  globalAvgPool: without('globalAvgPool'),
  globalMaxPool: without('globalMaxPool'),
  resize: options(
    'resize',
    { mode: oneOfCodec('bilinear', 'nearest') },
    { size: pair, scale: pair, to: oneOfCodec('block'), alignCorners: flagCodec }
  ),
  pixelShuffle: options('pixelShuffle', { factor: count }, {}),
  pixelUnshuffle: options('pixelUnshuffle', { factor: count }, {}),
  channelShuffle: options('channelShuffle', { groups: count }, {}),
  narrow: options('narrow', { start: count, length: count }, {}),
  pad: options('pad', { p: padding }, { mode: oneOfCodec(...padModes) }),
  flatten: without('flatten'),
  softmaxCrossEntropy: without('softmaxCrossEntropy'),
  pixelCrossEntropy: options('pixelCrossEntropy', {}, { ignore: count, classWeights: counts }),
  meanSquaredError: without('meanSquaredError'),
  classLoss: options('classLoss', { loss: formula }, { classWeights: counts }),
  pixelLoss: options('pixelLoss', { loss: formula }, { ignore: count, classWeights: counts }),
  overlapLoss: options('overlapLoss', { loss: formula }, { ignore: count, classWeights: counts }),
  valueLoss: options('valueLoss', { loss: formula }, {}),
  checkpoint: options('checkpoint', {}, { budget: count }),
  tile: options('tile', {}, { B: count, C: count, H: count, W: count })
}
