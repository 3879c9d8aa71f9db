import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { enlarge } from '../../bench/enlarge'
import { kernelBytes, copyOf } from '../../bench/kernel-bytes'
import { limitMilliseconds } from '../../bench/machine-limit'
import { must } from '../../bench/must'
import { requestFor } from '../../bench/request'
import { stage, type Kernel } from '../../staging'
import { layoutCode } from '../../staging/kernels/layout'

const rates = { float32: 1e9, bf16: 2e9, bytes: Infinity }
const convolution: Kernel = {
  kind: 'convolutionForward',
  ...{ batch: 1, inChannels: 16, inHeight: 32, inWidth: 32, outHeight: 32, outWidth: 32, outChannels: 32, groups: 1 },
  ...{ kernelHeight: 3, kernelWidth: 3, strideHeight: 1, strideWidth: 1, dilationHeight: 1, dilationWidth: 1 },
  ...{ padTop: 1, padBottom: 1, padLeft: 1, padRight: 1, algorithm: 0, slope: 1 },
  ...{ sourceLayout: layoutCode('nChw16c'), destinationLayout: layoutCode('nChw16c'), weightLayout: layoutCode('OIhw16i16o') }
}
const byWinograd: Kernel = { ...convolution, algorithm: 1, weightLayout: layoutCode('winogradForward') }

const limitOf = (kernel: Kernel, precision: 'float32' | 'bf16'): number => {
  const { program } = must(stage(must(requestFor({ model: 'vgg16', size: 32, threads: 1 }))))
  const launch = { kind: 'launch' as const, kernel: 0, operands: [] }
  return limitMilliseconds(
    { ...program, kernels: [kernel], step: { ...program.step, code: [launch] }, update: undefined as never },
    precision,
    rates
  )
}

test('the limit counts products inside the image, a quarter of all by Winograd, what its transforms take, and its float32', () => {
  // Of three taps, two edges lack one each.
  const [products, inside] = [9 * 32 ** 2, (3 * 32 - 2) ** 2].map((pairs) => 2 * 16 * 32 * pairs) as [number, number]
  // 64 tiles; a window is transformed in 144 operations a channel, a tile of results in 130.
  const transforms = 2 * 64 * (16 * 144 + 32 * 130)
  const near = (kernel: Kernel, precision: 'float32' | 'bf16', flops: number, rate: number): void =>
    assert.ok(Math.abs(limitOf(kernel, precision) - (1000 * flops) / rate) < 1e-9)
  near(convolution, 'float32', inside, 1e9)
  near(convolution, 'bf16', inside, 2e9)
  near(byWinograd, 'float32', products / 4 + transforms, 1e9)
  near(byWinograd, 'bf16', products / 4 + transforms, 1e9)
})

test('a kernel is enlarged in whole images to the bytes that are asked for, or left as it is', () => {
  const tile = { batch: 2, channels: 16, height: 8, width: 8, layout: layoutCode('nChw16c') }
  const bias: Kernel = { kind: 'addBias', ...tile }
  assert.is(enlarge(bias, 0.5), bias)
  assert.equal(enlarge(bias, 2.5), { ...bias, batch: 6 })
  assert.equal(enlarge({ kind: 'softmaxCrossEntropyForward', batch: 2, classes: 3, fullBatch: 4 }, 3), {
    ...{ kind: 'softmaxCrossEntropyForward', batch: 6, classes: 3, fullBatch: 12 }
  })
  const weights = { kernelHeight: 3, kernelWidth: 3, sourceLayout: 0, destinationLayout: 0 }
  const depthwise: Kernel = { kind: 'reorderWeights', outChannels: 8, inChannels: 8, groups: 8, ...weights }
  assert.equal(enlarge(depthwise, 2), { ...depthwise, outChannels: 16, inChannels: 16, groups: 16 })
})

test('a box that is copied several times does not overlap itself', () => {
  const copy = copyOf(800)
  const more = enlarge({ ...copy, sourceStride0: 0, destinationStride0: 0 } as Kernel, 3)
  assert.equal(more, { ...copy, n0: 3, sourceStride0: 100, destinationStride0: 100 })
  assert.is(kernelBytes(more, 'bf16'), 2400)
})

test.run()
