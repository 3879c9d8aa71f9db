import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { model } from '../../dsl'
import {
  explainModel,
  referenceModel,
  stage,
  strategyNames,
  type Explanation,
  type OtherBudget,
  type Segment,
  type StageRequest
} from '../../staging'
import { lower } from '../../staging/lowering'
import { lazy } from '../../staging/memoize'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { convolutions } from './convolutions'
import { withRandomLoss } from './random-losses'
import { drawsOf, netKind, randomNet } from './random-nets'

const common = {
  device: referenceModel('float32'),
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0, 0], deviation: [1, 1, 1, 1] }
} as const

const presentBytes = 2_000_000

const request: StageRequest = {
  ...common,
  model: model({ name: 'net', layers: convolutions }),
  input: [1, 3, 256, 192],
  strategy: 'auto',
  budget: { bytes: presentBytes }
}

const explained = (wanted: StageRequest): Explanation => must(explainModel(wanted))
/** Of the request itself, which several tests read. */
const explanation = lazy(() => explained(request))

const untiled = { B: 1, H: 1, W: 1 }

test('an explanation is of the plan that staging makes', () => {
  const staged = stage(request)
  assert.ok(isRight(staged))
  if (isRight(staged)) assert.equal(explanation().plan, staged.right.plan)
})

test('what is live adds up to the most bytes live at once, no more than the peak, and the binding layer has the most of it', () => {
  const { live, liveBytes, predicted, bindingLayer, graph } = explanation()
  assert.is(
    live.reduce((sum, { bytes }) => sum + bytes, 0),
    liveBytes
  )
  assert.ok(liveBytes <= predicted.peakDeviceBytes && liveBytes > 0.8 * predicted.peakDeviceBytes)
  // Three convolutions and a linear layer, with biases, and as much again for the velocity.
  const parameterBytes = 4 * (3 * 16 * 9 + 16 + 16 * 16 * 9 + 16 + 16 * 32 * 9 + 32 + 32 * 2 + 2)
  for (const what of ['parameters', 'optimizer state'] as const) assert.is(live.find((group) => group.what === what)?.bytes, parameterBytes)
  assert.ok(graph.nodes.some(({ name }) => name === bindingLayer))
  const bytesOf = (wanted: string | undefined): number => live.reduce((sum, { layer, bytes }) => sum + (layer === wanted ? bytes : 0), 0)
  for (const { name } of graph.nodes) assert.ok(bytesOf(name) <= bytesOf(bindingLayer))
  assert.ok(live.every(({ bytes, largestBytes }) => largestBytes > 0 && largestBytes <= bytes))
})

test('the budget that is recommended saves the most for each byte, and its Program is the one that staging makes', () => {
  const { larger, recommended } = explanation()
  const saving = ({ differenceMilliseconds, budgetBytes }: OtherBudget): number => -differenceMilliseconds / (budgetBytes - presentBytes)
  assert.is(Math.max(...larger.map(saving)), saving(recommended!))
  const staged = stage({ ...request, budget: { bytes: recommended!.budgetBytes } })
  assert.ok(isRight(staged))
  if (isRight(staged)) assert.equal(recommended!.program(), staged.right.program)
  assert.is(explained({ ...request, budget: { bytes: 100_000_000 } }).recommended, undefined)
})

test('more memory buys what is said, and less costs what is said', () => {
  const { larger, smaller, predicted } = explanation()
  assert.ok(larger.length > 1 && smaller !== undefined)
  let before = predicted.stepMilliseconds
  for (const { budgetBytes, peakDeviceBytes, stepMilliseconds, differenceMilliseconds } of [...larger, smaller!]) {
    const staged = must(stage({ ...request, budget: { bytes: budgetBytes } }))
    assert.is(staged.predicted.stepMilliseconds, stepMilliseconds)
    assert.is(staged.predicted.peakDeviceBytes, peakDeviceBytes)
    assert.is(stepMilliseconds - predicted.stepMilliseconds, differenceMilliseconds)
    if (budgetBytes > presentBytes) {
      assert.ok(stepMilliseconds < before)
      before = stepMilliseconds
    }
  }
  const unlimited = explained({ ...common, model: request.model, input: request.input!, strategy: 'auto' })
  assert.is(before, unlimited.predicted.stepMilliseconds)
  assert.equal(unlimited.larger, [])
})

test("a decision's cost is what the simulator says of the plan with it and with that segment whole and kept, in any plan", () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 - 1 }),
      fc.constantFrom(...strategyNames),
      fc.constantFrom(1, 3),
      fc.double({ min: 0.3, max: 1, noNaN: true }),
      (seed, strategy, accumulate, share) => {
        const accumulating = { ...common, objective: { ...common.objective, accumulate } }
        const wanted: StageRequest = { ...accumulating, ...randomNet(drawsOf(seed), netKind(seed)), strategy }
        const bytes = Math.floor(share * must(stage({ ...wanted, strategy: 'plain' })).program.peakBytes)
        const first = explainModel({ ...wanted, budget: { bytes } })
        // Where nothing fits, the least that does.
        const { plan, predicted, graph, segments, live, liveBytes, waitingMilliseconds } = isRight(first)
          ? first.right
          : explained({ ...wanted, budget: { bytes: first.left.smallestFeasibleBudgetBytes! } })
        assert.ok(liveBytes <= predicted.peakDeviceBytes && live.length > 0)
        const whole = ({ rematerialize: _, ...segment }: Segment): Segment => ({
          ...segment,
          grid: untiled,
          recompute: false,
          reorder: 'once'
        })
        const millisecondsWith = (index: number): number => {
          const changed = plan.segments.map((segment, at) => (at === index ? whole(segment) : segment))
          return lower(graph, { order: plan.order, segments: changed }, common.device).milliseconds()
        }
        segments.forEach((segment, index) => {
          const { milliseconds, wholeMilliseconds, recomputationMilliseconds, haloMilliseconds, tileMilliseconds } = segment
          const nanoseconds = (value: number): number => Math.round(1e6 * value)
          const extra = nanoseconds(milliseconds - wholeMilliseconds)
          assert.is(nanoseconds(predicted.stepMilliseconds - waitingMilliseconds - millisecondsWith(index)), extra)
          assert.is(nanoseconds(recomputationMilliseconds + haloMilliseconds + tileMilliseconds - segment.loadingSavingMilliseconds), extra)
        })
      }
    ),
    // What an op reads in bands is a part of what makes it.
    { ...propertyRuns(100), examples: [[1354488768, 'sft-offload', 1, 0.3]] }
  )
})

test('what only tiles copy takes no less than nothing, where the whole copies what bands do not', () => {
  const draw = drawsOf(14033691)
  // The kind, which is known.
  draw(0, 1)
  const { segments } = explained({
    ...withRandomLoss(draw, randomNet(draw, 'graph')),
    device: { ...common.device, linkBytesPerSecond: { toDevice: 1e9, toHost: 5e8 } },
    objective: { ...common.objective, accumulate: 2 },
    source: { kind: 'float' },
    strategy: 'sft-offload',
    budget: { fractionOfPlain: 0.6 }
  })
  assert.ok(segments.some(({ segment, haloMilliseconds }) => segment.hostTensors !== undefined && haloMilliseconds > 0))
  for (const { tileMilliseconds } of segments) assert.ok(tileMilliseconds >= 0, `${tileMilliseconds} ms`)
})

test('a budget that nothing fits is refused as in staging', () => {
  const [refused, staged] = [explainModel({ ...request, budget: { bytes: 4096 } }), stage({ ...request, budget: { bytes: 4096 } })]
  assert.ok(isLeft(refused) && isLeft(staged))
  assert.equal(refused, staged)
})

test.run()
