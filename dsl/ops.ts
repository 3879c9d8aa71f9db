import type { OpArguments } from './arguments'
import { layer, type Layer, type Only } from './layer'

/** Convolution of [B, C, H, W] with `out` kernels; weights are [out, C / groups, kh, kw]. */
export const conv2d = <const A extends OpArguments['conv2d']>(args: A & Only<A, OpArguments['conv2d']>): Layer<'conv2d', A> =>
  layer<'conv2d', A>('conv2d', args)

/** The largest element of each window of [B, C, H, W]; padding counts as minus infinity. */
export const maxPool2d = <const A extends OpArguments['maxPool2d']>(args: A & Only<A, OpArguments['maxPool2d']>): Layer<'maxPool2d', A> =>
  layer<'maxPool2d', A>('maxPool2d', args)

/** The mean of each window of [B, C, H, W]. */
export const avgPool2d = <const A extends OpArguments['avgPool2d']>(args: A & Only<A, OpArguments['avgPool2d']>): Layer<'avgPool2d', A> =>
  layer<'avgPool2d', A>('avgPool2d', args)

/** [B, N] to [B, out]; weights are [out, N]. */
export const linear = <const A extends OpArguments['linear']>(args: A & Only<A, OpArguments['linear']>): Layer<'linear', A> =>
  layer<'linear', A>('linear', args)

/** y = x > 0 ? x : slope · x; slope 0.01 by default. */
export function leakyRelu(): Layer<'leakyRelu', {}>
export function leakyRelu<const A extends OpArguments['leakyRelu']>(args: A & Only<A, OpArguments['leakyRelu']>): Layer<'leakyRelu', A>
export function leakyRelu(args: OpArguments['leakyRelu'] = {}): unknown {
  return layer('leakyRelu', args)
}

/** Zeroes each element with probability `rate` in training, and scales the others by 1 / (1 - rate). */
export const dropout = <const A extends OpArguments['dropout']>(args: A & Only<A, OpArguments['dropout']>): Layer<'dropout', A> =>
  layer<'dropout', A>('dropout', args)

/** y = max(x, 0). */
export const relu = layer('relu', {})

/** Mean over the pixels: [B, C, H, W] to [B, C]. */
export const globalAvgPool = layer('globalAvgPool', {})

/** [B, C, H, W] to [B, C · H · W]. */
export const flatten = layer('flatten', {})

/** Mean over the batch of -log softmax(scores)[label], of scores [B, classes]. */
export const softmaxCrossEntropy = layer('softmaxCrossEntropy', {})

/** Mean over all elements of (prediction - target)^2. */
export const meanSquaredError = layer('meanSquaredError', {})
