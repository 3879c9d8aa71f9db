/** Tensors that lie in what they are joined to along the channels. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  batchNorm,
  conv2d,
  convTranspose2d,
  denseBlock,
  globalAvgPool,
  linear,
  maxPool2d,
  model,
  parallel,
  relu,
  type Layers
} from '../../dsl'
import { referenceModel, stage, verify, type DeviceModel, type Kernel, type Segment } from '../../staging'
import { must } from '../must'
import { launches } from './verify/edit-program'

const convolution = (out: number) => conv2d({ out, k: 3, p: 1 })
const dense = (growth: number) => denseBlock([batchNorm(), relu, convolution(growth)])
const denseBlocks = (growth: number): Layers => [convolution(16), dense(growth), dense(growth), dense(growth), batchNorm(), relu]

const stageOf = (layers: Layers, images = 1, device: DeviceModel = referenceModel('float32'), given?: readonly Segment[]) =>
  must(
    stage({
      ...{ model: model({ name: 'joined', layers: [...layers, globalAvgPool, linear({ out: 2 })] }), input: [images, 3, 16, 16], device },
      ...{ objective: { kind: 'gradients' }, source: { kind: 'float' }, strategy: 'plain' },
      ...(given && { given: { order: layers.map((_, position) => position), segments: given } })
    })
  )

const kernelsOf = (layers: Layers, images?: number, device?: DeviceModel): readonly Kernel[] => {
  const { program } = stageOf(layers, images, device)
  must(verify(program))
  return launches(program).map(({ kernel }) => kernel)
}

const channelCopiesOf = (...request: Parameters<typeof kernelsOf>) =>
  kernelsOf(...request).flatMap((kernel) => (kernel.kind === 'copyChannels' ? [kernel] : []))

/** Copies of channels in forward: from a tensor to where it is joined to others. */
const copiesOf = (...request: Parameters<typeof kernelsOf>): number =>
  channelCopiesOf(...request).filter(({ sourceChannels, destinationChannels }) => destinationChannels > sourceChannels).length

/** Copies of channels in backward: from the gradient of what is joined to that of a part. */
const copiesBackOf = (...request: Parameters<typeof kernelsOf>): number =>
  channelCopiesOf(...request).filter(({ sourceChannels, destinationChannels }) => destinationChannels < sourceChannels).length

test('dense blocks in a row grow in one place: only what stands before them is copied', () => {
  assert.is(copiesOf(denseBlocks(8)), 1)
  const outputs = stageOf(denseBlocks(8)).program.buffers.filter(({ name }) => /^output of .*concat/.test(name))
  assert.equal(
    outputs.map(({ bytes }) => bytes),
    [(16 + 3 * 8) * 16 * 16 * 4]
  )
})

test('of several images, whose channels do not lie together, all are copied', () => {
  assert.is(copiesOf(denseBlocks(8), 2), 6)
})

test('all that is joined must fill whole blocks of channels, one after the other', () => {
  const blocked: DeviceModel = { ...referenceModel('float32'), activationLayout: () => 'nChw16c' }
  assert.is(copiesOf(denseBlocks(16), 1, blocked), 1)
  // Of 40 channels, the second time.
  assert.is(copiesOf(denseBlocks(24), 1, blocked), 3)
  assert.is(copiesOf(denseBlocks(16), 1, { ...referenceModel('float32'), activationLayout: () => 'nhwc' }), 6)
})

test('a device that wants places aligned gets no others', () => {
  const aligned = (viewAlignment: number): DeviceModel => ({ ...referenceModel('float32'), viewAlignment })
  assert.is(copiesOf(denseBlocks(8), 1, aligned(8 * 16 * 16 * 4)), 1)
  assert.is(copiesOf(denseBlocks(8), 1, aligned(2 * 16 * 16 * 16 * 4)), 3)
})

test('branches write where they are joined, but for what others read meanwhile, which may have to leave', () => {
  const branches = parallel([[convolution(4), relu], [maxPool2d({ k: 3, s: 1, p: 1 })], [convolution(8)]])
  assert.is(copiesOf([convolution(4), branches, convolution(4)]), 0)
  const down = [maxPool2d({ k: 2 }), convolution(8), relu, convTranspose2d({ out: 4, k: 2, s: 2 })]
  assert.is(copiesOf([convolution(4), relu, parallel([[], down]), convolution(4)]), 1)
})

test('dense blocks go back in one place: only what stands before them gets a gradient of its own', () => {
  assert.is(copiesBackOf(denseBlocks(8)), 2)
  assert.is(copiesBackOf(denseBlocks(8), 2), 6)
  const aligned: DeviceModel = { ...referenceModel('float32'), viewAlignment: 2 * 16 * 16 * 16 * 4 }
  assert.is(copiesBackOf(denseBlocks(8), 1, aligned), 4)
})

test('what others read too keeps its gradient apart, and with it all that is joined to it', () => {
  const branches = parallel([[convolution(4), relu], [maxPool2d({ k: 3, s: 1, p: 1 })], [convolution(8)]])
  assert.is(copiesBackOf([convolution(4), branches, convolution(4)]), 0)
  const down = [maxPool2d({ k: 2 }), convolution(8), relu, convTranspose2d({ out: 4, k: 2, s: 2 })]
  assert.is(copiesBackOf([convolution(4), relu, parallel([[], down]), convolution(4)]), 2)
})

test('a normalisation adds its gradient to that of its input', () => {
  const kinds = kernelsOf(denseBlocks(8))
  assert.is(kinds.filter((kernel) => kernel.kind === 'normaliseBackward' && kernel.add === 1).length, 3)
  assert.is(kinds.filter((kernel) => kernel.kind === 'copyBox' && kernel.add === 1).length, 0)
})

test('what a dense block has normalised before, it does not measure again', () => {
  const measured = (kernels: readonly Kernel[]): readonly number[] =>
    kernels.flatMap((kernel) => (kernel.kind === 'momentsForward' ? [kernel.channels] : []))
  assert.equal(measured(kernelsOf(denseBlocks(8))), [16, 8, 8, 8])
  assert.equal(measured(kernelsOf(denseBlocks(8), 2)), [16, 24, 32, 40])
})

test.run()
