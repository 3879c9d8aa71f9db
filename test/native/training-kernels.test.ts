import * as assert from 'uvu/assert'
import { test } from 'uvu'
import type { Kernel } from '../../staging/kernels/kernels'
import { close, runKernel, targets } from './program'

const wave = (count: number, phase: number): readonly number[] => Array.from({ length: count }, (_, i) => Math.sin(3 * i + phase))
const step = (number: number) => ({ learningRate: 0.2, step: number, seed: 1 })
const count = 100
const [weights, gradient, velocity, variance] = [wave(count, 1), wave(count, 2), wave(count, 3), wave(count, 4).map(Math.abs)]

for (const target of targets) {
  const name = `${target.device} ${target.precision}`

  test(`the rate multiplies sgd's learning rate, ${name}`, async () => {
    const kernel: Kernel = { kind: 'sgd', count, rate: 0.25, weightDecay: 0.1, momentum: 0.9 }
    const slope = gradient.map((value, i) => value + 0.1 * weights[i]!)
    for (const [number, changes] of [
      [0, slope],
      [2, slope.map((value, i) => 0.9 * velocity[i]! + value)]
    ] as const) {
      const [after, , speed] = await runKernel(kernel, [weights, gradient, velocity], target, step(number))
      close(speed!, changes, target)
      close(
        after!,
        weights.map((weight, i) => weight - 0.05 * changes[i]!),
        target
      )
    }
    const plain = await runKernel({ ...kernel, momentum: 0 }, [weights, gradient, undefined], target, step(2))
    close(
      plain[0]!,
      weights.map((weight, i) => weight - 0.05 * slope[i]!),
      target
    )
  })

  for (const decoupled of [0, 1])
    test(`the rate multiplies the learning rate of adam, decoupled ${decoupled}, and nothing else, ${name}`, async () => {
      const [beta1, beta2, epsilon, weightDecay, rate] = [0.9, 0.99, 1e-3, 0.1, 0.05]
      const kernel: Kernel = { kind: 'adam', count, rate: 0.25, weightDecay, beta1, beta2, epsilon, decoupled }
      const [after, , first, second] = await runKernel(kernel, [weights, gradient, velocity, variance], target, step(2))
      const slope = gradient.map((value, i) => (decoupled === 1 ? value : value + weightDecay * weights[i]!))
      const firsts = slope.map((value, i) => beta1 * velocity[i]! + (1 - beta1) * value)
      const seconds = slope.map((value, i) => beta2 * variance[i]! + (1 - beta2) * value * value)
      const expected = weights.map((weight, i) => {
        const direction = firsts[i]! / (1 - beta1 ** 3) / (Math.sqrt(seconds[i]! / (1 - beta2 ** 3)) + epsilon)
        return (decoupled === 1 ? weight * (1 - rate * weightDecay) : weight) - rate * direction
      })
      close(first!, firsts, target)
      close(second!, seconds, target)
      close(after!, expected, target)
    })

  test(`a rate of 0 leaves the weights as they are, ${name}`, async () => {
    const [before] = await runKernel({ kind: 'rectifierForward', count, slope: 1 }, [weights, weights], target)
    const sgd: Kernel = { kind: 'sgd', count, rate: 0, weightDecay: 0.1, momentum: 0 }
    const adam: Kernel = { kind: 'adam', count, rate: 0, weightDecay: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decoupled: 1 }
    assert.equal((await runKernel(sgd, [weights, gradient, undefined], target))[0], before)
    assert.equal((await runKernel(adam, [weights, gradient, velocity, variance], target))[0], before)
  })

  // In float32 a sum of these would lose the ones beside the 2^12 squared after 2^24.
  test(`squares are summed in double, onto what was there, ${name}`, async () => {
    const source = Array.from({ length: 50_001 }, (_, i) => (i % 10_000 === 0 ? 4096 : 1))
    const [, sum] = await runKernel({ kind: 'sumSquares', count: source.length }, [source, Float64Array.of(0.5)], target)
    assert.equal(sum, [6 * 2 ** 24 + 49_995 + 0.5])
  })

  test(`a gradient is clipped to the norm of all, ${name}`, async () => {
    const kernel: Kernel = { kind: 'clipGradient', count, maxNorm: 3 }
    const clipped = async (sum: number) => (await runKernel(kernel, [Float64Array.of(sum), gradient], target))[1]!
    const [untouched] = await runKernel({ kind: 'rectifierForward', count, slope: 1 }, [gradient, gradient], target)
    close(
      await clipped(36),
      gradient.map((value) => (value * 3) / (6 + 1e-6)),
      target
    )
    assert.equal(await clipped(8.9), untouched)
    assert.equal(await clipped(0), untouched)
    assert.ok((await clipped(NaN)).every(Number.isNaN))
    // The small term is torch's: at the norm itself the gradient shrinks by a hair, which float32 still shows.
    assert.ok(Math.abs((await clipped(9))[0]! / gradient[0]! - 3 / (3 + 1e-6)) < 1e-7)
  })

  test(`square roots are of float64 on every device, ${name}`, async () => {
    const roots = (await runKernel({ kind: 'squareRoot', count: 3 }, [Float64Array.of(2, 0, 1e300), new Float64Array(3)], target))[1]
    assert.equal([...roots!], [Math.SQRT2, 0, 1e150])
  })

  const [batch, classes, fullBatch] = [3, 4, 6]
  const scores = wave(batch * classes, 5)
  const labels = Int32Array.of(2, 0, 3)
  const probabilities = scores.map((score, i) => {
    const row = scores.slice(Math.floor(i / classes) * classes).slice(0, classes)
    return Math.exp(score) / row.reduce((sum, other) => sum + Math.exp(other), 0)
  })
  const right = [0, 1, 2].filter((row) => {
    const of = scores.slice(row * classes, (row + 1) * classes)
    return of.indexOf(Math.max(...of)) === labels[row]
  }).length

  for (const rowWeights of [undefined, [0.5, 0, 3]])
    test(`cross entropy with row weights ${rowWeights?.join(' ') ?? 'absent'}, ${name}`, async () => {
      const weight = (row: number): number => rowWeights?.[row] ?? 1
      const forward: Kernel = { kind: 'softmaxCrossEntropyForward', batch, classes, fullBatch }
      const loss = (await runKernel(forward, [scores, labels, rowWeights, Float64Array.of(1, 2)], target))[3]!
      const sum = [...labels].reduce((total, label, row) => total - weight(row) * Math.log(probabilities[row * classes + label]!), 0)
      close(loss, [1 + sum / fullBatch, 2 + right], target)
      const backward: Kernel = { ...forward, kind: 'softmaxCrossEntropyBackward' }
      const found = (await runKernel(backward, [scores, labels, rowWeights, wave(batch * classes, 6)], target))[3]!
      const expected = probabilities.map((probability, i) => {
        const row = Math.floor(i / classes)
        return (weight(row) * (probability - (i % classes === labels[row] ? 1 : 0))) / fullBatch
      })
      close(found, expected, target)
    })
}

test('weights of 1 change no bit of the loss', async () => {
  const forward: Kernel = { kind: 'softmaxCrossEntropyForward', batch: 2, classes: 5, fullBatch: 3 }
  const backward: Kernel = { ...forward, kind: 'softmaxCrossEntropyBackward' }
  for (const target of targets)
    for (const [kernel, last] of [
      [forward, Float64Array.of(0, 0)],
      [backward, wave(10, 0)]
    ] as const) {
      const run = async (rowWeights?: readonly number[]) =>
        (await runKernel(kernel, [wave(10, 1), Int32Array.of(4, 1), rowWeights, last], target))[3]
      assert.equal(await run([1, 1]), await run())
    }
})

test.run()
