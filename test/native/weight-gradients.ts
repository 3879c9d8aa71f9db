// Gradients of weights as sums of products in double, for tests of kernels that compute them.
import type { KernelOf } from '../../staging/kernels/kernels'
import { layoutCode } from '../../staging/kernels/layout'

export type Gradient = KernelOf<'convolutionBackwardWeights'>

export interface Axis {
  readonly in: number
  readonly kernel: number
  readonly stride: number
  readonly dilation: number
  readonly before: number
  readonly after: number
}

/** A window of 3 of stride 1, with as many outputs as inputs. */
export const axis = (extent: number, changes: Partial<Axis> = {}): Axis => ({
  ...{ in: extent, kernel: 3, stride: 1, dilation: 1, before: 1, after: 1 },
  ...changes
})

const outOf = ({ in: extent, kernel, stride, dilation, before, after }: Axis): number =>
  Math.floor((extent + before + after - (kernel - 1) * dilation - 1) / stride) + 1

/** Of an image in planes to channels that lie innermost, one group, algorithm 0. */
export const gradientOf = (batch: number, inChannels: number, outChannels: number, rows: Axis, columns: Axis): Gradient => ({
  ...{ kind: 'convolutionBackwardWeights', batch, inChannels, outChannels, groups: 1, algorithm: 0 },
  ...{ inHeight: rows.in, outHeight: outOf(rows), kernelHeight: rows.kernel, strideHeight: rows.stride },
  ...{ dilationHeight: rows.dilation, padTop: rows.before, padBottom: rows.after },
  ...{ inWidth: columns.in, outWidth: outOf(columns), kernelWidth: columns.kernel, strideWidth: columns.stride },
  ...{ dilationWidth: columns.dilation, padLeft: columns.before, padRight: columns.after },
  ...{ sourceLayout: layoutCode('plain'), destinationLayout: layoutCode('nhwc'), weightLayout: layoutCode('ohwi') }
})

/** Numbers that bf16 has. */
export const few = (count: number, phase: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => ((i * 7 + phase) % 61) / 4 - 7)

/** Distances between images, channels, rows and columns of the source. */
export const placesOf = ({ inChannels, inHeight, inWidth }: Gradient, innermost: boolean): readonly number[] =>
  innermost
    ? [inHeight * inWidth * inChannels, 1, inWidth * inChannels, inChannels]
    : [inChannels * inHeight * inWidth, inHeight * inWidth, inWidth, 1]

/** Calls visit(place in the source, output pixel, index of the tap in ohwi) for each product. */
export const eachProduct = (k: Gradient, places: readonly number[], visit: (from: number, pixel: number, tap: number) => void): void => {
  const [image, channel, row, column] = places as readonly [number, number, number, number]
  for (let n = 0, pixel = 0; n < k.batch; n++)
    for (let oy = 0; oy < k.outHeight; oy++)
      for (let ox = 0; ox < k.outWidth; ox++, pixel++)
        for (let ky = 0; ky < k.kernelHeight; ky++)
          for (let kx = 0; kx < k.kernelWidth; kx++) {
            const [y, x] = [oy * k.strideHeight - k.padTop + ky * k.dilationHeight, ox * k.strideWidth - k.padLeft + kx * k.dilationWidth]
            if (y < 0 || y >= k.inHeight || x < 0 || x >= k.inWidth) continue
            for (let i = 0; i < k.inChannels; i++)
              visit(n * image + i * channel + y * row + x * column, pixel, (ky * k.kernelWidth + kx) * k.inChannels + i)
          }
}

export const tapsOf = (k: Gradient): number => k.kernelHeight * k.kernelWidth * k.inChannels

/** Sums of products by output channel, row, column and input channel. */
export const weightsOf = (k: Gradient, source: Float32Array, places: readonly number[], gradient: Float32Array): readonly number[] => {
  const sums = new Float64Array(k.outChannels * tapsOf(k))
  eachProduct(k, places, (from, pixel, tap) => {
    for (let o = 0; o < k.outChannels; o++) sums[o * tapsOf(k) + tap]! += source[from]! * gradient[pixel * k.outChannels + o]!
  })
  return Array.from(sums)
}
