import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as t from 'io-ts'
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import type { Optimizer, Segment, Training } from '../../staging'
import type { Execution } from '../golden/execute'
import { assertTensorsClose } from '../properties/random-execution'
import { runSections, update, type Action, type Batch } from './execute'

const numbers = t.readonlyArray(t.number)
const golden = t.record(t.string, t.type({ losses: numbers, norms: numbers, weights: t.record(t.string, numbers), scores: numbers }))
const decoded = golden.decode(JSON.parse(readFileSync(join(__dirname, 'data', 'torch.json'), 'utf8')))
if (isLeft(decoded)) throw new Error('data/torch.json is not what make.py writes')
const expected = decoded.right

/** As make.py draws them, and as it trains. */
const values = (count: number, phase: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => (((index + phase) * 7919) % 2003) / 1000 - 1)
const classWeights = [0.5, 2, 1.25]
const [rows, microBatches, updates] = [2, 2, 3]
const image = 3 * 9 * 7

const shapes: readonly (readonly [string, number])[] = [
  ['0.weight', 4 * 3 * 9],
  ['0.bias', 4],
  ['3.weight', 6 * 4 * 9],
  ['3.bias', 6],
  ['6.weight', 3 * 6],
  ['6.bias', 3]
]
const net = model({
  name: 'net',
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), conv2d({ out: 6, k: 3 }), relu, globalAvgPool, linear({ out: 3 })]
})
const execution: Execution = {
  model: net,
  input: [rows, 3, 9, 7],
  device: 'reference',
  strategy: 'plain',
  weights: new Map(shapes.map(([name, count], number) => [name, values(count, 100 * number)])),
  batch: { input: [], target: [] }
}

/** The rows of one update, weighted by their classes, in micro-batches. */
const batchesOf = (number: number): readonly Batch[] => {
  const all = rows * microBatches
  const images = values(all * image, 1000 * (number + 1))
  const labels = Array.from({ length: all }, (_, row) => (number + row) % 3)
  const total = labels.reduce((sum, label) => sum + classWeights[label]!, 0)
  return Array.from({ length: microBatches }, (_, part) => {
    const target = labels.slice(part * rows, (part + 1) * rows)
    return {
      input: images.slice(part * rows * image, (part + 1) * rows * image),
      target,
      rowWeights: target.map((label) => (classWeights[label]! * all) / total)
    }
  })
}

const optimizers: Readonly<Record<string, Optimizer>> = {
  sgd: { kind: 'sgd', momentum: 0.9, weightDecay: 0.01 },
  adam: { kind: 'adam', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 },
  adamw: { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 }
}

const tiles: readonly Segment[] = [
  { from: 0, to: 3, grid: { B: 2, H: 2, W: 3 }, recompute: true, reorder: 'once' },
  { from: 3, to: 6, grid: { B: 1, H: 2, W: 1 }, recompute: true, reorder: 'each-tile' },
  { from: 6, to: 8, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
]

const close = (found: ArrayLike<number>, wanted: readonly number[]): void => {
  assert.is(found.length, wanted.length)
  wanted.forEach((value, index) =>
    assert.ok(Math.abs(found[index]! - value) <= 1e-11 * Math.max(1, Math.abs(value)), `${found[index]} is not ${value}`)
  )
}

for (const [name, optimizer] of Object.entries(optimizers))
  for (const [how, decisions] of [
    ['whole', {}],
    ['in tiles', { segments: tiles }]
  ] as const)
    test(`PyTorch's groups, micro-batches, clipping and class weights: ${name}, ${how}`, async () => {
      const objective: Training = {
        kind: 'train',
        optimizer,
        accumulate: microBatches,
        clipNorm: 0.3,
        rowWeights: true,
        evaluate: true,
        groups: [
          { prefix: '0.weight', frozen: true },
          { prefix: '6', rate: 3, weightDecay: 0.2 },
          { prefix: '6.bias', rate: 3, weightDecay: 0 }
        ]
      }
      const actions: readonly Action[] = [
        ...Array.from({ length: updates }, (_, number) => update(0.05, ...batchesOf(number))).flat(),
        { section: 'evaluate', input: values(rows * image, 0) }
      ]
      const found = await runSections({ ...execution, ...decisions }, objective, actions)
      const { losses, norms, weights, scores } = expected[name]!
      const sums = losses.map((_, number) => found.losses[2 * number]! + found.losses[2 * number + 1]!)
      close(sums, losses)
      close(found.norms, norms)
      close(found.scores[0]!, scores)
      const wanted = new Map(Object.entries(weights).map(([parameter, numbers]) => [parameter, Float64Array.from(numbers)]))
      assertTensorsClose(new Map([...wanted.keys()].map((parameter) => [parameter, found.tensors.get(parameter)!])), wanted, 1e-12)
    })

test.run()
