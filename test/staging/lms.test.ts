/**
 * Imai 2019 (docs/papers.md): what each of TFLMS's three parameters changes, and which checkpoints
 * the hybrid computes from.
 */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, parallel, relu } from '../../dsl'
import { builtIn } from '../../models'
import { buildGraph, referenceModel, stage, verify, type Staged, type StageRequest } from '../../staging'
import { createStepGraph } from '../../staging/ops/build-graph'
import { lower, type Lowered } from '../../staging/lowering'
import { createTimelines } from '../../staging/lowering/cost/timeline'
import { sourceOrder } from '../../staging/graph/order'
import { createSwapSchedule, occupancy, type StageInterval } from '../../staging/strategies/swap-intervals'
import { lmsSchedules, lmsSwapIntervals, type LmsParameters } from '../../staging/strategies/lms'
import { wholeGraph } from '../../staging/strategies/plain'
import { must } from '../must'

const base = {
  device: referenceModel('float32'),
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
} as const

const normalised = (out: number) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu] as const
const branches = parallel([[...normalised(4), ...normalised(4), ...normalised(2)], normalised(2)])
const layers = [...normalised(8), branches, ...normalised(8), maxPool2d({ k: 2 }), ...normalised(8), globalAvgPool, linear({ out: 2 })]
const network = model({ name: 'branches', layers })
const input = [1, 3, 64, 64] as const

const graph = createStepGraph(must(buildGraph(network, input)), base.objective, base.source)
const whole = wholeGraph(graph)
const timeline = createTimelines(graph, base.device)(whole)
const lowered = (intervals: readonly StageInterval[]): Lowered =>
  lower(graph, { order: sourceOrder(graph), segments: whole, swapSchedule: createSwapSchedule(timeline, intervals) }, base.device)
const findIntervals = (parameters: Partial<LmsParameters>): readonly StageInterval[] =>
  lmsSwapIntervals(timeline, { swapoutThreshold: 2, swapinAhead: 0, swapinGroupby: Infinity, ...parameters })
const copies = ({ program }: Lowered, engine: string): number =>
  program().step.code.filter((one) => one.kind === 'copy' && one.engine === engine).length

test('each of the three parameters changes plans, which are verified', () => {
  const first = findIntervals({})
  const further = findIntervals({ swapoutThreshold: Math.max(...timeline.tensors.map(({ written, backward }) => backward - written)) })
  assert.ok(further.length < first.length)
  const earlier = findIntervals({ swapinAhead: 2 })
  assert.is(earlier.length, first.length)
  assert.ok(earlier.some(({ swapIn }, index) => swapIn < first[index]!.swapIn))
  const ungrouped = findIntervals({ swapinGroupby: 1 })
  assert.ok(ungrouped.length > first.length)
  for (const some of [first, further, earlier, ungrouped]) must(verify(lowered(some).program()))
})

test('what is not in one group is swapped in once more, and its bytes are free between', () => {
  const [together, apart] = [findIntervals({}), findIntervals({ swapinGroupby: 1 })]
  const [one, more] = [lowered(together), lowered(apart)]
  const later = apart.filter(({ again }) => again)
  assert.ok(later.length > 0)
  assert.is(copies(more, 'to-device'), copies(one, 'to-device') + later.length)
  assert.is(copies(more, 'to-host'), copies(one, 'to-host'))
  const [held, free] = [occupancy(timeline, together), occupancy(timeline, apart)]
  for (const { tensor, freed, swapIn } of later) {
    assert.ok(freed < swapIn && tensor.reads.every(({ stage }) => stage < freed || stage >= swapIn))
    for (let stage = freed; stage < swapIn; stage++) assert.ok(free[stage]! <= held[stage]! - tensor.bytes)
  }
})

test('all three are tuned', () => {
  const schedules = lmsSchedules(timeline).map((schedule) => schedule())
  assert.ok(schedules.some((schedule) => schedule.some(({ again }) => again)))
  assert.ok(schedules.some((schedule) => schedule.length > 0 && schedule.every(({ again }) => again !== true)))
})

test('in the least memory a plan swaps the input of a block in for each branch', () => {
  const planned = (budget: number) =>
    stage({ ...base, model: builtIn['resnet18']!({ classes: 2 }), input: [1, 3, 128, 128], strategy: 'lms', budget: { bytes: budget } })
  const refused = planned(4096)
  const { plan, program } = must(planned(E.isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0))
  const { swapSchedule = [] } = plan
  assert.ok(new Set(swapSchedule.map(({ tensor }) => tensor)).size < swapSchedule.length)
  must(verify(program))
})

const request = (strategy: StageRequest['strategy'], rest: Partial<StageRequest>): StageRequest => ({
  ...base,
  model: network,
  input,
  strategy,
  ...rest
})

test('the hybrid keeps the outputs of convolutions, and computes none of them again', () => {
  const device = { ...base.device, linkBytesPerSecond: { toDevice: 1e6, toHost: 1e6 } }
  const plain = must(stage(request('plain', { device })))
  const convolved = ({ program: { kernels, step } }: Staged): number =>
    step.code.filter((one) => one.kind === 'launch' && kernels[one.kernel]!.kind === 'convolutionForward').length
  const plans = [0.9, 0.8, 0.75].map((share) =>
    must(stage(request('lms-hybrid', { device, budget: { bytes: Math.floor(share * plain.program.peakBytes) } })))
  )
  const lists = plans.map(({ plan }) => plan.segments.filter(({ recompute }) => recompute).length)
  assert.ok(lists.every((count) => count > 0) && new Set(lists).size > 1, `${lists}`)
  assert.is(convolved(plans[0]!), convolved(plain))
  for (const { program } of plans) must(verify(program))
})

test.run()
