import type { Interval } from './interval'

/** Extents of one dimension of the whole input and the whole output, in pixels. */
export interface ResampledAxis {
  readonly inExtent: number
  readonly outExtent: number
}

/** One axis of a resize, of the whole tensors. */
export interface ResizedAxis extends ResampledAxis {
  /** Else nearest. */
  readonly bilinear: boolean
  /** True, for bilinear, if the first and last pixels of input and output coincide. */
  readonly alignCorners: boolean
}

/**
 * Around numerator / denominator, within 0 .. inExtent - 1: two coordinates, or the one that it is.
 */
const around = (numerator: number, denominator: number, inExtent: number): Interval => {
  const from = Math.min(Math.floor(numerator / denominator), inExtent - 1)
  return { from, to: Math.min(from + (numerator % denominator === 0 ? 1 : 2), inExtent) }
}

/**
 * The inputs and weights of one output, as native/src/kernels/resampling.hpp has them, in whole
 * numbers.
 */
const resizeReading = ({ inExtent, outExtent, bilinear, alignCorners }: ResizedAxis, output: number): Interval => {
  if (!bilinear) return around(Math.floor((output * inExtent) / outExtent), 1, inExtent)
  if (alignCorners) return outExtent === 1 ? { from: 0, to: 1 } : around(output * (inExtent - 1), outExtent - 1, inExtent)
  return around(Math.max((2 * output + 1) * inExtent - outExtent, 0), 2 * outExtent, inExtent)
}

/**
 * Input coordinates that a range of outputs reads, at least one, as torch.nn.functional.interpolate
 * maps them.
 */
export const resizeInterval = (axis: ResizedAxis, { from, to }: Interval): Interval => ({
  from: resizeReading(axis, from).from,
  to: resizeReading(axis, to - 1).to
})

/**
 * What an output of adaptive average pooling reads, as torch.nn.functional.adaptive_avg_pool2d
 * divides the input.
 */
export const adaptiveInterval = ({ inExtent, outExtent }: ResampledAxis, { from, to }: Interval): Interval => ({
  from: Math.floor((from * inExtent) / outExtent),
  to: Math.ceil((to * inExtent) / outExtent)
})
