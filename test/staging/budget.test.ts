/** Budgets as fractions of strategy plain, and a device's memory. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { avgPool2d, conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import { buildRequestGraph, referenceModel, stage, stageEach, stageGraph, type StageRequest } from '../../staging'
import { builtIn } from '../../models'
import { must } from '../must'
import { twoConvolutions } from './convolutions'

const request: StageRequest = {
  model: twoConvolutions,
  input: [1, 3, 64, 64],
  device: referenceModel('float32'),
  strategy: 'auto',
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
}

test("a fraction is of plain's peak, in whole bytes", () => {
  const plain = must(stage({ ...request, strategy: 'plain' })).program.peakBytes
  const { predicted, budget, plan } = must(stage({ ...request, budget: { fractionOfPlain: 0.7 } }))
  assert.is(predicted.plainPeakBytes, plain)
  assert.is(budget, Math.floor(0.7 * plain))
  assert.equal(must(stage({ ...request, budget: { bytes: Math.floor(0.7 * plain) } })).plan, plan)
})

test("no budget is more than a device's memory, whatever it is a fraction of", () => {
  const refused = stage({ ...request, budget: { fractionOfPlain: 2 }, memory: { name: 'small', bytes: 1000 } })
  assert.match(
    isLeft(refused) ? refused.left.message : '',
    /^the budget of \d+ bytes is more than the 1000 that small has; lower --budget\.$/
  )
})

test('where the device has less than what is needed, no higher budget is advised, which would be refused', () => {
  const sentence = (budget: number, bytes: number): string => {
    const refused = stage({ ...request, budget: { bytes: budget }, memory: { name: 'small', bytes } })
    return isLeft(refused) ? refused.left.message : ''
  }
  const needed = /strategy auto needs at least \d+ bytes[^,]*, where .* is the largest tensor/.source
  for (const [budget, bytes, limit, remedy] of [
    [10000, 10000, 'the 10000 bytes that small has', '; take a smaller input or a device with more memory'],
    [5000, 10000, 'the budget of 5000 bytes', ', and small has 10000 bytes; take a smaller input or a device with more memory'],
    [5000, 2 ** 30, 'the budget of 5000 bytes', '; raise --budget or take a smaller input']
  ] as const)
    assert.match(sentence(budget, bytes), new RegExp(`^.* does not fit ${limit}: ${needed}${remedy}\\.$`))
})

test('a graph that is built is the one that is staged, whatever the request', () => {
  const graph = must(buildRequestGraph(request))
  const stageBy = stageEach(graph, request)
  for (const strategy of ['plain', 'auto'] as const) {
    const staged = must(stageGraph(graph, { ...request, strategy }))
    assert.is(staged.sourceGraph, graph)
    assert.is(must(stageBy({ strategy })).sourceGraph, graph)
    assert.equal(staged.plan, must(stage({ ...request, strategy })).plan)
  }
})

test('what a U-Net needs by tiles is soon said, though its finest ones would take minutes to place', () => {
  const start = process.cpuUsage()
  const unet: StageRequest = { ...request, model: builtIn['unet']!({ classes: 2, head: 'gap' }), input: [2, 3, 512, 512], strategy: 'sft' }
  const refused = stage({ ...unet, budget: { fractionOfPlain: 0.05 } })
  const error = isLeft(refused) ? refused.left : undefined
  assert.match(
    error?.message ?? '',
    /^unet on 2x3x512x512 does not fit the budget of .*: strategy sft needs at least \d+ bytes .*, where the .* is the largest tensor;/
  )
  const { user, system } = process.cpuUsage(start)
  assert.ok(user + system < 20e6, `${(user + system) / 1e6} CPU seconds`)
  const least = (error as { readonly smallestFeasibleBudgetBytes: number }).smallestFeasibleBudgetBytes
  assert.ok(must(stage({ ...unet, budget: { bytes: least } })).program.peakBytes <= least)
})

// Of the first a rank makes fewer rows than its share of all, of the last what tiles and transfers
// looks at other plans for less.
for (const [strategy, layers] of [
  ['plain', [conv2d({ out: 4, k: 1 }), maxPool2d({ k: 1, s: 3 }), avgPool2d({ k: 1, s: 3 })]],
  ['auto', [conv2d({ out: 8, k: 3, p: 1 }), conv2d({ out: 1, k: 3, p: [14, 0, 1, 1] })]],
  ['sft-offload', [conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 4, k: 3, p: [0, 1, 1, 1] })]]
] as const)
  test(`the smallest budget that a refusal names is enough for ranks that share rows, by ${strategy}`, () => {
    const on = (bytes: number) =>
      stage({
        ...request,
        ...{ strategy, budget: { bytes }, source: { kind: 'float' } },
        model: model({ name: 'shared', layers: [...layers, globalAvgPool, linear({ out: 3 })] }),
        input: strategy === 'sft-offload' ? [1, 3, 24, 8] : [1, 1, 18, 21],
        device: { ...referenceModel('float64'), network: { bytesPerSecond: 1e12, latencySeconds: 1e-9 } },
        objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, shard: { count: 2, index: 0 } }
      })
    const refused = on(1)
    assert.ok(isLeft(refused))
    const least = refused.left.smallestFeasibleBudgetBytes!
    assert.ok(must(on(least)).program.peakBytes <= least)
  })

test.run()
