import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, maxPool2d, model, relu, seq, softmaxCrossEntropy, linear } from '../../dsl'
import { builtIn } from '../../models'
import { decodeDeviceFile, fileModel, isProfile, isRecorded, stage, type StrategyName } from '../../staging'
import { must } from '../must'

const decoded = decodeDeviceFile(JSON.parse(readFileSync(join(__dirname, '../../devices/v100-16gb.json'), 'utf8')))
if (isLeft(decoded) || isProfile(decoded.right) || isRecorded(decoded.right)) throw new Error('a sheet of a device')
const device = fileModel(decoded.right, 'float32')

const block = (name: string, out: number) =>
  seq(name, [conv2d({ out, k: 3, p: 1 }), relu, conv2d({ out, k: 3, p: 1 }), relu, maxPool2d({ k: 2, s: 2 })])
const head = [globalAvgPool, linear({ out: 2 }), softmaxCrossEntropy] as const
const networks = {
  plain: model({ name: 'plain', layers: [block('a', 8), block('b', 16), block('c', 32), ...head] }),
  normalised: model({
    name: 'normalised',
    layers: [
      ...[8, 16, 16].flatMap((out) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu]),
      maxPool2d({ k: 2, s: 2 }),
      ...[32, 32].flatMap((out) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu]),
      ...head
    ]
  })
}

/**
 * Microseconds of the steps that were planned at commit 3a6c006c, by per cent of plain's memory;
 * of `auto` with a host.
 */
const planned: readonly (readonly [keyof typeof networks, StrategyName, number, number])[] = [
  ['plain', 'sft', 20, 1999.604],
  ['plain', 'sft', 50, 477.947],
  ['plain', 'sft-offload', 35, 708.449],
  ['plain', 'auto', 20, 1503.312],
  ['normalised', 'sft', 70, 569.518],
  ['normalised', 'sft-offload', 35, 2049.945],
  ['normalised', 'auto', 50, 882.048]
]

test('no plan is slower than what was once planned, and none is missing', () => {
  for (const [name, strategy, percent, microseconds] of planned) {
    const staged = stage({
      model: networks[name],
      input: [2, 3, 96, 128],
      device,
      strategy,
      budget: { fractionOfPlain: percent / 100 },
      ...(strategy === 'auto' && { hostBudget: { bytes: 2 ** 30 } }),
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
      source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
    })
    if (isLeft(staged) && staged.left.code !== 'budget') throw new Error(staged.left.message)
    const now = isLeft(staged) ? Infinity : staged.right.predicted.stepMilliseconds * 1000
    assert.ok(now <= microseconds * (1 + 1e-9), `${name} by ${strategy} in ${percent}%: ${now} µs`)
  }
})

test('more is kept than the device holds, as far as the rest passes beside computing', () => {
  const planBy = (strategy: StrategyName) =>
    must(
      stage({
        model: builtIn.resnet50!({ classes: 2, head: 'gap' }),
        input: [1, 3, 2048, 2048],
        device,
        strategy,
        budget: { fractionOfPlain: 0.3 },
        objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
        source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
      })
    )
  const [kept, moved] = [planBy('sft'), planBy('sft-offload')]
  assert.ok(moved.plan.segments.some(({ recompute }) => recompute))
  assert.ok(moved.predicted.peakHostBytes > 0.05 * moved.predicted.plainPeakBytes)
  assert.ok(moved.predicted.stepMilliseconds < 0.97 * kept.predicted.stepMilliseconds)
})

test('the host budget that a refusal names is enough, and one byte less is not', () => {
  for (const fractionOfPlain of [0.45, 0.5]) {
    const planWith = (bytes: number) =>
      stage({
        model: networks.normalised,
        input: [2, 3, 96, 96],
        device,
        strategy: 'sft-offload',
        budget: { fractionOfPlain },
        hostBudget: { bytes },
        objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
        source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
      })
    const refused = planWith(1)
    assert.ok(isLeft(refused))
    const named = Number(/needs at least (\d+) bytes/.exec(refused.left.message)?.[1])
    assert.ok(!isLeft(planWith(named)))
    assert.ok(isLeft(planWith(named - 1)), `${named} bytes are named, and one less is enough`)
  }
})

test.run()
