/**
 * The policy vDNN_conv of Rhu 2016 (docs/papers.md): which tensors move, and that `vdnn`, which
 * tries it too, is never behind.
 */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, relu, residual, type StrategyName } from '../../dsl'
import { referenceModel, stage, verify, type Staged, type StageRequest } from '../../staging'
import { must } from '../must'

const normalised = (out: number) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu] as const
const layers = [
  ...normalised(8),
  ...normalised(8),
  maxPool2d({ k: 2 }),
  residual([...normalised(8), ...normalised(8)]),
  ...normalised(8),
  globalAvgPool,
  linear({ out: 2 })
]
const request = (strategy: StrategyName, rest: Partial<StageRequest> = {}): StageRequest => ({
  model: model({ name: 'normalised', layers }),
  input: [2, 3, 64, 48],
  device: referenceModel('float32'),
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] },
  strategy,
  ...rest
})
const staged = (strategy: StrategyName, rest: Partial<StageRequest> = {}): Staged => must(stage(request(strategy, rest)))
const least = (strategy: StrategyName): number => {
  const refused = stage(request(strategy, { budget: { bytes: 4096 } }))
  return E.isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0
}

const peak = staged('plain').program.peakBytes
const budgets = [least('vdnn-conv'), Math.floor(0.9 * peak), peak]

test('the inputs of convolutions go to the host at any budget, and nothing else', () => {
  for (const bytes of budgets) {
    const { plan, program } = staged('vdnn-conv', { budget: { bytes } })
    const onHost = plan.swapSchedule?.map(({ tensor }) => tensor)
    // The max pool's output stays: the addition reads it after the convolution has.
    assert.equal(onHost, ['input of 0', 'output of 2', 'output of 9', 'output of add'], `${bytes}`)
    must(verify(program))
  }
})

test('vdnn fits wherever vdnn-conv does, and is never slower', () => {
  assert.ok(least('vdnn') < least('vdnn-conv') && least('vdnn-conv') < peak)
  const times = (strategy: StrategyName) => budgets.map((bytes) => staged(strategy, { budget: { bytes } }).predicted.stepMilliseconds)
  const [dynamic, fixed] = [times('vdnn'), times('vdnn-conv')]
  dynamic.forEach((milliseconds, index) => assert.ok(milliseconds <= fixed[index]!, `${dynamic}, ${fixed}`))
  assert.ok(dynamic[2]! < fixed[2]!)
})

test.run()
