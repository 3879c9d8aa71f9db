import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Kernel, type KernelOf, layoutCode, referenceModel, smallerKernel } from '../../staging'
import { configurationKey } from '../../staging/kernels/kernel-configuration'

const { milliseconds } = referenceModel('float32')
const plain = layoutCode('plain')

const convolution = (changed: Partial<KernelOf<'convolutionForward'>> = {}): KernelOf<'convolutionForward'> => ({
  kind: 'convolutionForward',
  batch: 4,
  inChannels: 64,
  inHeight: 224,
  inWidth: 300,
  outHeight: 224,
  outWidth: 300,
  kernelHeight: 3,
  kernelWidth: 3,
  strideHeight: 1,
  strideWidth: 1,
  dilationHeight: 1,
  dilationWidth: 1,
  padTop: 1,
  padBottom: 1,
  padLeft: 1,
  padRight: 1,
  outChannels: 64,
  groups: 1,
  sourceLayout: plain,
  destinationLayout: plain,
  weightLayout: plain,
  algorithm: 0,
  slope: 1,
  ...changed
})

const strided = { strideHeight: 2, strideWidth: 2, inHeight: 448, inWidth: 600 }

test('a smaller kernel is of the same configuration, and takes about its share of the time', () => {
  const kernels: readonly Kernel[] = [
    convolution(),
    convolution({ batch: 1 }),
    convolution(strided),
    { kind: 'rectifierForward', count: 1e7, slope: 0 }
  ]
  for (const kernel of kernels)
    for (const share of [0.5, 0.25, 0.1, 0.02]) {
      const smaller = smallerKernel(kernel, share)!
      assert.is(configurationKey(smaller), configurationKey(kernel))
      const got = milliseconds(smaller) / milliseconds(kernel)
      assert.ok(got > 0.7 * share && got < 1.3 * share, `${kernel.kind}: ${got} of the time where ${share} was asked for`)
    }
})

test('the inputs of a smaller convolution are those that its outputs read', () => {
  for (const kernel of [convolution(), convolution(strided)]) {
    const { inHeight, outHeight, strideHeight, padTop, padBottom } = smallerKernel(kernel, 0.1)!
    assert.is((outHeight - 1) * strideHeight + 3, inHeight + padTop + padBottom)
  }
})

test('a kernel whose sizes lie in a larger tensor has no smaller one', () => {
  const { kind, batch, channels, height, width, layout } = {
    kind: 'dropout',
    batch: 1,
    channels: 4,
    height: 64,
    width: 64,
    layout: plain
  } as const
  const dropout: Kernel = {
    kind,
    batch,
    channels,
    height,
    width,
    layout,
    fullChannels: 4,
    fullHeight: 64,
    fullWidth: 64,
    layerKey: 0,
    rate: 0.5
  }
  assert.is(smallerKernel(dropout, 0.5), undefined)
})

test.run()
