import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, meanSquaredError, type Model } from '../../dsl'
import { deviceModel } from '../../native'
import { versions } from '../../native/addon/addon'
import { layoutCode } from '../../staging/kernels/layout'
import { gradients } from '../golden/execute'
import { must } from '../must'
import { initialisedExecution, norm } from '../properties/random-execution'

test('the cpu answers for whole convolutions of any size: oneDNN 2.6 divides by the elements of an image, which it counts in 32 bits', () => {
  for (const precision of ['float32', 'bf16'] as const) {
    const { activationLayout, weightLayouts, scratchBytes } = must(deviceModel('cpu', precision, 2))
    for (const [inChannels, outChannels, extent, stride] of [
      [64, 64, 8192, 1],
      [256, 256, 4096, 1],
      [64, 64, 8200, 1],
      [256, 128, 4096, 1],
      [250, 128, 4096, 1],
      [128, 256, 4096, 1],
      [256, 64, 8191, 2],
      [64, 128, 16384, 2]
    ] as const) {
      const [source, destination] = [activationLayout(inChannels, false), activationLayout(outChannels, false)]
      const padding = { top: 1, bottom: 1, left: 1, right: 1 }
      const weights = weightLayouts({
        ...{ inChannels, outChannels, padding, groups: 1, sourceLayout: source },
        ...{ kernel: [3, 3], stride: [stride, stride], dilation: [1, 1] }
      })
      const outExtent = Math.floor((extent - 1) / stride) + 1
      for (const [kind, weightLayout] of [
        ['convolutionForward', weights.forward],
        ['convolutionBackwardData', weights.backwardData],
        ['convolutionBackwardWeights', weights.stored]
      ] as const) {
        const convolution = {
          batch: 1,
          ...{ inChannels, inHeight: extent, inWidth: extent, outChannels, outHeight: outExtent, outWidth: outExtent },
          ...{ kernelHeight: 3, kernelWidth: 3, strideHeight: stride, strideWidth: stride, dilationHeight: 1, dilationWidth: 1 },
          ...{ padTop: 1, padBottom: 1, padLeft: 1, padRight: 1, groups: 1 },
          ...{ sourceLayout: layoutCode(source), destinationLayout: layoutCode(destination), weightLayout: layoutCode(weightLayout) },
          algorithm: 0
        }
        const bytes = scratchBytes(kind === 'convolutionForward' ? { kind, ...convolution, slope: 1 } : { kind, ...convolution })!
        assert.ok(Number.isSafeInteger(bytes) && bytes >= 0, `${kind} of ${inChannels} channels of ${extent}x${extent}: ${bytes}`)
      }
    }
  }
})

const multipliesBf16 = /bf16|amx|fp16/.test(must(versions()).instructionSet)

/** Where it has none, our own loops convert each row to float and back, from plain weights. */
const compiled = multipliesBf16 ? test : test.skip
compiled('in bf16 the cpu has compiled kernels of every common convolution, where the processor multiplies bf16', () => {
  const { activationLayout, weightLayouts } = must(deviceModel('cpu', 'bf16', 2))
  for (const [kernel, stride, dilation, groups] of [
    [3, 1, 1, 1],
    [3, 2, 1, 1],
    [3, 1, 2, 1],
    [1, 1, 1, 1],
    [1, 2, 1, 1],
    [7, 2, 1, 1],
    [3, 1, 1, 64]
  ] as const) {
    const pad = ((kernel - 1) / 2) * dilation
    const { stored, ...read } = weightLayouts({
      inChannels: 64,
      outChannels: 64,
      groups,
      kernel: [kernel, kernel],
      stride: [stride, stride],
      dilation: [dilation, dilation],
      padding: { top: pad, bottom: pad, left: pad, right: pad },
      sourceLayout: activationLayout(64, false)
    })
    const what = `${kernel}x${kernel}, stride ${stride}, dilation ${dilation}, ${groups} groups: ${JSON.stringify({ stored, ...read })}`
    for (const layout of Object.values(read)) assert.match(layout, groups === 1 ? /2[io]$/ : /^Goihw16g$/, what)
    assert.is.not(stored, 'plain', what)
  }
})

test('over a large image, of which each pixel has the same part in it, gradients of biases and of weights keep their digits', async () => {
  for (const { out, extent, names, ...options } of [
    { out: 4, extent: 800, names: ['bias'], k: 1 },
    { out: 4, extent: 800, names: ['bias'], k: 1, s: 2 },
    { out: 4, extent: 800, names: ['bias'], k: 3, p: 1 },
    { out: 4, extent: 800, names: ['bias'], k: 3, p: 1, groups: 4 },
    { out: 20, extent: 400, names: ['bias', 'weight'], k: 3, p: 1, groups: 20 },
    { out: 20, extent: 400, names: ['bias', 'weight'], k: 1, groups: 20 },
    { out: 3, extent: 400, names: ['bias', 'weight'], k: 1 },
    { out: 32, extent: 400, names: ['bias', 'weight'], k: 3, s: 2, groups: 2 }
  ]) {
    const net: Model = { name: 'long', layers: [conv2d({ out, ...options }), globalAvgPool, meanSquaredError] }
    const execution = initialisedExecution(net, [1, out, extent, extent], 'cpu')
    const batch = { ...execution.batch, target: Array.from({ length: out }, (_, index) => index + 1) }
    const gradientsOn = async (device: 'cpu' | 'reference') => (await gradients({ ...execution, batch, device, strategy: 'plain' })).tensors
    const [found, exact] = [await gradientsOn('cpu'), await gradientsOn('reference')]
    for (const name of names) {
      const [ours, theirs] = [found, exact].map((tensors) => tensors.get(`grad.0.${name}`)!)
      const error = norm(theirs!.map((value, index) => value - ours![index]!)) / norm(theirs!)
      assert.ok(error < 1e-6, `${name} of ${JSON.stringify({ out, ...options })}: ${error}`)
    }
  }
})

test('convolutions that run as others, depthwise dilated or of small groups, have the gradients of the reference', async () => {
  const depthwise = { out: 20, groups: 20 } as const
  for (const [name, channels, layer] of [
    ['dilated', 20, conv2d({ ...depthwise, k: 3, d: 2, p: 2 })],
    ['padded unequally', 20, conv2d({ ...depthwise, k: [3, 5], d: [3, 1], p: [5, 1, 0, 3] })],
    ['padded beyond what it reaches', 20, conv2d({ ...depthwise, k: [1, 3], d: 4, p: [0, 0, 9, 2] })],
    ['of groups of 4 channels', 48, conv2d({ out: 48, groups: 12, k: 3, p: 1 })],
    ['of groups of 8 channels, strided', 32, conv2d({ out: 32, groups: 4, k: [5, 3], s: [2, 1], p: [0, 2, 1, 0], bias: false })]
  ] as const) {
    const net: Model = { name: 'regrouped', layers: [layer, globalAvgPool, meanSquaredError] }
    const execution = initialisedExecution(net, [2, channels, 17, 19], 'cpu')
    const batch = { ...execution.batch, target: Array.from({ length: 2 * channels }, (_, index) => index) }
    const gradientsOn = async (device: 'cpu' | 'reference') => await gradients({ ...execution, batch, device, strategy: 'plain' })
    const [ours, theirs] = [await gradientsOn('cpu'), await gradientsOn('reference')]
    assert.ok(Math.abs(ours.loss / theirs.loss - 1) < 1e-6, `${name}: ${ours.loss} and ${theirs.loss}`)
    for (const tensor of ['grad.input', 'grad.0.weight']) {
      const [found, exact] = [ours, theirs].map(({ tensors }) => tensors.get(tensor)!)
      const error = norm(exact!.map((value, index) => value - found![index]!)) / norm(exact!)
      assert.ok(error < 1e-6, `${name}, ${tensor}: ${error}`)
    }
  }
})

test.run()
