/** Blocks that one tensor joins, in which statistics stand, so that no tiles cross them. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model, relu, residual } from '../../dsl'
import { referenceModel, stage, verify, type Objective, type Segment, type StageRequest } from '../../staging'
import { gradients } from '../golden/execute'
import { inSystems } from '../in-systems'
import { must } from '../must'
import { winogradDevice } from '../staging/training-cases'
import { assertClose, initialisedExecution } from './random-execution'

const normalised = (out: number) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm()] as const
const blockOf = (out: number) => residual([...normalised(out), relu, ...normalised(out)])
const block = blockOf(16)
const net = model({
  name: 'blocks',
  layers: [...normalised(16), relu, block, relu, block, relu, block, relu, block, relu, globalAvgPool, linear({ out: 2 })]
})
const input = [1, 3, 48, 40] as const

const request: StageRequest = {
  ...{ model: net, input, device: referenceModel('float64'), strategy: 'sft', objective: { kind: 'gradients' }, source: { kind: 'float' } }
}
const refused = stage({ ...request, budget: { bytes: 1 } })
const least = isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0

test('where memory is short, blocks run forward again one by one, which needs less than the same blocks without', () => {
  const { plan, predicted } = must(stage({ ...request, budget: { bytes: least } }))
  assert.ok(predicted.peakDeviceBytes <= least)
  const again = plan.segments.filter(({ rematerialize }) => rematerialize === true)
  assert.ok(again.length >= 2, `${again.length} segments run forward again`)
  const without = plan.segments.map(({ rematerialize: _, ...segment }): Segment => segment)
  const other = must(stage({ ...request, given: { ...plan, segments: without } })).predicted
  const blockBytes = 8 * 16 * 48 * 40
  assert.ok(
    other.peakDeviceBytes >= predicted.peakDeviceBytes + blockBytes,
    `${other.peakDeviceBytes} without, ${predicted.peakDeviceBytes} with`
  )
  assert.ok(other.stepMilliseconds < predicted.stepMilliseconds)
})

const pair = (out: number) => [...normalised(out), relu] as const
const narrow = blockOf(8)
const unlike = model({
  name: 'unlike',
  layers: [
    ...pair(8),
    narrow,
    relu,
    narrow,
    relu,
    narrow,
    relu,
    ...pair(32),
    blockOf(32),
    relu,
    ...pair(8),
    narrow,
    relu,
    globalAvgPool,
    linear({ out: 2 })
  ]
})
/** No tiles cross what comes before its block, and two tensors go on from inside that. */
const plainPair = [conv2d({ out: 8, k: 3, p: 1 }), relu] as const
const normalisedFirst = model({
  name: 'normalised-first',
  layers: [batchNorm(), ...plainPair, ...plainPair, narrow, relu, globalAvgPool, linear({ out: 2 })]
})

for (const net of [unlike, normalisedFirst])
  test(`${net.name}: more memory is never slower, and every plan is whole and proven`, () => {
    const training: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 }, accumulate: 2 }
    const asked: StageRequest = { ...request, model: net, device: winogradDevice('float32'), objective: training }
    const [refused, plain] = [stage({ ...asked, budget: { bytes: 1 } }), must(stage({ ...asked, strategy: 'plain' })).predicted]
    const from = isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0
    let [before, rematerialized] = [Infinity, 0]
    for (let bytes = from; bytes < 1.05 * plain.peakDeviceBytes; bytes = Math.ceil((inSystems ? 1.03 : 1.08) * bytes)) {
      const { plan, predicted, program } = must(stage({ ...asked, budget: { bytes } }))
      assert.is(must(verify(program)).peakBytes, predicted.peakDeviceBytes)
      assert.equal(
        plan.segments.map((segment) => segment.from),
        [0, ...plan.segments.slice(0, -1).map(({ to }) => to)]
      )
      assert.ok(predicted.peakDeviceBytes <= bytes)
      assert.ok(predicted.stepMilliseconds <= before, `${predicted.stepMilliseconds} ms in ${bytes}, but ${before} in less`)
      before = predicted.stepMilliseconds
      rematerialized += Number(plan.segments.some(({ rematerialize }) => rematerialize === true))
    }
    if (net === unlike) assert.ok(rematerialized > 0)
  })

test('their gradients are exact, and memory is as planned', async () => {
  const execution = initialisedExecution(net, input, 'reference')
  const plain = await gradients({ ...execution, strategy: 'plain' })
  const passed = await gradients({ ...execution, strategy: 'sft', budget: least })
  assert.ok(passed.staged.plan.segments.some(({ rematerialize }) => rematerialize === true))
  assertClose(passed, plain, 1e-12)
  assert.is(passed.measuredPeakBytes, passed.staged.program.peakBytes)
})

test.run()
