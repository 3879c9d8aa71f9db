// The cuda device's own gradient of the weights of 3 x 3 convolutions, on a GPU that has it or the
// emulation, held to sums of products in double.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { warpgroupAlgorithm, wholeWarpgroupAlgorithm } from '../../staging'
import { layoutCode } from '../../staging/kernels/layout'
import { testsDevice } from '../devices'
import { askCuda } from './cuda-answers'
import { close, launchKernel, stored } from './program'
import { axis, few, gradientOf, placesOf, weightsOf, type Axis, type Gradient } from './weight-gradients'

const kernelOf = (batch: number, inChannels: number, outChannels: number, rows: Axis, columns: Axis): Gradient => ({
  ...gradientOf(batch, inChannels, outChannels, rows, columns),
  ...{ sourceLayout: layoutCode('nhwc'), algorithm: warpgroupAlgorithm }
})

const dilated = (extent: number, dilation: number): Axis => axis(extent, { dilation, before: dilation, after: dilation })

/** Tiles at an image's corners and within it; windows that overlap or do not; rows far apart. */
const kernels: readonly Gradient[] = [
  kernelOf(1, 64, 64, axis(5), axis(32)),
  kernelOf(2, 128, 64, axis(4, { before: 0 }), axis(37, { after: 0 })),
  kernelOf(1, 64, 128, axis(7, { before: 0, after: 0 }), axis(70, { before: 0 })),
  kernelOf(3, 64, 64, dilated(5, 2), dilated(9, 3)),
  kernelOf(1, 64, 64, dilated(8, 7), dilated(75, 68)),
  kernelOf(1, 64, 64, axis(3, { before: 3, after: 4 }), axis(4, { before: 4, after: 3 })),
  kernelOf(2, 64, 64, axis(1), axis(1)),
  // More rows than are summed at once.
  kernelOf(1, 64, 64, axis(300), axis(2))
]

const isThere =
  testsDevice('cuda') &&
  askCuda('tf32')
    .algorithms({ ...kernels[0]!, algorithm: 0 })
    .some(({ algorithm }) => algorithm === warpgroupAlgorithm)
const suite = isThere ? test : test.skip

for (const precision of ['tf32', 'bf16'] as const)
  for (const algorithm of [warpgroupAlgorithm, wholeWarpgroupAlgorithm])
    suite(`gradients of weights by warpgroups are sums of products, algorithm ${algorithm}, ${precision}`, async () => {
      const { scratchBytes } = askCuda(precision)
      for (const kernel of kernels.map((one) => ({ ...one, algorithm }))) {
        const source = few(kernel.batch * kernel.inChannels * kernel.inHeight * kernel.inWidth, 1)
        const gradient = few(kernel.batch * kernel.outHeight * kernel.outWidth * kernel.outChannels, 3)
        const expected = weightsOf(kernel, source, placesOf(kernel, true), gradient)
        const written = await launchKernel(
          kernel,
          [
            ...[source, gradient].map((values) => stored(values, precision === 'tf32' ? 'float32' : precision)),
            ...[new Float32Array(expected.length).fill(NaN), new Float32Array(kernel.outChannels)],
            new Uint8Array(scratchBytes(kernel)).fill(255)
          ],
          { device: 'cuda', precision }
        )
        close(Array.from(written[2]!), expected, { tolerance: 2e-6 })
      }
    })

suite('wide rows take it first, and all can do without scratch', () => {
  const wide = kernelOf(1, 64, 64, axis(192), axis(192))
  for (const precision of ['tf32', 'bf16'] as const) {
    const { algorithms, scratchBytes } = askCuda(precision)
    const listed = algorithms({ ...wide, algorithm: 0 })
    assert.is(listed[0]!.algorithm, warpgroupAlgorithm)
    assert.is(listed[0]!.scratchBytes, scratchBytes(wide))
    assert.equal(listed.at(-1), { algorithm: wholeWarpgroupAlgorithm, scratchBytes: 0 })
    const narrow = algorithms({ ...kernelOf(1, 64, 64, axis(192), axis(7)), algorithm: 0 })
    assert.not.equal(narrow[0]!.algorithm, warpgroupAlgorithm)
  }
})

suite('what it does not take is refused in a sentence', () => {
  const refusal =
    /algorithm 3 of the cuda device is for gradients of weights of 3 x 3 convolutions of stride 1 and one group in tf32 or bf16, in nhwc/
  const [kernel] = kernels as readonly [Gradient]
  for (const changes of [{ outChannels: 96 }, { inChannels: 32 }, { groups: 64 }, { kind: 'convolutionBackwardData' }] as const)
    assert.throws(() => askCuda('bf16').scratchBytes({ ...kernel, ...changes }), refusal)
  assert.throws(() => askCuda('float32').scratchBytes(kernel), refusal)
})

test.run()
