// Resizing, adaptive pooling and the loss of pixels against PyTorch (test/golden/pixel_kernels.py).
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kernel } from '../../staging/kernels/kernels'
import { goldenJson } from '../golden/files'
import { close, runKernel, targets } from './program'

interface Resampled {
  readonly shape: readonly [number, number, number, number]
  readonly size: readonly [number, number]
  readonly destination: readonly number[]
  readonly sourceGradient: readonly number[]
}

interface Resized extends Resampled {
  readonly bilinear: number
  readonly alignCorners: number
}

const isResized = (of: Resampled | Resized): of is Resized => 'bilinear' in of

const cases = goldenJson<{
  readonly resize: readonly Resized[]
  readonly adaptivePool: readonly Resampled[]
  readonly pixelCrossEntropy: readonly {
    readonly shape: readonly [number, number, number, number]
    readonly labels: readonly number[]
    readonly ignored: number
    readonly weights: readonly number[] | null
    readonly normaliser: number
    readonly loss: number
    readonly right: number
    readonly classes: readonly number[]
    readonly sourceGradient: readonly number[]
  }[]
}>('pixel-kernels')

const wave = (count: number, phase: number): readonly number[] => Array.from({ length: count }, (_, i) => Math.sin(3 * i + phase))
const zeros = (count: number): readonly number[] => Array.from({ length: count }, () => 0)

for (const target of targets) {
  const name = `${target.device} ${target.precision}`

  test(`resized and pooled tensors and their gradients are PyTorch's, ${name}`, async () => {
    for (const of of [...cases.resize, ...cases.adaptivePool]) {
      const [batch, channels, inHeight, inWidth] = of.shape
      const [outHeight, outWidth] = of.size
      const tile = { batch, channels, inHeight, inWidth, outHeight, outWidth, layout: 0 }
      const whole = { fullInHeight: inHeight, fullInWidth: inWidth, fullOutHeight: outHeight, fullOutWidth: outWidth }
      const kernel = (direction: 'Forward' | 'Backward'): Kernel =>
        isResized(of)
          ? { kind: `resize${direction}`, ...tile, ...whole, bilinear: of.bilinear, alignCorners: of.alignCorners }
          : { kind: `adaptivePool${direction}`, ...tile, ...whole }
      const [ins, outs] = [of.sourceGradient.length, of.destination.length]
      close((await runKernel(kernel('Forward'), [wave(ins, 1), zeros(outs), 0, 0, 0, 0], target))[1]!, of.destination, target)
      close((await runKernel(kernel('Backward'), [wave(outs, 2), zeros(ins), 0, 0, 0, 0], target))[1]!, of.sourceGradient, target)
    }
  })

  test(`the loss of pixels, its gradient and the predicted classes are PyTorch's, ${name}`, async () => {
    for (const { shape, labels, ignored, weights, normaliser, loss, right, classes, sourceGradient } of cases.pixelCrossEntropy) {
      const [batch, channels, height, width] = shape
      const tile = { batch, channels, height, width, layout: 0, fullHeight: height, fullWidth: width }
      const scores = wave(sourceGradient.length, 1)
      const given = [scores, Int32Array.from(labels), weights ?? undefined, Float64Array.of(normaliser)]
      const found = await runKernel({ kind: 'pixelCrossEntropyForward', ...tile, ignored }, [...given, Float64Array.of(1, 2)], target)
      close(found[4]!, [1 + loss, 2 + right], target)
      const gradient = await runKernel({ kind: 'pixelCrossEntropyBackward', ...tile, ignored }, [...given, zeros(scores.length)], target)
      close(gradient[4]!, sourceGradient, target)
      const predicted = await runKernel({ kind: 'classesOfPixels', ...tile }, [scores, new Uint8Array(classes.length)], target)
      assert.equal(predicted[1], classes)
    }
  })

  test(`a pixel that has a score that is not finite has no class, ${name}`, async () => {
    for (const channels of [3, 70]) {
      const [height, width] = [2, 5]
      const tile = { batch: 1, channels, height, width, layout: 0, fullHeight: height, fullWidth: width }
      const scores = [...wave(channels * height * width, 1)]
      const finite = (await runKernel({ kind: 'classesOfPixels', ...tile }, [scores, new Uint8Array(height * width)], target))[1]!
      const pixels = [0, 3, 8, 9]
      ;[NaN, Infinity, -Infinity, NaN].forEach(
        (value, index) => (scores[((index * 37) % channels) * height * width + pixels[index]!] = value)
      )
      const classes = (await runKernel({ kind: 'classesOfPixels', ...tile }, [scores, new Uint8Array(height * width)], target))[1]!
      assert.equal(
        [...classes],
        [...finite].map((one, pixel) => (pixels.includes(pixel) ? 255 : one))
      )
    }
  })

  test(`a label that is no class and not ignored is named, ${name}`, async () => {
    const tile = { batch: 1, channels: 2, height: 1, width: 2, layout: 0, fullHeight: 1, fullWidth: 2, ignored: 255 }
    for (const kind of ['pixelCrossEntropyForward', 'pixelCrossEntropyBackward'] as const) {
      const failed = await runKernel(
        { kind, ...tile },
        [
          wave(4, 1),
          Int32Array.of(0, 2),
          undefined,
          Float64Array.of(2),
          kind === 'pixelCrossEntropyForward' ? Float64Array.of(0, 0) : wave(4, 1)
        ],
        target
      ).then(
        () => '',
        (error: unknown) => String(error)
      )
      assert.match(failed, 'label 2 of a pixel is neither in 0 .. 1 nor the ignored 255')
    }
  })

  test(`a gradient's outputs may be a part, an output's inputs may not be missing, ${name}`, async () => {
    const tile = { batch: 1, channels: 1, inHeight: 1, inWidth: 2, outHeight: 1, outWidth: 2, layout: 0 }
    const whole = { fullInHeight: 1, fullInWidth: 4, fullOutHeight: 1, fullOutWidth: 2 }
    const forward: Kernel = { kind: 'adaptivePoolForward', ...tile, ...whole }
    const backward: Kernel = { ...forward, kind: 'adaptivePoolBackward' }
    close((await runKernel(backward, [[2, 4], zeros(2), 0, 1, 0, 0], target))[1]!, [1, 2], target)
    const failed = await runKernel(forward, [[2, 4], zeros(2), 0, 1, 0, 0], target).then(
      () => '',
      (error: unknown) => String(error)
    )
    assert.match(failed, 'output 0 is made of inputs 0 .. 1, but the tile holds 1 .. 2')
  })
}

test.run()
