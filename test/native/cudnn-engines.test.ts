/** Engines of cuDNN's graphs as the cuda device names them, on a GPU or its emulation. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { probeConvolution } from '../../native/devices/device-answers'
import { engineOf } from '../../staging'
import { isEngine } from '../../staging/devices/algorithms'
import type { ConvolutionKernel } from '../../staging/kernels/kernels'
import { layoutCode } from '../../staging/kernels/layout'
import { testsDevice } from '../devices'
import { askCuda } from './cuda-answers'

const suite = testsDevice('cuda') ? test : test.skip

const shape = {
  inChannels: 64,
  outChannels: 32,
  groups: 1,
  kernel: [3, 3],
  stride: [1, 1],
  dilation: [1, 1],
  padding: { top: 1, bottom: 1, left: 1, right: 1 },
  sourceLayout: 'nhwc'
} as const

const forward = { ...probeConvolution(shape, 'nhwc'), weightLayout: layoutCode('ohwi') }

/** The same over a tile at the image's corner: padded before its rows and columns, not behind. */
const corner = { ...forward, inHeight: forward.outHeight + 1, inWidth: forward.outWidth + 1, padTop: 1, padLeft: 1 }

const directions = ['convolutionForward', 'convolutionBackwardData', 'convolutionBackwardWeights'] as const

/** The kernel of a direction: a rectifier is forward's alone. */
const inDirection = (kind: (typeof directions)[number], { slope, ...window }: typeof forward): ConvolutionKernel =>
  kind === 'convolutionForward' ? { ...window, kind, slope } : { ...window, kind }

suite('tf32 and bf16 convolve by engines in every direction, each with the scratch that it was listed with', () => {
  for (const precision of ['tf32', 'bf16'] as const) {
    const { algorithms, scratchBytes } = askCuda(precision)
    for (const kernel of directions.map((kind) => inDirection(kind, forward))) {
      const listed = algorithms(kernel)
      assert.ok(listed.length > 0 && listed.every(isEngine), `${precision} ${kernel.kind}: ${JSON.stringify(listed)}`)
      for (const { algorithm, scratchBytes: bytes } of listed) assert.is(scratchBytes({ ...kernel, algorithm }), bytes)
    }
  }
})

suite('behind the fastest four stands an engine that needs less than each of them, where one is near', () => {
  const odd = { ...forward, inWidth: forward.inWidth + 1, outWidth: forward.outWidth + 1 }
  const bytes = askCuda('bf16')
    .algorithms(odd)
    .map(({ scratchBytes }) => scratchBytes)
  assert.ok(bytes.length <= 5 && bytes.slice(4).every((least) => least < Math.min(...bytes.slice(0, 4))), `${bytes}`)
  // Of the emulated engines one of four does not take an odd width.
  if (process.env.TILEFOLD_CUDNN_PATH?.includes('emulated_cuda') === true) assert.is(bytes.length, 5)
})

suite('an engine pads each side for itself: a tile at the corner takes no copy of its source', () => {
  const { algorithms } = askCuda('bf16')
  const least = (kernel: ConvolutionKernel): number => Math.min(...algorithms(kernel).map(({ scratchBytes }) => scratchBytes))
  const copied = 2 * corner.batch * corner.inChannels * corner.inHeight * corner.inWidth
  for (const kind of ['convolutionForward', 'convolutionBackwardData'] as const) assert.ok(least(inDirection(kind, corner)) < copied)
})

suite('an engine that cuDNN does not have is refused by name', () => {
  const algorithm = 2 ** 32 + 4000 * 2 ** 32 + 7
  assert.is(engineOf(algorithm), 4000)
  assert.throws(
    () => askCuda('bf16').scratchBytes({ ...forward, algorithm }),
    /cuDNN 9\.\S+ .*do not convolve this by engine 4000 with knobs 00000007: measure a profile again/
  )
})

suite('float32, which wants no tensor cores, has no engines among its algorithms', () => {
  const plain = { ...forward, sourceLayout: layoutCode('plain'), destinationLayout: layoutCode('plain'), weightLayout: layoutCode('plain') }
  const listed = askCuda('float32').algorithms(plain)
  assert.ok(listed.length > 0 && !listed.some(isEngine))
})

test.run()
