// The cuda device's own gradient of the weights of a convolution over few channels, on a GPU or its
// emulation, held to sums of products in double.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDevice } from '../../native/addon/addon'
import { algorithmsAnswer, bytesAnswer, encodeToFloats, unwrapAnswer } from '../../native/devices/device-answers'
import { fewChannelsAlgorithm } from '../../staging'
import type { ConvolutionKernel, KernelOf } from '../../staging/kernels/kernels'
import { layoutCode } from '../../staging/kernels/layout'
import { testsDevice } from '../devices'
import { must } from '../must'
import { close, launchKernel, stored } from './program'

const suite = testsDevice('cuda') ? test : test.skip

type Gradient = KernelOf<'convolutionBackwardWeights'>

interface Axis {
  readonly in: number
  readonly kernel: number
  readonly stride: number
  readonly dilation: number
  readonly before: number
  readonly after: number
}

/** A window of 3 of stride 1, with as many outputs as inputs. */
const axis = (extent: number, changes: Partial<Axis> = {}): Axis => ({
  ...{ in: extent, kernel: 3, stride: 1, dilation: 1, before: 1, after: 1 },
  ...changes
})

const outOf = ({ in: extent, kernel, stride, dilation, before, after }: Axis): number =>
  Math.floor((extent + before + after - (kernel - 1) * dilation - 1) / stride) + 1

const gradientOf = (batch: number, inChannels: number, outChannels: number, rows: Axis, columns: Axis): Gradient => ({
  ...{ kind: 'convolutionBackwardWeights', batch, inChannels, outChannels, groups: 1, algorithm: fewChannelsAlgorithm },
  ...{ inHeight: rows.in, outHeight: outOf(rows), kernelHeight: rows.kernel, strideHeight: rows.stride },
  ...{ dilationHeight: rows.dilation, padTop: rows.before, padBottom: rows.after },
  ...{ inWidth: columns.in, outWidth: outOf(columns), kernelWidth: columns.kernel, strideWidth: columns.stride },
  ...{ dilationWidth: columns.dilation, padLeft: columns.before, padRight: columns.after },
  ...{ sourceLayout: layoutCode('plain'), destinationLayout: layoutCode('nhwc'), weightLayout: layoutCode('ohwi') }
})

const unpadded = { before: 0, after: 0 }

/** Tiles at an image's corners and within it, windows of all kinds, more pixels than blocks. */
const kernels: readonly Gradient[] = [
  gradientOf(1, 3, 64, axis(11), axis(14)),
  gradientOf(2, 3, 64, axis(9, { after: 0 }), axis(13, { before: 0 })),
  gradientOf(1, 3, 96, axis(12, { before: 0 }), axis(10, { after: 0 })),
  gradientOf(2, 3, 136, axis(8, unpadded), axis(7, unpadded)),
  gradientOf(3, 3, 64, axis(14, { stride: 2 }), axis(11, { stride: 2, after: 0 })),
  // Rows and columns behind the last window.
  gradientOf(2, 3, 8, axis(12, { stride: 3, ...unpadded }), axis(17, { stride: 4, before: 2, after: 0 })),
  gradientOf(1, 2, 64, axis(11, { dilation: 2, before: 2, after: 1 }), axis(13, { dilation: 3, before: 1, after: 3 })),
  gradientOf(1, 4, 64, axis(9), axis(8)),
  gradientOf(2, 4, 72, axis(6, { kernel: 2, before: 0 }), axis(9, { kernel: 4, before: 2 })),
  gradientOf(1, 1, 64, axis(13, { kernel: 5, before: 2, after: 2 }), axis(12, { kernel: 7, before: 3, after: 3 })),
  gradientOf(2, 1, 16, axis(1, { kernel: 1, ...unpadded }), axis(5, { kernel: 1, ...unpadded })),
  // More padding than a window reaches over.
  gradientOf(1, 3, 8, axis(5, { before: 4, after: 3 }), axis(4, { before: 5, after: 1 })),
  gradientOf(1, 3, 8, axis(90), axis(101)),
  gradientOf(2, 4, 64, axis(41), axis(33))
]

/** Numbers that bf16 has. */
const few = (count: number, phase: number): Float32Array => Float32Array.from({ length: count }, (_, i) => ((i * 7 + phase) % 61) / 4 - 7)

/** Distances between images, channels, rows and columns of the source. */
const placesOf = ({ inChannels, inHeight, inWidth }: Gradient, innermost: boolean): readonly number[] =>
  innermost
    ? [inHeight * inWidth * inChannels, 1, inWidth * inChannels, inChannels]
    : [inChannels * inHeight * inWidth, inHeight * inWidth, inWidth, 1]

/** Sums of products by output channel, row, column and input channel. */
const weightsOf = (k: Gradient, source: Float32Array, places: readonly number[], gradient: Float32Array): readonly number[] => {
  const [image, channel, row, column] = places as readonly [number, number, number, number]
  const sums = new Float64Array(k.outChannels * k.kernelHeight * k.kernelWidth * k.inChannels)
  for (let n = 0, pixel = 0; n < k.batch; n++)
    for (let oy = 0; oy < k.outHeight; oy++)
      for (let ox = 0; ox < k.outWidth; ox++, pixel++)
        for (let ky = 0; ky < k.kernelHeight; ky++)
          for (let kx = 0; kx < k.kernelWidth; kx++) {
            const [y, x] = [oy * k.strideHeight - k.padTop + ky * k.dilationHeight, ox * k.strideWidth - k.padLeft + kx * k.dilationWidth]
            if (y < 0 || y >= k.inHeight || x < 0 || x >= k.inWidth) continue
            for (let i = 0; i < k.inChannels; i++) {
              const value = source[n * image + i * channel + y * row + x * column]!
              for (let o = 0; o < k.outChannels; o++)
                sums[((o * k.kernelHeight + ky) * k.kernelWidth + kx) * k.inChannels + i]! += value * gradient[pixel * k.outChannels + o]!
            }
          }
  return Array.from(sums)
}

const ask = (precision: 'float32' | 'tf32' | 'bf16') => {
  const device = must(openDevice({ device: 'cuda', precision, threads: 1 }))
  return {
    algorithms: (kernel: ConvolutionKernel) => unwrapAnswer(algorithmsAnswer(device.algorithms(encodeToFloats(kernel)))),
    scratchBytes: (kernel: ConvolutionKernel) => unwrapAnswer(bytesAnswer(device.scratchBytes(encodeToFloats(kernel))))
  }
}

for (const precision of ['float32', 'bf16'] as const)
  suite(`gradients of weights over few channels are sums of products, ${precision}`, async () => {
    const { scratchBytes } = ask(precision)
    for (const layout of ['plain', 'nhwc'] as const)
      for (const kernel of kernels.map((one) => ({ ...one, sourceLayout: layoutCode(layout) }))) {
        const source = few(kernel.batch * kernel.inChannels * kernel.inHeight * kernel.inWidth, 1)
        const gradient = few(kernel.batch * kernel.outHeight * kernel.outWidth * kernel.outChannels, 3)
        const expected = weightsOf(kernel, source, placesOf(kernel, layout === 'nhwc'), gradient)
        const written = await launchKernel(
          kernel,
          [
            ...[source, gradient].map((values) => stored(values, precision)),
            ...[new Float32Array(expected.length).fill(NaN), new Float32Array(kernel.outChannels)],
            new Uint8Array(scratchBytes(kernel))
          ],
          { device: 'cuda', precision }
        )
        close(Array.from(written[2]!), expected, { tolerance: 2e-6 })
        const sums = Array.from({ length: kernel.outChannels }, (_, o) =>
          gradient.reduce((sum, value, i) => (i % kernel.outChannels === o ? sum + value : sum), 0)
        )
        close(Array.from(written[3]!), sums, { tolerance: 1e-6 })
      }
  })

suite('it is the first of its convolution, and the only one that copies no image', () => {
  const kernel = { ...kernels[0]!, inHeight: 512, inWidth: 512, outHeight: 512, outWidth: 512 }
  for (const precision of ['float32', 'tf32', 'bf16'] as const) {
    const { algorithms, scratchBytes } = ask(precision)
    const [first, ...others] = algorithms({ ...kernel, algorithm: 0 })
    assert.is(first!.algorithm, fewChannelsAlgorithm)
    assert.is(scratchBytes(kernel), first!.scratchBytes)
    assert.ok(others.length > 0 && others.every(({ algorithm }) => algorithm !== fewChannelsAlgorithm))
  }
})

suite('what it does not take is refused in a sentence', () => {
  const { scratchBytes } = ask('float32')
  const refusal =
    /algorithm 2 of the cuda device is for gradients of weights of one group, up to 36 over at most 4 channels, into nhwc of a/
  const [kernel] = kernels as readonly [Gradient]
  for (const changes of [{ outChannels: 60 }, { inChannels: 64, sourceLayout: layoutCode('nhwc') }] as const)
    assert.throws(() => scratchBytes({ ...kernel, ...changes }), refusal)
  assert.throws(() => scratchBytes({ ...kernel, kind: 'convolutionForward', slope: 1 }), refusal)
  assert.throws(() => scratchBytes(gradientOf(1, 4, 64, axis(9), axis(9, { kernel: 4, before: 2 }))), refusal)
  const { scratchBytes: onCpu } = { scratchBytes: must(openDevice({ device: 'cpu', precision: 'float32', threads: 1 })).scratchBytes }
  assert.throws(
    () => unwrapAnswer(bytesAnswer(onCpu(encodeToFloats(kernel)))),
    /the cpu device convolves by algorithm 0 or 1, not by a GPU's, 2/
  )
})

test.run()
