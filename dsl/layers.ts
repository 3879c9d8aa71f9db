import { defaultLayerMaker, layer, layerMaker } from './layer'

/** Convolution of [B, C, H, W] with `out` kernels; weights are [out, C / groups, kh, kw]. */
export const conv2d = layerMaker('conv2d')

/** The largest element of each window of [B, C, H, W]; padding counts as minus infinity. */
export const maxPool2d = layerMaker('maxPool2d')

/** The mean of each window of [B, C, H, W]. */
export const avgPool2d = layerMaker('avgPool2d')

/** [B, N] to [B, out]; weights are [out, N]. */
export const linear = layerMaker('linear')

/** y = x > 0 ? x : slope · x; slope 0.01 by default. */
export const leakyRelu = defaultLayerMaker('leakyRelu')

/**
 * The transpose of a convolution, [B, C, H, W] to [B, out, (H - 1) s - 2 p + d (k - 1) +
 * outputPadding + 1, ...]; weights are [C, out / groups, kh, kw].
 */
export const convTranspose2d = layerMaker('convTranspose2d')

/**
 * (x - mean) / sqrt(variance + eps) of each channel, over all images and pixels (Ioffe and Szegedy,
 * 2015), times weight plus bias.
 */
export const batchNorm = defaultLayerMaker('batchNorm')

/**
 * (x - mean) / sqrt(variance + eps) of each group of channels of each image, over its pixels, times
 * weight plus bias (Wu and He, 2018).
 */
export const groupNorm = layerMaker('groupNorm')

/**
 * (x - mean) / sqrt(variance + eps) of each channel of each image, over its pixels (Ulyanov,
 * Vedaldi and Lempitsky, 2016).
 */
export const instanceNorm = defaultLayerMaker('instanceNorm')

/** [B, C, H, W] at other heights and widths, as torch.nn.functional.interpolate. */
export const resize = layerMaker('resize')

/** Means over the windows that divide [B, C, H, W] into `out` rows and columns. */
export const adaptiveAvgPool2d = layerMaker('adaptiveAvgPool2d')

/**
 * [B, C · factor², H, W] to [B, C, H · factor, W · factor], as torch.nn.PixelShuffle: the factor²
 * channels that follow each other become a square of pixels, row by row (Shi et al., 2016). Refused
 * where factor² does not divide the channels.
 */
export const pixelShuffle = layerMaker('pixelShuffle')

/**
 * [B, C, H · factor, W · factor] to [B, C · factor², H, W], as torch.nn.PixelUnshuffle: each square
 * of pixels becomes channels of one, row by row. Refused where the factor does not divide height
 * and width.
 */
export const pixelUnshuffle = layerMaker('pixelUnshuffle')

/**
 * The channels of `groups` groups interleaved, as torch.nn.ChannelShuffle: the first of each group,
 * then the second of each (Zhang et al., 2018). Refused where the groups do not divide the
 * channels.
 */
export const channelShuffle = layerMaker('channelShuffle')

/**
 * `length` of the channels of [B, C, H, W], from `start` on, as torch.narrow along dimension 1: in
 * the branches of a `parallel` it splits the channels among them. Refused where there are fewer.
 */
export const narrow = layerMaker('narrow')

/**
 * Rows and columns around [B, C, H, W], as torch.nn.functional.pad: zeros, or with `mode` what the
 * image has at its edges, reflected or repeated. Refused where a padding that reflects is not less
 * than the image.
 */
export const pad = layerMaker('pad')

/**
 * Mean over the pixels that count of -log softmax(scores)[class], by their class's weight; of
 * scores [B, N, H, W].
 */
export const pixelCrossEntropy = defaultLayerMaker('pixelCrossEntropy')

/**
 * A loss of scores [B, N]: the mean over the rows, by their class's weight, of a sum of losses such
 * as 'cross-entropy:smoothing=0.1' or '0.5*cross-entropy+focal:gamma=2'. The targets are classes.
 */
export const classLoss = layerMaker('classLoss')

/**
 * A loss of scores [B, N, H, W]: the mean over the pixels that count, by their class's weight, of a
 * sum of losses such as 'focal:gamma=1.5'. Of binary losses each channel is its class against all
 * others, and a single channel is class 1 against class 0.
 */
export const pixelLoss = layerMaker('pixelLoss')

/**
 * A loss of scores [B, N, H, W]: Dice or Tversky, the mean over all images and classes of 1 minus
 * an index of the sums over the pixels of one image that count, and perhaps losses of pixels
 * beside, as in 'dice+0.5*cross-entropy'. Probabilities are by softmax, or beside binary losses,
 * and of a single channel, by a sigmoid. A segment that is tiled must end before it.
 */
export const overlapLoss = layerMaker('overlapLoss')

/**
 * A loss of predictions and targets of the same shape: the mean over the elements whose target is
 * not NaN of a sum of losses such as 'binary-cross-entropy' (several labels a row) or
 * 'huber:delta=2'.
 */
export const valueLoss = layerMaker('valueLoss')

/**
 * Zeroes each element with probability `rate` in training, and scales the others by 1 / (1 - rate).
 */
export const dropout = layerMaker('dropout')

/** y = max(x, 0). */
export const relu = layer('relu', {})

/** Mean over the pixels: [B, C, H, W] to [B, C]. */
export const globalAvgPool = layer('globalAvgPool', {})

/**
 * The largest element of each channel: [B, C, H, W] to [B, C], as torch.nn.AdaptiveMaxPool2d(1).
 * Its gradient goes to the first of equals in the order of rows; a NaN is the largest.
 */
export const globalMaxPool = layer('globalMaxPool', {})

/** [B, C, H, W] to [B, C · H · W]. */
export const flatten = layer('flatten', {})

/** Mean over the batch of -log softmax(scores)[label], of scores [B, classes]. */
export const softmaxCrossEntropy = layer('softmaxCrossEntropy', {})

/** Mean over all elements of (prediction - target)^2. */
export const meanSquaredError = layer('meanSquaredError', {})

/**
 * Asks for tile counts, such as { H: 4, W: 4 }, for the segment that it stands in: how many, not
 * how large.
 */
export const tile = layerMaker('tile')
