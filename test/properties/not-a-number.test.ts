import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  batchNorm,
  conv2d,
  globalAvgPool,
  groupNorm,
  leakyRelu,
  linear,
  maxPool2d,
  meanSquaredError,
  pixelCrossEntropy,
  relu,
  residual,
  softmaxCrossEntropy,
  type AnyLayer
} from '../../dsl'
import { bf16Devices, fastDevices, testsDevice } from '../devices'
import { buildGraph, type Segment } from '../../staging'
import { fusibleTileAxes } from '../../staging/graph/grid'
import { classes, gradients } from '../golden/execute'
import { must } from '../must'

const layers: readonly AnyLayer[] = [
  conv2d({ out: 16, k: 3, p: 1 }),
  relu,
  maxPool2d({ k: 2 }),
  conv2d({ out: 16, k: 3, p: 1 }),
  relu,
  maxPool2d({ k: 3, s: 2, p: 1 }),
  globalAvgPool,
  linear({ out: 2 }),
  softmaxCrossEntropy
]
const input = [1, 3, 12, 12]
const weights = new Map<string, ArrayLike<number>>([
  ['0.weight', new Array<number>(16 * 3 * 9).fill(0.1)],
  ['0.bias', new Array<number>(16).fill(0)],
  ['3.weight', new Array<number>(16 * 16 * 9).fill(0.1)],
  ['3.bias', new Array<number>(16).fill(0)],
  ['7.weight', new Array<number>(2 * 16).fill(0.1)],
  ['7.bias', [0, 0]]
])

/** Divergence must be seen: what is not a number anywhere is not one in the loss. */
const ways = [...(['reference', ...fastDevices] as const).map((device) => ({ name: device, on: { device } })), ...bf16Devices()]
for (const { name, on } of ways.filter(({ on }) => testsDevice(on.device)))
  for (const strategy of ['plain', 'sft'] as const)
    test(`one pixel that is not a number reaches the loss: ${name}, ${strategy}`, async () => {
      const pixels = new Array<number>(3 * 12 * 12).fill(1)
      const run = (values: readonly number[]) =>
        gradients({ ...on, model: { name: 'net', layers }, input, strategy, weights, batch: { input: values, target: [1] } })
      assert.ok(Number.isFinite((await run(pixels)).loss))
      assert.ok(Number.isNaN((await run(pixels.with(70, NaN))).loss))
    })

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

/** Numbers of which two are too large together. */
const hugeOn = (on: (typeof ways)[number]['on']): number => (on.device === 'reference' && !('precision' in on) ? 1.5e308 : 3e38)

interface Overflowing {
  readonly layers: readonly AnyLayer[]
  readonly input: readonly number[]
  readonly pixel: (huge: number) => number
  readonly weights: (huge: number) => Readonly<Record<string, readonly number[]>>
  readonly winograd?: readonly number[]
}
const fill = (count: number, value: number): readonly number[] => new Array<number>(count).fill(value)

/**
 * Where the rectifier runs by itself or with what is before it: that makes negative infinities of
 * all that it is given.
 */
const overflowing: Readonly<Record<string, Overflowing>> = {
  alone: { layers: [], input: [2, 3, 5, 7], pixel: () => -Infinity, weights: () => ({}) },
  'in a convolution': {
    layers: [conv2d({ out: 16, k: 3, p: 1 })],
    input: [1, 3, 9, 11],
    pixel: () => -1,
    weights: (huge) => ({ weight: fill(16 * 3 * 9, huge), bias: fill(16, -huge) })
  },
  'in a convolution in groups': {
    layers: [conv2d({ out: 6, k: [3, 2], s: 2, groups: 3 })],
    input: [1, 3, 9, 11],
    pixel: () => -1,
    weights: (huge) => ({ weight: fill(6 * 6, huge), bias: fill(6, -huge) })
  },
  'in a convolution by Winograd': {
    layers: [conv2d({ out: 16, k: 3, p: 1 })],
    input: [1, 16, 9, 11],
    pixel: () => -0.01,
    weights: (huge) => ({ weight: fill(16 * 16 * 9, huge / 10), bias: fill(16, -1.1 * huge) }),
    winograd: [0]
  },
  'in a frozen normalisation': {
    layers: [batchNorm({ frozen: true })],
    input: [2, 5, 9, 7],
    pixel: () => -1,
    weights: (huge) => ({ weight: fill(5, huge), bias: fill(5, -huge), running_mean: fill(5, 0), running_var: fill(5, 1) })
  },
  'in a normalisation of the batch': {
    layers: [batchNorm()],
    input: [2, 5, 9, 7],
    pixel: () => -1,
    weights: () => ({ weight: fill(5, 0), bias: fill(5, -Infinity), running_mean: fill(5, 0), running_var: fill(5, 1) })
  },
  'in a normalisation of groups': {
    layers: [groupNorm({ groups: 2 })],
    input: [2, 6, 6, 5],
    pixel: () => -1,
    weights: () => ({ weight: fill(6, 0), bias: fill(6, -Infinity) })
  },
  'in a sum': { layers: [residual([], [])], input: [1, 3, 9, 11], pixel: (huge) => -huge, weights: () => ({}) }
}

for (const { name, on } of ways.filter(({ on }) => testsDevice(on.device)))
  for (const [where, { layers: before, input, pixel, weights: weightsFor, winograd }] of Object.entries(overflowing)) {
    if (winograd !== undefined && on.device !== 'cpu') continue
    const last = before.length + 1
    const model = { name: 'net', layers: [...before, relu, conv2d({ out: 2, k: 1 }), meanSquaredError] }
    const graph = must(buildGraph(model, input))
    const axes = fusibleTileAxes(graph, { from: 0, to: last + 2 })
    const grids = [{ B: 1, H: 1, W: 1 }, ...(axes.length === 3 ? [{ B: input[0]!, H: 2, W: 3 }] : [])]
    for (const grid of grids)
      test(`a rectifier makes 0 of negative infinities, and of infinite gradients there: ${name}, ${where}, ${grid.H * grid.W * grid.B} tiles`, async () => {
        const huge = hugeOn(on)
        const { nodes } = graph
        const [{ name: behind }, channels, targets] = [nodes[last]!, nodes[last]!.input[1], product(nodes[last]!.output)]
        const segment: Segment = { from: 0, to: last + 2, grid, recompute: false, reorder: 'once' }
        const { loss, tensors } = await gradients({
          ...on,
          model,
          input,
          segments: [{ ...segment, ...(winograd && { winograd }) }],
          weights: new Map<string, readonly number[]>([
            ...Object.entries(weightsFor(huge)).map(([role, values]) => [`0.${role}`, values] as const),
            [`${behind}.weight`, fill(2 * channels, huge)],
            [`${behind}.bias`, [3, 3]]
          ]),
          batch: { input: fill(product(input), pixel(huge)), target: fill(targets, -targets) }
        })
        assert.ok(Math.abs(loss / (3 + targets) ** 2 - 1) < 1e-5, `the loss is ${loss}`)
        // What reaches the rectifier from behind is infinite; nothing of that goes on.
        for (const [tensor, values] of tensors)
          if (tensor.startsWith('grad.') && !tensor.startsWith(`grad.${behind}.`))
            assert.ok(
              values.every((value) => value === 0),
              `${tensor} has ${values.find((value) => value !== 0)}`
            )
      })
  }

for (const { name, on } of ways.filter(({ on }) => testsDevice(on.device))) {
  const run = (layers: readonly AnyLayer[], values: readonly number[]) =>
    gradients({
      ...on,
      model: { name: 'net', layers: [...layers, meanSquaredError] },
      input: [1, 1, 2, 2],
      strategy: 'plain',
      ...batchOf(values)
    })
  const batchOf = (values: readonly number[]) => ({ weights: new Map(), batch: { input: values, target: [0, 0, 0, 0] } })

  test(`rectifiers of infinities and of what is not a number are as in PyTorch: ${name}`, async () => {
    const rectified = await run([relu], [-Infinity, 1, 2, 3])
    assert.is(rectified.loss, 3.5)
    assert.equal([...rectified.tensors.get('grad.input')!], [0, 0.5, 1, 1.5])
    assert.is((await run([leakyRelu({ slope: 0.5 })], [-Infinity, 1, 2, 3])).loss, Infinity)
    assert.ok(Number.isNaN((await run([relu], [NaN, 1, 2, 3])).loss))
    assert.ok(Number.isNaN((await run([leakyRelu({ slope: 0.5 })], [NaN, 1, 2, 3])).loss))
  })
}

for (const { name, on } of ways.filter(({ on }) => testsDevice(on.device)))
  for (const channels of [3, 20, 80])
    test(`a pixel that has a score that is not finite is of no class: ${name}, ${channels} classes`, async () => {
      const [height, width] = [6, 7]
      const pixels = height * width
      const values = Array.from({ length: channels * pixels }, (_, index) => ((index * 7919) % 101) / 101)
      const wrong = [NaN, Infinity, -Infinity].map((value, index) => ({ value, pixel: 5 + 11 * index, channel: (37 * index) % channels }))
      const spoilt = wrong.reduce((all, { value, pixel, channel }) => all.with(channel * pixels + pixel, value), values)
      const found = (input: readonly number[]): Promise<ArrayLike<number>> =>
        classes({
          ...on,
          model: { name: 'net', layers: [pixelCrossEntropy()] },
          input: [1, channels, height, width],
          weights: new Map(),
          batch: { input, target: [] }
        })
      const [good, bad] = [await found(values), await found(spoilt)]
      assert.equal(
        [...Array.from(bad)],
        Array.from(good, (one, at) => (wrong.some(({ pixel }) => pixel === at) ? 255 : one))
      )
    })

test.run()
