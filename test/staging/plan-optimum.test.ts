import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, relu, residual } from '../../dsl'
import { referenceModel, stage, type Objective, type StageRequest } from '../../staging'
import { inSystems } from '../in-systems'
import { planOracle } from './plan-oracle'

const objective: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }
const source = { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] } as const
const device = referenceModel('float32')
const input = [1, 3, 64, 64] as const

const convolution = <const Out extends number>(out: Out) => conv2d({ out, k: 3, p: 1 })
const normalised = <const Out extends number>(out: Out) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu] as const
const pool = maxPool2d({ k: 2 })
const head = [globalAvgPool, linear({ out: 2 })] as const

const networks = [
  model({ name: 'narrow', layers: [convolution(16), relu, convolution(16), relu, pool, convolution(32), relu, ...head] }),
  model({
    name: 'strided',
    layers: [conv2d({ out: 16, k: 3, p: 1, s: 2 }), relu, convolution(16), relu, conv2d({ out: 32, k: 3, p: 1, s: 2 }), relu, ...head]
  }),
  model({ name: 'wide', layers: [convolution(32), relu, convolution(64), relu, pool, convolution(128), relu, ...head] }),
  model({ name: 'pooled twice', layers: [convolution(8), relu, pool, convolution(16), relu, pool, convolution(32), relu, ...head] }),
  model({ name: 'normalised', layers: [...normalised(16), ...normalised(16), pool, ...normalised(32), ...head] }),
  model({
    name: 'residual',
    layers: [convolution(16), relu, residual([convolution(16), relu, convolution(16)]), relu, pool, convolution(32), relu, ...head]
  })
]

const shares = [0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

/**
 * What auto's step takes of the oracle's, at each budget in which that finds one. Where auto is
 * faster, as it may be in branches, it is as good.
 */
const ratios = (network: (typeof networks)[number]): readonly number[] => {
  const request: StageRequest = { model: network, input, device, objective, source, strategy: 'auto' }
  const oracle = planOracle(request, [1, 2, 3, 4, 6, 8])
  return (inSystems ? shares : shares.filter((_, index) => index % 3 === 1)).flatMap((share) => {
    const bytes = Math.floor(share * oracle.plainPeakBytes)
    const auto = stage({ ...request, budget: { bytes } })
    const fastest = oracle.fastest(bytes)
    if (fastest === undefined) return []
    return [Math.max(1, (isRight(auto) ? auto.right.predicted.stepMilliseconds : Infinity) / fastest)]
  })
}

// In `npm test` the first in three budgets, in the long tests all (docs/systems.md).
test('auto is within 2 % of the fastest plan on average, and within 5 % at worst', () => {
  const found = (inSystems ? networks : networks.slice(0, 1)).map((network) => ({ name: network.name, ratios: ratios(network) }))
  const text = found.map(({ name, ratios: some }) => `${name}: ${some.map((ratio) => ratio.toFixed(3)).join(' ')}`).join('\n')
  const all = found.flatMap(({ ratios: some }) => some)
  assert.ok(
    found.every(({ ratios: some }) => some.length >= 3),
    text
  )
  assert.ok(all.reduce((sum, ratio) => sum + ratio, 0) / all.length <= 1.02, text)
  assert.ok(Math.max(...all) <= 1.05, text)
})

test.run()
