import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { initialise } from '../../../src/weights/initialise'
import { randomStream } from '../../../src/numbers/random'

/** The docstring's definition in BigInt, word for word. */
const reference = (seed: number, name: string): ((index: number) => number) => {
  const wrap = (value: bigint): bigint => BigInt.asUintN(64, value)
  const gamma = 0x9e3779b97f4a7c15n
  const mix = (start: bigint): bigint => {
    let z = start
    z = wrap((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
    z = wrap((z ^ (z >> 27n)) * 0x94d049bb133111ebn)
    return z ^ (z >> 31n)
  }
  const hash = Buffer.from(name).reduce((state, byte) => wrap((state ^ BigInt(byte)) * 0x100000001b3n), 0xcbf29ce484222325n)
  const key = mix(wrap(BigInt(seed) + gamma)) ^ hash
  return (index) => Number(mix(wrap(key + BigInt(index + 1) * gamma)) >> 11n) * 2 ** -53
}

test('uniform numbers are splitmix64 under (seed, name)', () => {
  for (const [seed, name] of [
    [0, ''],
    [7, 'features.0.weight'],
    [2 ** 53 - 1, 'größe']
  ] as const) {
    const { uniform } = randomStream(seed, name)
    const expected = reference(seed, name)
    for (const index of [0, 1, 2, 1000, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 3]) assert.is(uniform(index), expected(index))
  }
})

test('the values that every mirror of the generator must give', () => {
  const { uniform } = randomStream(7, 'features.0.weight')
  assert.is(uniform(0), 0.6101556349100475)
  assert.is(uniform(2 ** 40), 0.7498007438361304)
  const normal = new Float64Array(3)
  randomStream(7, 'features.0.weight').fillNormal(normal, 1)
  for (const [index, expected] of [-1.0359418441718848, -0.900466469252927, 0.064302847615965].entries())
    assert.ok(Math.abs(normal[index]! - expected) < 1e-14)
})

test('initial weights: deviations by fan-out for convolutions, 0.01 for linear layers and what makes scores, zero biases', () => {
  const deviation = (values: Float32Array): number => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length)
  const convolution = new Float32Array(128 * 64 * 9)
  initialise(3, 'c.weight', [128, 64, 3, 3], convolution)
  const linear = new Float32Array(100 * 500)
  initialise(3, 'l.weight', [100, 500], linear)
  const scores = new Float32Array(2 * 256 * 9)
  initialise(3, 's.weight', [2, 256, 3, 3], scores, true)
  const bias = new Float32Array(10).fill(5)
  initialise(3, 'l.bias', [10], bias)
  assert.ok(Math.abs(deviation(convolution) / Math.sqrt(2 / (128 * 9)) - 1) < 0.01)
  assert.ok(Math.abs(deviation(linear) / 0.01 - 1) < 0.01)
  assert.ok(Math.abs(deviation(scores) / 0.01 - 1) < 0.05)
  assert.ok(bias.every((value) => value === 0))
})

test.run()
