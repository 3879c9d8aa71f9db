import { isLeft, isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, maxPool2d, model, parallel, relu, silu, type AnyLayer } from '../../dsl'
import type { Op } from '../../dsl/internal'
import { builtIn } from '../../models'
import {
  computeMilliseconds,
  peakBytes,
  referenceModel,
  stage,
  verify,
  type SwapInterval,
  type Staged,
  type StageRequest,
  type StrategyName
} from '../../staging'
import { stageSpans } from '../../staging/chain/stage-spans'
import { createTimelines, type Timeline } from '../../staging/lowering/cost/timeline'
import type { Instruction } from '../../staging/program/program'
import { dymemSwapIntervals } from '../../staging/strategies/dymem'
import { dynprogSwapIntervals, stepChain } from '../../staging/strategies/dynprog'
import { greedySwapIntervals } from '../../staging/strategies/greedy'
import { estimateNanoseconds, occupancy, peakOccupancy, type StageInterval } from '../../staging/strategies/swap-intervals'
import { lateSwapIntervals, lmsSwapIntervals } from '../../staging/strategies/lms'
import { type GraphOps, vdnnSwapIntervals } from '../../staging/strategies/vdnn'
import { windowSwapIntervals } from '../../staging/strategies/window'
import { inSystems } from '../in-systems'
import { must } from '../must'
import { convolutions } from './convolutions'

/**
 * Layers that take a second each, with outputs of so many bytes between them and 5 bytes of their
 * own: as many stages forward as back.
 */
const layersOf = (...outputs: readonly number[]): Timeline => {
  const last = 2 * outputs.length + 1
  return {
    stages: Array.from({ length: last + 1 }, (_, timepoint) => {
      return { timepoint, bytes: 5, liveBytes: 5, hostBytes: 0, nanoseconds: 1e9, busyNanoseconds: 1e9 }
    }),
    backwardStart: outputs.length + 1,
    persistentBytes: 0,
    refusedKernel: undefined,
    tensors: outputs.map((bytes, made) => ({
      name: `output of ${made}`,
      identity: { kind: 'output', node: `${made}`, form: 'tile' },
      bytes,
      movedBytes: bytes,
      from: made,
      written: made,
      forward: made + 1,
      backward: last - made - 1,
      nanosecondsBefore: 0,
      reads: [last - made - 1, last - made].map((stage) => ({ stage, nanosecondsBefore: 0 })),
      to: last - made
    }))
  }
}
/** Stages 0 .. 3 forward, 4 .. 7 back. */
const seen = layersOf(10, 10, 10)
const graphOf = (...ops: readonly Op[]): GraphOps => ({ nodes: ops.map((op) => ({ op })) })
const allConvolutions = graphOf('conv2d', 'conv2d', 'conv2d', 'conv2d')
const figures = (intervals: readonly StageInterval[]): readonly (readonly [string, number, number, number])[] =>
  intervals.map(({ tensor, swapOut, freed, swapIn }) => [tensor.name, swapOut, freed, swapIn])

test('what is on the host takes no bytes between its being freed and its swap-in', () => {
  assert.equal(occupancy(seen, []), [15, 25, 35, 35, 35, 35, 25, 15])
  assert.equal(occupancy(seen, [{ tensor: seen.tensors[0]!, swapOut: 1, freed: 2, swapIn: 5 }]), [15, 25, 25, 25, 25, 35, 25, 15])
})

test('computing waits where bytes are freed and where backward reads, for transfers in order', () => {
  const [first, second] = seen.tensors
  const link = { linkBytesPerSecond: { toDevice: 10, toHost: 10 } }
  assert.is(estimateNanoseconds(seen, [], link), 8e9)
  // Out from second 1 to 2, when it is freed; in from 5 to 6, when it is read.
  assert.is(estimateNanoseconds(seen, [{ tensor: first!, swapOut: 1, freed: 2, swapIn: 5 }], link), 8e9)
  assert.is(estimateNanoseconds(seen, [{ tensor: first!, swapOut: 2, freed: 2, swapIn: 6 }], link), 10e9)
  const both = [
    { tensor: first!, swapOut: 1, freed: 3, swapIn: 4 },
    { tensor: second!, swapOut: 1, freed: 3, swapIn: 4 }
  ]
  // The link is done with both at 3, and again with the second, which is read first, at 5, with the
  // first at 6.
  assert.is(estimateNanoseconds(seen, both, link), 8e9)
  assert.is(estimateNanoseconds(seen, both, { linkBytesPerSecond: { toDevice: 5, toHost: 5 } }), 8e9 + 2e9 + 1e9 + 1e9)
  // Copies by the threads that compute take from computing what they take by themselves.
  assert.is(estimateNanoseconds(seen, both, { ...link, copyBytesPerSecond: { toDevice: 10, toHost: 10 } }), 8e9 + 2e9 + 2e9)
})

test('vDNN: inputs leave while their layer runs, and come back one layer ahead', () => {
  const intervals = vdnnSwapIntervals(allConvolutions, seen, () => true)
  assert.equal(figures(intervals), [
    ['output of 0', 1, 2, 5],
    ['output of 1', 2, 3, 4]
  ])
  const inputsOfConvolutions = vdnnSwapIntervals(graphOf('conv2d', 'relu', 'conv2d', 'conv2d'), seen, (op) => op === 'conv2d')
  assert.equal(figures(inputsOfConvolutions), [['output of 1', 2, 3, 4]])
})

test('the schedule-window: in at its front, oldest out where there is too much, not what it still sees', () => {
  // Windows end at stages 1, 1, 3, 4, 5, 5, 7, 7: the second output comes back into the window
  // before its bytes were needed.
  assert.equal(figures(windowSwapIntervals(seen, 25, 40)), [['output of 0', 2, 2, 6]])
  assert.equal(figures(windowSwapIntervals(seen, 35, 40)), [])
  assert.equal(figures(windowSwapIntervals(seen, 15, 0)), [
    ['output of 1', 3, 3, 5],
    ['output of 0', 2, 2, 6]
  ])
})

test('GREEDY: the first tensors whose bytes are too many, out at once, freed when needed', () => {
  assert.equal(figures(greedySwapIntervals(seen, 35)), [])
  assert.equal(figures(greedySwapIntervals(seen, 25)), [['output of 0', 1, 2, 6]])
})

test('DYNPROG: of a step as a chain, a set that waits least, and no more than that', () => {
  const seven = layersOf(5, 10, 10, 10, 10, 10)
  const spans = Array.from({ length: 7 }, (_, from) => ({ from, to: from + 1 }))
  const link = { toDevice: 20, toHost: 10 }
  const chain = stepChain(seven, spans, link)
  const stage = { u_F: 1000, u_B: 1000, y: 0, ex_F: 5, ex_B: 5 }
  assert.equal(chain.chain, {
    name: 'step',
    stages: [0, 5, 10, 10, 10, 10, 10].map((x, i) => ({ name: `${i}`, ...stage, x })),
    output: { x: 0, y: 0 },
    beta: 10
  })
  // Ten bytes too many: one activation, where GREEDY takes the first two.
  const intervals = dynprogSwapIntervals(seven, chain, 50)
  assert.equal(
    [
      intervals.length,
      intervals[0]!.tensor.bytes,
      peakOccupancy(seven, intervals),
      estimateNanoseconds(seven, intervals, { linkBytesPerSecond: link })
    ],
    [1, 10, 50, 14e9]
  )
  assert.is(greedySwapIntervals(seven, 50).length, 2)
  assert.equal(figures(dynprogSwapIntervals(seven, chain, 60)), [])
  // Less than any operation needs: all that is ever free goes.
  assert.is(dynprogSwapIntervals(seven, chain, 20).length, 5)
})

test('the chain of a step has its peak, its time and all that it keeps, each once', () => {
  const branches = parallel([[conv2d({ out: 2, k: 1 }), relu], [conv2d({ out: 3, k: 3, p: 1 })]])
  const layers = [conv2d({ out: 3, k: 3, p: 1 }), relu, branches, batchNorm(), ...convolutions]
  const { device } = request('plain')
  const { graph, plan, predicted } = staged(request('plain', {}, layers))
  const timeline = createTimelines(graph, device)(plan.segments)
  const { chain, activations } = stepChain(timeline, stageSpans(graph), device.linkBytesPerSecond)
  assert.ok(chain.stages.length < graph.nodes.length)
  assert.equal(
    activations.flat().sort((a, b) => timeline.tensors.indexOf(a) - timeline.tensors.indexOf(b)),
    timeline.tensors
  )
  assert.is(peakBytes(chain) + timeline.persistentBytes, Math.max(...occupancy(timeline, [])))
  assert.ok(Math.abs(computeMilliseconds(chain) - predicted.stepMilliseconds) < 1e-6)
})

test('LMS: what is read again far away, back some layers before', () => {
  const lms = (swapoutThreshold: number, swapinAhead: number) =>
    lmsSwapIntervals(seen, { swapoutThreshold, swapinAhead, swapinGroupby: Infinity })
  assert.equal(figures(lms(5, 0)), [['output of 0', 1, 2, 6]])
  assert.equal(figures(lms(4, 1)), [
    ['output of 0', 1, 2, 5],
    ['output of 1', 2, 3, 4]
  ])
  // The peak stays as it is where the first never leaves.
  assert.equal(figures(lateSwapIntervals(seen, { swapoutThreshold: 5, swapinAhead: 2 })), [])
  assert.equal(figures(lateSwapIntervals(seen, { swapoutThreshold: 5, swapinAhead: 0 })), [['output of 0', 1, 2, 6]])
})

test('Dymem: no waiting before bytes are needed, at most two convolutions ahead', () => {
  assert.equal(figures(dymemSwapIntervals(allConvolutions, seen, 25)), [['output of 0', 1, 2, 5]])
  // Layers 0 and 1 are no convolutions: what they read comes back as soon as backward begins.
  assert.equal(figures(dymemSwapIntervals(graphOf('relu', 'relu', 'conv2d', 'conv2d'), seen, 25)), [['output of 0', 1, 2, 4]])
})

const swapping = ['vdnn', 'vdnn-conv', 'lms', 'lms-hybrid', 'dymem', 'window', 'greedy', 'dynprog'] as const
/** Deep enough that two convolutions ahead are not everything. */
const deep = [...Array.from({ length: 5 }, () => [conv2d({ out: 16, k: 3, p: 1 }), relu]).flat(), ...convolutions.slice(4)]
const request = (strategy: StrategyName, rest: Partial<StageRequest> = {}, layers: readonly AnyLayer[] = deep): StageRequest => ({
  model: model({ name: 'net', layers }),
  input: [1, 3, 128, 96],
  device: referenceModel('float32'),
  strategy,
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] },
  ...rest
})
const staged = (wanted: StageRequest): Staged => must(stage(wanted))
const refused = (wanted: StageRequest): string => {
  const result = stage(wanted)
  return isLeft(result) ? result.left.message : 'staged'
}
const least = (strategy: StrategyName): number => {
  const result = stage(request(strategy, { budget: { bytes: 4096 } }))
  return isLeft(result) ? result.left.smallestFeasibleBudgetBytes! : 0
}
const plainPeak = staged(request('plain')).program.peakBytes
const copies = (code: readonly Instruction[]): number => code.filter(({ kind }) => kind === 'copy').length

for (const strategy of swapping)
  test(`${strategy} needs less than plain, by two copies for each tensor on the host, and what it says on the host`, () => {
    const budget = least(strategy)
    assert.ok(budget < 0.75 * plainPeak, `${budget} of ${plainPeak}`)
    const { plan, predicted, program } = staged(request(strategy, { budget: { bytes: budget } }))
    assert.is(program.peakBytes, budget)
    assert.ok(plan.swapSchedule !== undefined && plan.swapSchedule.length > 0)
    assert.is(copies(program.step.code), 2 * plan.swapSchedule.length)
    const verified = verify(program)
    assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
    if (isRight(verified)) assert.is(verified.right.hostPeakBytes, program.hostBytes)
    assert.is(predicted.peakHostBytes, program.hostBytes)
  })

test('a slower link never makes a plan faster', () => {
  const at = (rate: number): number => {
    const device = { ...referenceModel('float32'), linkBytesPerSecond: { toDevice: rate, toHost: rate } }
    return staged(request('greedy', { device, budget: { bytes: least('greedy') } })).predicted.stepMilliseconds
  }
  const times = [1e11, 1e9, 1e8, 1e7].map(at)
  assert.equal(
    times,
    [...times].sort((a, b) => a - b)
  )
  assert.ok(times[3]! > 2 * times[0]!)
})

test('over a slow link lms-hybrid computes again what lms would swap', () => {
  const slow = { ...referenceModel('float32'), linkBytesPerSecond: { toDevice: 1e6, toHost: 1e6 } }
  const layers = [conv2d({ out: 16, k: 3, p: 1 }), relu, conv2d({ out: 16, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), ...deep]
  const at = (strategy: StrategyName): Staged => {
    const peak = staged(request('plain', {}, layers)).program.peakBytes
    return staged(request(strategy, { device: slow, budget: { bytes: Math.floor(0.9 * peak) } }, layers))
  }
  const [swapped, both] = [at('lms'), at('lms-hybrid')]
  assert.ok(both.plan.segments.some(({ recompute }) => recompute))
  assert.ok(both.predicted.stepMilliseconds < swapped.predicted.stepMilliseconds)
})

test('auto swaps only where it is given room on the host, and is never slower for it', () => {
  for (const share of [1, 0.8, 0.7, 0.6]) {
    const budget = Math.floor(share * plainPeak)
    const alone = staged(request('auto', { budget: { bytes: budget } }))
    assert.is(alone.plan.swapSchedule, undefined)
    const together = staged(request('auto', { budget: { bytes: budget }, hostBudget: { bytes: plainPeak } }))
    assert.ok(together.predicted.stepMilliseconds <= alone.predicted.stepMilliseconds)
    for (const strategy of swapping) {
      const one = stage(request(strategy, { budget: { bytes: budget }, hostBudget: { bytes: plainPeak } }))
      if (isRight(one)) assert.ok(together.predicted.stepMilliseconds <= one.right.predicted.stepMilliseconds, strategy)
    }
  }
})

test('a host budget that is too small is refused with what would do', () => {
  const budget = least('greedy')
  const sentence = refused(request('greedy', { budget: { bytes: budget }, hostBudget: { bytes: 1000 } }))
  const [, needed] =
    /^net on 1x3x128x96 does not fit the host budget of 1000 bytes: strategy greedy needs at least (\d+) bytes.* there; raise --host-budget or --budget\.$/.exec(
      sentence
    ) ?? []
  assert.ok(needed !== undefined, sentence)
  assert.is(
    staged(request('greedy', { budget: { bytes: budget }, hostBudget: { bytes: Number(needed) } })).program.hostBytes,
    Number(needed)
  )
  assert.match(
    refused(request('greedy', { budget: { bytes: 4096 }, hostBudget: { bytes: 1000 } })),
    /does not fit the budget of 4096 bytes/
  )
  // It always moves something, so that no budget of the device does.
  for (const bytes of [1, plainPeak])
    assert.match(
      refused(request('vdnn-conv', { budget: { bytes }, hostBudget: { bytes: 0 } })),
      /does not fit the host budget of 0 bytes: strategy vdnn-conv needs at least \d+ bytes/
    )
})

test('given stays that cannot be are refused with the tensor and the reason', () => {
  const layers = [...Array.from({ length: 3 }, () => conv2d({ out: 3, k: 3, p: 1 })), ...convolutions.slice(-2)]
  const count = layers.length + 1
  const whole = { from: 0, to: count, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const
  const given = (...swapSchedule: readonly SwapInterval[]): string =>
    refused(
      request(
        'plain',
        { given: { order: Array.from({ length: count }, (_, position) => position), segments: [whole], swapSchedule } },
        layers
      )
    )
  const interval = (swapOut: number, freed: number, swapIn: number, tensor = 'output of 0'): SwapInterval => ({
    tensor,
    swapOut,
    freed,
    swapIn
  })
  const backward = (layer: number): number => 2 * count - 1 - layer
  assert.is(given(interval(1, 2, backward(1))), 'staged')
  for (const [swapSchedule, sentence] of [
    [[interval(0, 2, backward(1))], 'swapSchedule: output of 0 is not there yet before forward 0; it must be swapped out later.'],
    [[interval(1, 1, backward(1))], 'swapSchedule: output of 0 is still read from forward 1 on; it must be freed later.'],
    [[interval(4, 3, backward(1))], 'swapSchedule: output of 0 is freed before it is swapped out.'],
    [[interval(1, 4, 3)], 'swapSchedule: output of 0 is swapped in before it is freed.'],
    [[interval(1, 2, backward(0))], 'swapSchedule: output of 0 is read before backward 0; it must be swapped in earlier.'],
    [[interval(1, 2, 3, 'output of 2'), interval(1, 2, backward(1))], 'swapSchedule: no output of 2 is kept from forward to backward.'],
    [
      [interval(1, 2, backward(1)), interval(1, 2, backward(1))],
      'swapSchedule: output of 0 is listed again, so that the host has it; its swapOut must be its freed.'
    ],
    [
      [interval(1, 2, backward(1)), interval(2, 2, backward(0))],
      'swapSchedule: output of 0 is still read from forward 2 on; it must be freed later.'
    ],
    [
      [interval(1, 2, backward(1)), interval(backward(0), backward(0), backward(0))],
      'swapSchedule: nothing reads output of 0 from backward 0 on; leave this row out.'
    ]
  ] as const)
    assert.is(given(...swapSchedule), sentence)
})

test('only what a plan can name waits on the host: no moments, and no copy of the part that a layer reads', () => {
  // silu reads all but the last row and column of what the other branch reads whole, and its
  // backward reads them again.
  const strided = parallel([[silu, conv2d({ out: 2, k: 1, s: 2 })], [conv2d({ out: 2, k: 3, s: 2, p: 1 })]])
  const layers = [conv2d({ out: 3, k: 3, p: 1 }), batchNorm({ frozen: true }), strided, batchNorm(), ...convolutions.slice(-2)]
  const { graph, program } = staged(request('plain', {}, layers))
  for (const name of ['running moments of 1', 'what 2 reads'])
    assert.ok(
      program.buffers.some((buffer) => buffer.name === name),
      name
    )
  const { device } = request('plain')
  const { tensors } = createTimelines(
    graph,
    device
  )([{ from: 0, to: graph.nodes.length, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }])
  assert.ok(tensors.length > 3)
  for (const { name } of tensors) assert.match(name, /^(output|indices|input) of /)
})

test('a tensor may wait while tiled segments run, and what tiles share waits as a whole', () => {
  const segments = [
    { from: 0, to: 5, grid: { B: 1, H: 3, W: 2 }, recompute: true, reorder: 'once' },
    { from: 5, to: 10, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  ] as const
  const order = Array.from({ length: 10 }, (_, position) => position)
  const boundary: SwapInterval = { tensor: 'output of 4', swapOut: 5, freed: 6, swapIn: 12 }
  const { program } = staged(request('plain', { given: { order, segments, swapSchedule: [boundary] } }, convolutions))
  assert.ok(isRight(verify(program)))
  assert.is(copies(program.step.code), 2)
})

test('VGG-16, in the long tests VGG-19 and DarkNet-19: every strategy at budgets from its least to plain is verified', () => {
  for (const name of ['vgg16', ...(inSystems ? ['vgg19', 'darknet19'] : [])]) {
    const wanted = (strategy: StrategyName, budget?: number): StageRequest => ({
      ...request(strategy, { input: [1, 3, 224, 192], ...(budget === undefined ? {} : { budget: { bytes: budget } }) }),
      model: builtIn[name]!({ classes: 2, head: 'gap' })
    })
    const plain = staged(wanted('plain')).program.peakBytes
    for (const strategy of swapping) {
      const answer = stage(wanted(strategy, 4096))
      const smallest = isLeft(answer) ? answer.left.smallestFeasibleBudgetBytes! : 0
      for (const share of [0, 0.5, 1]) {
        const budget = Math.floor(smallest + share * (plain - smallest))
        const { program } = staged(wanted(strategy, budget))
        const verified = verify(program)
        assert.ok(isRight(verified), isRight(verified) ? '' : `${name} ${strategy} ${budget}: ${verified.left.message}`)
        assert.ok(program.peakBytes <= budget)
      }
    }
  }
})

test.run()
