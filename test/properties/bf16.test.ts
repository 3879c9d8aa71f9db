import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, meanSquaredError, model, relu, softmaxCrossEntropy, type Model } from '../../dsl'
import { bf16Devices } from '../devices'
import { gradients, stageFor, trainSteps, type Execution, type Gradients } from '../golden/execute'
import { must } from '../must'
import { drawsOf } from '../staging/random-nets'
import { propertyRuns } from '../property-runs'
import { randomSegments } from '../staging/random-segments'
import { norm, randomExecution } from './random-execution'
import { assertPeakTouched } from './touched-peak'

/** Half of the distance between neighbouring numbers of 8 bits of mantissa, relative. */
const rounding = 2 ** -9

/**
 * Of all gradients together, relative to the second's; where a rectifier leaves none, both are
 * zero.
 */
const distance = (a: Gradients, b: Gradients): number => {
  const names = [...b.tensors.keys()].filter((name) => name.startsWith('grad.'))
  const values = ({ tensors }: Gradients): readonly number[] => names.flatMap((name) => Array.from(tensors.get(name)!))
  const [found, reference] = [values(a), values(b)]
  const difference = norm(found.map((value, index) => value - reference[index]!))
  return difference === 0 ? 0 : difference / norm(reference)
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))]!

/**
 * How many roundings tiles may be apart from the whole: cuda's convolutions round before they add a
 * bias, and both it and the cpu before a rectifier in the same go.
 */
const apart = { reference: 2, cpu: 8, cuda: 8 } as const
const devices = bf16Devices()

for (const { name, on } of devices)
  test(`${name}: random nets' tiles equal the whole up to rounding, gradients are close to exact ones, memory is as predicted`, async () => {
    const [distances, errors]: readonly [number[], number[]] = [[], []]
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
        const { draw, graph, ...execution } = randomExecution(seed)
        const narrow = { ...execution, ...on }
        const plain = await gradients({ ...narrow, strategy: 'plain' })
        const tiled = await gradients({ ...narrow, segments: randomSegments(draw, graph) })
        distances.push(distance(tiled, plain))
        for (const { measuredPeakBytes, staged } of [plain, tiled]) assertPeakTouched(staged.program, measuredPeakBytes)
        errors.push(distance(plain, await gradients({ ...execution, strategy: 'plain' })))
      }),
      propertyRuns(60)
    )
    // Of a few draws more: rounding may flip an input of a rectifier or a pool near its kink, in
    // tiles otherwise than in the whole.
    assert.ok(quantile(distances, 0.95) <= apart[on.device] * rounding, `tiles are ${quantile(distances, 0.95)} apart from the whole`)
    assert.ok(quantile(distances, 0.5) <= 2 * rounding, `the median distance is ${quantile(distances, 0.5)}`)
    assert.ok(quantile(errors, 0.5) <= 4 * rounding, `the median error is ${quantile(errors, 0.5)}`)
  })

const executionOf = (net: Model, input: readonly [number, number, number, number], target: readonly number[]): Execution => {
  const draw = drawsOf(7)
  const values = (count: number, scale: number): Float64Array =>
    Float64Array.from({ length: count }, () => (scale * draw(-1000, 1000)) / 1000)
  const base = { model: net, input, device: 'reference', precision: 'bf16' } as const
  const { graph } = must(stageFor({ ...base, weights: new Map(), batch: { input: [], target: [] } }, { kind: 'gradients' }))
  const count = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1)
  const weights = new Map(
    graph.parameters.map(({ name, shape }) => [name, values(count(shape), Math.sqrt(3 / (count(shape) / shape[0]!)))])
  )
  return { ...base, weights, batch: { input: values(count(input), 1), target } }
}

test('tiles add up a sum over pixels in float32', async () => {
  const net = model({ name: 'mean', layers: [conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, meanSquaredError] })
  const execution = executionOf(net, [1, 1, 32, 32], [1, 1, 1, 1])
  const span = { recompute: true, reorder: 'once' } as const
  const segments = [
    { from: 0, to: 2, grid: { B: 1, H: 16, W: 16 }, ...span },
    { from: 2, to: 3, grid: { B: 1, H: 1, W: 1 }, ...span }
  ]
  const [whole, tiled] = [await gradients({ ...execution, strategy: 'plain' }), await gradients({ ...execution, segments })]
  assert.is(tiled.loss, whole.loss)
})

const classifier = (first: number, second: number): Model =>
  model({
    name: 'classifier',
    layers: [
      conv2d({ out: first, k: 3, p: 1 }),
      relu,
      conv2d({ out: second, k: 3, p: 1 }),
      relu,
      globalAvgPool,
      linear({ out: 4 }),
      softmaxCrossEntropy
    ]
  })

for (const { name, on } of devices)
  test(`${name}: training with float32 weights brings the loss down, in tiles too`, async () => {
    const execution = { ...executionOf(classifier(8, 8), [4, 2, 12, 12], [0, 1, 2, 3]), ...on }
    const optimizer = { kind: 'sgd', momentum: 0.9, weightDecay: 0 } as const
    for (const strategy of ['plain', 'sft'] as const) {
      const { losses } = await trainSteps({ ...execution, strategy }, { optimizer, learningRate: 0.1, steps: 40 })
      assert.ok(losses.at(-1)! < losses[0]! / 2, `${strategy}: from ${losses[0]} to ${losses.at(-1)}`)
    }
  })

for (const { name, on } of devices.filter(({ on }) => on.device === 'cpu'))
  for (const [first, second] of [
    [32, 16],
    [96, 96]
  ] as const)
    test(`${name}: ${first} and ${second} channels by Winograd are read and written in bf16, and err as little as direct ones`, async () => {
      const execution = executionOf(classifier(first, second), [2, 16, 21, 18], [0, 3])
      const exact = await gradients({ ...execution, precision: 'float64', strategy: 'plain' })
      const winograd = [0, 2]
      const whole = { B: 1, H: 1, W: 1 }
      const error = async (
        chosen: readonly number[],
        grid: { readonly B: number; readonly H: number; readonly W: number }
      ): Promise<number> => {
        const span = { recompute: grid.B * grid.H * grid.W > 1, reorder: 'once', grid } as const
        const segments = [
          { from: 0, to: 5, ...span, ...(chosen.length > 0 && { winograd: chosen }) },
          { from: 5, to: 7, grid: whole, recompute: false, reorder: 'once' as const }
        ]
        return distance(await gradients({ ...execution, ...on, segments }), exact)
      }
      const direct = await error([], whole)
      for (const grid of [whole, { B: 2, H: 2, W: 3 }]) {
        const byWinograd = await error(winograd, grid)
        assert.ok(byWinograd <= Math.max(1.5 * direct, 2 * rounding), `${byWinograd}, and directly ${direct}`)
      }
    })

test('activations take two bytes: a large image about half as many as in float32', () => {
  const execution = executionOf(classifier(8, 8), [1, 2, 12, 12], [0])
  const peak = (precision: 'bf16' | 'float32'): number =>
    must(stageFor({ ...execution, precision, input: [1, 2, 256, 256], strategy: 'plain' }, { kind: 'gradients' })).program.peakBytes
  assert.ok(peak('bf16') < 0.51 * peak('float32'), `${peak('bf16')} of ${peak('float32')}`)
})

test.run()
