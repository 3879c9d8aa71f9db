import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { adaptiveAvgPool2d, conv2d, globalAvgPool, linear, meanSquaredError, model } from '../../dsl'
import { vgg16 } from '../../models'
import {
  isConvolution,
  layoutCode,
  withProfile,
  stage,
  rotated180Algorithm,
  fewChannelsAlgorithm,
  verify,
  type ConvolutionKernel,
  type DeviceModel
} from '../../staging'
import { isRotated180, withExactKernels, withFastestFirst } from '../../staging/devices/algorithms'
import { gpuModel, representative } from '../../staging/devices/gpu-model'
import { gpuDouble } from './gpu-answers'
import { must } from '../must'

const linkBytesPerSecond = { toDevice: 2e10, toHost: 2e10 }

const outputExtent = (input: number, before: number, after: number, window: number, stride: number): number =>
  Math.floor((input + before + after - window) / stride) + 1

const anExtent = fc.integer({ min: 1, max: 5000 })

/** Any convolution of a tile: padding up to what the window reaches, on either side. */
const aConvolution: fc.Arbitrary<ConvolutionKernel> = fc
  .record({
    outs: fc.tuple(anExtent, anExtent),
    window: fc.constantFrom(1, 3, 7),
    stride: fc.constantFrom(1, 2),
    dilation: fc.constantFrom(1, 2)
  })
  .chain(({ outs: [outHeight, outWidth], window, stride, dilation }) => {
    const reach = (window - 1) * dilation
    const padding = fc.integer({ min: 0, max: Math.floor(reach / 2) })
    return fc
      .tuple(padding, padding, padding, padding, fc.integer({ min: 1, max: 1440 }))
      .map(([padTop, padBottom, padLeft, padRight, batch]): ConvolutionKernel => ({
        kind: 'convolutionForward',
        batch,
        inChannels: 16,
        inHeight: Math.max(1, (outHeight - 1) * stride + reach + 1 - padTop - padBottom),
        inWidth: Math.max(1, (outWidth - 1) * stride + reach + 1 - padLeft - padRight),
        outHeight,
        outWidth,
        kernelHeight: window,
        kernelWidth: window,
        strideHeight: stride,
        strideWidth: stride,
        dilationHeight: dilation,
        dilationWidth: dilation,
        padTop,
        padBottom,
        padLeft,
        padRight,
        outChannels: 16,
        groups: 1,
        sourceLayout: 0,
        destinationLayout: 0,
        weightLayout: 0,
        algorithm: 0,
        slope: 0
      }))
  })

test('a representative is a convolution of about the size, no larger, that stands for itself', () => {
  fc.assert(
    fc.property(aConvolution, (kernel) => {
      const one = representative(kernel)
      assert.equal(representative(one), one)
      const reach = (one.kernelHeight - 1) * one.dilationHeight + 1
      assert.is(outputExtent(one.inHeight, one.padTop, one.padBottom, reach, one.strideHeight), one.outHeight)
      assert.is(outputExtent(one.inWidth, one.padLeft, one.padRight, reach, one.strideWidth), one.outWidth)
      assert.ok(one.inHeight > 0 && one.inWidth > 0)
      for (const field of ['batch', 'outHeight', 'outWidth'] as const)
        assert.ok(one[field] <= kernel[field] && kernel[field] < 1.25 * one[field] + 1, `${field}: ${one[field]} for ${kernel[field]}`)
    }),
    { numRuns: 200 }
  )
})

test("planning VGG-16 at 4096x4096 asks a GPU some thousand questions, and takes its own answer for each kernel's scratch", () => {
  const { answers, asked } = gpuDouble()
  const { plan, predicted, program } = must(
    stage({
      model: vgg16({ classes: 2 }),
      input: [1, 3, 4096, 4096],
      device: gpuModel(answers, { threads: 1, linkBytesPerSecond }),
      strategy: 'auto',
      budget: { bytes: 11 * 2 ** 30 },
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
      source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
    })
  )
  // 17,161 and 21,292 where every tile was asked about by itself.
  assert.ok(asked.algorithms < 2000 && asked.scratchBytes < 6500, JSON.stringify(asked))
  assert.ok(plan.segments.some(({ grid }) => grid.H * grid.W > 1))
  assert.is(must(verify(program)).peakBytes, predicted.peakDeviceBytes)
  const convolutions = program.kernels.filter(isConvolution)
  assert.ok(convolutions.some(({ algorithm }) => algorithm === 16 + 6))
  // The source's copy makes room of its own for a tile whose padding differs on both sides.
  const copied = convolutions.filter(({ padTop, padBottom }) => padTop !== padBottom)
  assert.ok(copied.length > 0 && copied.every((kernel) => answers.scratchBytes(kernel)! > 0))
})

test('where a GPU refuses a tile the algorithm that it lists for all of about its size, the tile takes the next one', () => {
  const { answers } = gpuDouble()
  const isUneven = ({ padTop, padBottom }: ConvolutionKernel): boolean => padTop !== padBottom
  const fastest = [16 + 6, 16 + 5]
  const refuses = (kernel: ConvolutionKernel): boolean => isUneven(kernel) && fastest.includes(kernel.algorithm)
  const device = gpuModel(
    { ...answers, scratchBytes: (kernel) => (refuses(kernel) ? undefined : answers.scratchBytes(kernel)) },
    { threads: 1, linkBytesPerSecond }
  )
  const convolution = conv2d({ out: 8, k: 3, p: 1 })
  const once = { recompute: true, reorder: 'once', workspace: 2 ** 24 } as const
  const { program } = must(
    stage({
      model: model({ name: 'small', layers: [convolution, convolution, globalAvgPool, linear({ out: 2 })] }),
      ...{ input: [1, 3, 32, 32], device, strategy: 'plain', objective: { kind: 'gradients' }, source: { kind: 'float' } },
      given: {
        order: [0, 1, 2, 3, 4],
        segments: [
          { from: 0, to: 2, grid: { B: 1, H: 3, W: 1 }, ...once },
          { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, ...once }
        ]
      }
    })
  )
  const convolutions = program.kernels.filter(isConvolution)
  assert.equal([...new Set(convolutions.filter(isUneven).map(({ algorithm }) => algorithm))], [16 + 1])
  assert.ok(convolutions.some((kernel) => fastest.includes(kernel.algorithm)))
})

const aProduct = (changed: Partial<ConvolutionKernel>): ConvolutionKernel => ({
  ...{ kind: 'convolutionForward', batch: 1, inChannels: 512, outChannels: 512, groups: 1 },
  ...{ inHeight: 64, inWidth: 64, outHeight: 64, outWidth: 64, kernelHeight: 3, kernelWidth: 3 },
  ...{ strideHeight: 1, strideWidth: 1, dilationHeight: 1, dilationWidth: 1, padTop: 1, padBottom: 1, padLeft: 1, padRight: 1 },
  ...{ sourceLayout: 0, destinationLayout: 0, weightLayout: 0, algorithm: 16 + 6, slope: 1 },
  ...(changed as object)
})
const small = { inHeight: 8, inWidth: 8, outHeight: 8, outWidth: 8 }
const gpu = gpuModel(gpuDouble().answers, { threads: 1, linkBytesPerSecond })

test('a product that is too small for all multiprocessors takes longer than its share of a large one', () => {
  // 4 blocks of 64 x 128 on 132 multiprocessors, against 128 of 128 x 128.
  assert.ok(gpu.milliseconds(aProduct(small)) > 0.4 * gpu.milliseconds(aProduct({})))
  // One block more than there are multiprocessors takes as long as twice as many.
  const [full, more, twice] = [33, 34, 66].map((rows) => gpu.milliseconds(aProduct({ inHeight: 2 * rows, outHeight: 2 * rows })))
  assert.ok(more! > 1.9 * full! && Math.abs(more! - twice!) < 1e-9, `${full}, ${more}, ${twice}`)
})

test('many multiprocessors share the pixels of a gradient of weights', () => {
  const [gradient, forward] = [
    aProduct({ kind: 'convolutionBackwardWeights', algorithm: 16 + 5, inChannels: 64 }),
    aProduct({ inChannels: 64 })
  ]
  assert.ok(gpu.milliseconds(gradient) < 2 * gpu.milliseconds(forward))
})

test('no product is predicted faster than by the rate of the whole GPU', () => {
  const { answers } = gpuDouble()
  const { multiprocessors: _, ...rates } = answers.rates
  const evenly = gpuModel({ ...answers, rates }, { threads: 1, linkBytesPerSecond })
  fc.assert(
    fc.property(
      aConvolution,
      fc.constantFrom('convolutionForward', 'convolutionBackwardData', 'convolutionBackwardWeights'),
      (kernel, kind) => {
        const one = { ...kernel, kind } as ConvolutionKernel
        assert.ok(gpu.milliseconds(one) >= evenly.milliseconds(one) * (1 - 1e-12))
      }
    ),
    { numRuns: 200 }
  )
})

test("the copy that a tile at the image's border goes through is part of its convolution's time", () => {
  const [inside, border] = [aProduct({ padTop: 1, padBottom: 1 }), aProduct({ padTop: 1, padBottom: 0, inHeight: 65 })]
  const { bytesPerSecond, launchSeconds } = gpuDouble().answers.rates
  const copy = 1000 * ((2 * 4 * 512 * 65 * 64) / bytesPerSecond + launchSeconds)
  assert.ok(Math.abs(gpu.milliseconds(border) - gpu.milliseconds(inside) - copy) < 0.05 * copy)
})

test("the device's own gradient of weights over few channels copies no plain image, as cuDNN's does", () => {
  const image = {
    kind: 'convolutionBackwardWeights',
    inChannels: 3,
    sourceLayout: layoutCode('plain'),
    weightLayout: layoutCode('ohwi')
  } as const
  const [own, cudnn] = [fewChannelsAlgorithm, 16 + 9].map((algorithm) =>
    gpu.milliseconds(aProduct({ ...image, destinationLayout: layoutCode('nhwc'), algorithm }))
  )
  const { bytesPerSecond, launchSeconds } = gpuDouble().answers.rates
  const copy = 1000 * ((2 * 4 * 3 * 64 * 64) / bytesPerSecond + launchSeconds)
  assert.ok(Math.abs(cudnn! - own! - copy) < 1e-9, `${own}, ${cudnn}`)
})

test('tensors of 2^31 elements and more are not convolved by cuDNN', () => {
  const square = (size: number, changes: Partial<ConvolutionKernel> = {}): number | undefined =>
    gpu.scratchBytes(aProduct({ inHeight: size, inWidth: size, outHeight: size, outWidth: size, ...changes }))
  const largest = Math.floor(Math.sqrt((2 ** 31 - 1) / 512))
  assert.not.equal(square(largest), undefined)
  assert.is(square(largest + 1), undefined)
  assert.not.equal(square(largest + 1, { algorithm: fewChannelsAlgorithm, inChannels: 3 }), undefined)
})

test('the indices of a max pool take a byte each, and four where windows are large', () => {
  const pool = (kernelHeight: number, kernelWidth: number): number => {
    const window = { kernelHeight, kernelWidth, strideHeight: 2, strideWidth: 2, dilationHeight: 1, dilationWidth: 1 }
    const padding = { padTop: 0, padBottom: 0, padLeft: 0, padRight: 0 }
    const extents = { batch: 2, inChannels: 3, inHeight: 64, inWidth: 64, outHeight: 7, outWidth: 5 }
    return gpu.indicesBytes({ kind: 'maxPoolForward', ...extents, ...window, ...padding, layout: layoutCode('nhwc') })
  }
  assert.equal([pool(2, 2), pool(15, 17), pool(16, 16)], [210, 210, 840])
})

test('a convolution of what is pooled to one pixel reads channels innermost, where the device has them so', () => {
  const { answers } = gpuDouble()
  const layouts = { input: 'plain', activation: 'nhwc', weights: { forward: 'ohwi', backwardData: 'ohwi' } } as const
  const { program } = must(
    stage({
      model: model({
        name: 'pooled',
        layers: [conv2d({ out: 8, k: 3, p: 1 }), adaptiveAvgPool2d({ out: 1 }), conv2d({ out: 8, k: 1 }), meanSquaredError]
      }),
      ...{ input: [1, 3, 32, 32], strategy: 'plain', objective: { kind: 'gradients' }, source: { kind: 'float' } },
      device: gpuModel({ ...answers, layouts }, { threads: 1, linkBytesPerSecond })
    })
  )
  const pooled = program.kernels.filter(isConvolution).filter(({ inHeight }) => inHeight === 1)
  assert.ok(pooled.length > 0 && pooled.every(({ sourceLayout }) => sourceLayout === layoutCode('nhwc')))
})

test('turned weights are taken where a measurement says so, and nowhere else', () => {
  const { answers } = gpuDouble()
  const turned = (n: number) => ({ algorithm: rotated180Algorithm(n), scratchBytes: 2 ** 20 })
  const model = gpuModel(
    { ...answers, algorithms: (kernel) => [turned(1), ...answers.algorithms(kernel), turned(7)] },
    { threads: 1, linkBytesPerSecond }
  )
  const [{ slope: _, ...fields }] = fc.sample(aConvolution, { numRuns: 1, seed: 1 }) as [ConvolutionKernel & { slope: number }]
  const kernel: ConvolutionKernel = { ...fields, kind: 'convolutionBackwardData', batch: 1, strideHeight: 1, strideWidth: 1 }
  const order = (device: DeviceModel): readonly number[] => withFastestFirst(device).algorithms!(kernel).map(({ algorithm }) => algorithm)
  const unmeasured = order(model)
  assert.equal(unmeasured.slice(-3), [0, rotated180Algorithm(1), rotated180Algorithm(7)])
  const kernels = unmeasured.map((algorithm) => ({
    kernel: { ...kernel, algorithm },
    milliseconds: algorithm === rotated180Algorithm(7) ? 1 : 2
  }))
  assert.is(order(withProfile(model, { kernels, linkBytesPerSecond }))[0], rotated180Algorithm(7))
  assert.equal(
    order(withExactKernels(model)).filter((algorithm) => isRotated180({ algorithm, scratchBytes: 0 })),
    [rotated180Algorithm(1)]
  )
})

test.run()
