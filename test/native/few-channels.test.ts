// The cuda device's own convolution over few channels, and the gradient of its weights, on a GPU or
// its emulation, held to sums of products in double.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDevice } from '../../native/addon/addon'
import { bytesAnswer, encodeToFloats, unwrapAnswer } from '../../native/devices/device-answers'
import { fewChannelsAlgorithm } from '../../staging'
import type { KernelOf } from '../../staging/kernels/kernels'
import { layoutCode } from '../../staging/kernels/layout'
import { testsDevice } from '../devices'
import { must } from '../must'
import { askCuda } from './cuda-answers'
import { close, launchKernel, stored } from './program'
import {
  axis,
  eachProduct,
  few,
  gradientOf as gradientByCudnn,
  placesOf,
  tapsOf,
  weightsOf,
  type Axis,
  type Gradient
} from './weight-gradients'

const suite = testsDevice('cuda') ? test : test.skip

type Forward = KernelOf<'convolutionForward'>

const gradientOf = (batch: number, inChannels: number, outChannels: number, rows: Axis, columns: Axis): Gradient => ({
  ...gradientByCudnn(batch, inChannels, outChannels, rows, columns),
  algorithm: fewChannelsAlgorithm
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

/** What a convolution gives before its rectifier, by pixel and output channel. */
const outputOf = (
  k: Gradient,
  source: Float32Array,
  places: readonly number[],
  weights: Float32Array,
  bias: Float32Array
): Float64Array => {
  const sums = Float64Array.from({ length: k.batch * k.outHeight * k.outWidth * k.outChannels }, (_, i) => bias[i % k.outChannels]!)
  eachProduct(k, places, (from, pixel, tap) => {
    for (let o = 0; o < k.outChannels; o++) sums[pixel * k.outChannels + o]! += source[from]! * weights[o * tapsOf(k) + tap]!
  })
  return sums
}

for (const precision of ['float32', 'bf16'] as const)
  suite(`gradients of weights over few channels are sums of products, ${precision}`, async () => {
    const { scratchBytes } = askCuda(precision)
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

const forwardOf = (kernel: Gradient, slope: number): Forward => ({ ...kernel, kind: 'convolutionForward', slope })

/** The nearest number that bf16 has. */
const rounded = (value: number): number => {
  const [bits] = new Uint32Array(Float32Array.of(value).buffer) as unknown as [number]
  return new Float32Array(Uint32Array.of((bits + 0x7fff + ((bits >>> 16) & 1)) & 0xffff0000).buffer)[0]!
}

const read = (values: ArrayLike<number>, precision: 'float32' | 'bf16'): readonly number[] =>
  precision === 'float32'
    ? Array.from(values)
    : Array.from(new Uint16Array(Uint8Array.from(values).buffer), (word) => new Float32Array(Uint32Array.of(word << 16).buffer)[0]!)

for (const precision of ['float32', 'bf16'] as const)
  suite(`convolutions over few channels are sums of products, with their biases and rectifiers, ${precision}`, async () => {
    for (const layout of ['plain', 'nhwc'] as const)
      for (const [place, kernel] of kernels.map((one) => ({ ...one, sourceLayout: layoutCode(layout) })).entries()) {
        const source = few(kernel.batch * kernel.inChannels * kernel.inHeight * kernel.inWidth, 1)
        const weights = few(kernel.outChannels * tapsOf(kernel), 5)
        const bias = place % 3 === 0 ? undefined : few(kernel.outChannels, 11)
        const slope = [0, 1, 0.25][place % 3]!
        const expected = outputOf(
          kernel,
          source,
          placesOf(kernel, layout === 'nhwc'),
          weights,
          bias ?? new Float32Array(kernel.outChannels)
        )
        const bytes = expected.length * (precision === 'bf16' ? 2 : 4)
        const written = await launchKernel(
          forwardOf(kernel, slope),
          [
            ...[source, weights].map((values) => stored(values, precision)),
            ...[bias, precision === 'bf16' ? new Uint8Array(bytes).fill(255) : new Float32Array(expected.length).fill(NaN), undefined]
          ],
          { device: 'cuda', precision }
        )
        const rectified = Array.from(expected, (value) => (value > 0 ? value : slope * value))
        close(read(written[3]!, precision), precision === 'bf16' ? rectified.map(rounded) : rectified, {
          tolerance: precision === 'bf16' ? 8e-3 : 2e-6
        })
      }
  })

suite('it is the first of its convolution, and the only one that copies no image', () => {
  const kernel = { ...kernels[0]!, inHeight: 512, inWidth: 512, outHeight: 512, outWidth: 512 }
  for (const precision of ['float32', 'tf32', 'bf16'] as const) {
    const { algorithms, scratchBytes } = askCuda(precision)
    for (const one of [kernel, forwardOf(kernel, 1)]) {
      const [first, ...others] = algorithms({ ...one, algorithm: 0 })
      assert.is(first!.algorithm, fewChannelsAlgorithm)
      assert.is(scratchBytes(one), first!.scratchBytes)
      assert.ok(others.length > 0 && others.every(({ algorithm }) => algorithm !== fewChannelsAlgorithm))
    }
  }
})

suite('what it does not take is refused in a sentence', () => {
  const { scratchBytes } = askCuda('float32')
  const refusal =
    /algorithm 2 of the cuda device is for convolutions of one group and gradients of their weights, up to 36 over at most 4 channels, with/
  const [kernel] = kernels as readonly [Gradient]
  for (const changes of [{ outChannels: 60 }, { inChannels: 64, sourceLayout: layoutCode('nhwc') }] as const)
    assert.throws(() => scratchBytes({ ...kernel, ...changes }), refusal)
  assert.throws(() => scratchBytes({ ...kernel, kind: 'convolutionBackwardData' }), refusal)
  assert.throws(() => scratchBytes(gradientOf(1, 4, 64, axis(9), axis(9, { kernel: 4, before: 2 }))), refusal)
  const { scratchBytes: onCpu } = { scratchBytes: must(openDevice({ device: 'cpu', precision: 'float32', threads: 1 })).scratchBytes }
  assert.throws(
    () => unwrapAnswer(bytesAnswer(onCpu(encodeToFloats(kernel)))),
    /the cpu device convolves by algorithm 0 or 1, not by a GPU's, 2/
  )
})

test.run()
