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

/** The transpose of a convolution, [B, C, H, W] to [B, out, (H - 1) s - 2 p + d (k - 1) + outputPadding + 1, ...]; weights are [C, out / groups, kh, kw]. */
export const convTranspose2d = <const A extends OpArguments['convTranspose2d']>(
  args: A & Only<A, OpArguments['convTranspose2d']>
): Layer<'convTranspose2d', A> => layer<'convTranspose2d', A>('convTranspose2d', args)

/** (x - mean) / sqrt(variance + eps) of each channel, over all images and pixels (Ioffe and Szegedy, 2015), times weight plus bias. */
export function batchNorm(): Layer<'batchNorm', {}>
export function batchNorm<const A extends OpArguments['batchNorm']>(args: A & Only<A, OpArguments['batchNorm']>): Layer<'batchNorm', A>
export function batchNorm(args: OpArguments['batchNorm'] = {}): unknown {
  return layer('batchNorm', args)
}

/** The same of each group of channels of each image (Wu and He, 2018). */
export const groupNorm = <const A extends OpArguments['groupNorm']>(args: A & Only<A, OpArguments['groupNorm']>): Layer<'groupNorm', A> =>
  layer<'groupNorm', A>('groupNorm', args)

/** The same of each channel of each image (Ulyanov, Vedaldi and Lempitsky, 2016). */
export function instanceNorm(): Layer<'instanceNorm', {}>
export function instanceNorm<const A extends OpArguments['instanceNorm']>(
  args: A & Only<A, OpArguments['instanceNorm']>
): Layer<'instanceNorm', A>
export function instanceNorm(args: OpArguments['instanceNorm'] = {}): unknown {
  return layer('instanceNorm', args)
}

/** [B, C, H, W] at other heights and widths, as torch.nn.functional.interpolate. */
export const resize = <const A extends OpArguments['resize']>(args: A & Only<A, OpArguments['resize']>): Layer<'resize', A> =>
  layer<'resize', A>('resize', args)

/** Means over the windows that divide [B, C, H, W] into `out` rows and columns. */
export const adaptiveAvgPool2d = <const A extends OpArguments['adaptiveAvgPool2d']>(
  args: A & Only<A, OpArguments['adaptiveAvgPool2d']>
): Layer<'adaptiveAvgPool2d', A> => layer<'adaptiveAvgPool2d', A>('adaptiveAvgPool2d', args)

/** Mean over the pixels that count of -log softmax(scores)[class], by their class's weight; of scores [B, N, H, W]. */
export function pixelCrossEntropy(): Layer<'pixelCrossEntropy', {}>
export function pixelCrossEntropy<const A extends OpArguments['pixelCrossEntropy']>(
  args: A & Only<A, OpArguments['pixelCrossEntropy']>
): Layer<'pixelCrossEntropy', A>
export function pixelCrossEntropy(args: OpArguments['pixelCrossEntropy'] = {}): unknown {
  return layer('pixelCrossEntropy', args)
}

/** Zeroes each element with probability `rate` in training, and scales the others by 1 / (1 - rate). */
export const dropout = <const A extends OpArguments['dropout']>(args: A & Only<A, OpArguments['dropout']>): Layer<'dropout', A> =>
  layer<'dropout', A>('dropout', args)

/** y = max(x, 0). */
export const relu = layer('relu', {})

/** y = 1 / (1 + exp(-x)). */
export const sigmoid = layer('sigmoid', {})

/** y = tanh(x). */
export const tanh = layer('tanh', {})

/** y = x sigmoid(x). */
export const silu = layer('silu', {})

/** y = x times the normal distribution function of x, by erf. */
export const gelu = layer('gelu', {})

/** Mean over the pixels: [B, C, H, W] to [B, C]. */
export const globalAvgPool = layer('globalAvgPool', {})

/** [B, C, H, W] to [B, C · H · W]. */
export const flatten = layer('flatten', {})

/** Mean over the batch of -log softmax(scores)[label], of scores [B, classes]. */
export const softmaxCrossEntropy = layer('softmaxCrossEntropy', {})

/** Mean over all elements of (prediction - target)^2. */
export const meanSquaredError = layer('meanSquaredError', {})
