/**
 * Beaumont 2020 (docs/papers.md): chains, their bound, schedules and strategies, against an oracle
 * that tries everything.
 */
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  computeMilliseconds,
  decodeChain,
  leastBytes,
  lowerBound,
  chooseOffload,
  offloadStrategies,
  scheduleInOrder,
  peakBytes,
  type Chain,
  type Offloaded,
  type OffloadRequest,
  type Schedule
} from '../../staging/chain'
import { minimizeIdle } from '../../staging/chain/least-idle'
import { backwardBytes, forwardBytes } from '../../staging/chain/memory'
import { discretise } from '../../staging/chain/slots'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { allSets, exhaustiveMakespan, randomChain } from './chain-oracle'
import { drawsOf } from './random-nets'

const offloaded = (request: OffloadRequest): Offloaded => must(chooseOffload(request))

/** A random chain of at most `mostStages`, with a memory in which there is a schedule. */
const propertyOf = (runs: number, mostStages: number, mostBytes: number, check: (chain: Chain, memory: number) => void): void =>
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const draw = drawsOf(seed)
      const chain = randomChain(draw, draw(1, mostStages), mostBytes)
      check(chain, draw(Math.max(1, leastBytes(chain)), Math.max(1, peakBytes(chain))))
    }),
    propertyRuns(runs)
  )

const close = (actual: number, expected: number, message: string): void =>
  assert.ok(actual === expected || Math.abs(actual - expected) < 1e-9 * Math.max(1, expected), `${message}: ${actual} and ${expected}`)

test('M_peak and the bound of a chain by hand', () => {
  const stage = { u_F: 1, u_B: 2, ex_F: 0, ex_B: 3 }
  const chain = {
    name: 'two',
    stages: [
      { ...stage, name: 'a', x: 10, y: 0 },
      { ...stage, name: 'b', x: 20, y: 7 }
    ],
    output: { x: 5, y: 4 },
    beta: 1000
  }
  // F_0: 10 + 20; F_1: 35; B_1: 3 + 7 + 4 + 35; B_0: 3 + 0 + 7 + 30.
  assert.is(peakBytes(chain), 49)
  // B_1 without x_0.
  assert.is(leastBytes(chain), 40)
  assert.is(lowerBound(chain, 49), 6)
  assert.is(lowerBound(chain, 40), 18)
  // x_0 goes from 0 to 10, then B_1 fits; x_0 returns from 12 to 22, then B_0 runs.
  assert.is(offloaded({ chain, memory: 40, strategy: 'greedy' }).schedule.makespan, 24)
})

test('ordered schedules of every set are the shortest that there are, by whole activations and by bytes', () => {
  propertyOf(40, 4, 4, (chain, memory) => {
    for (const set of allSets(chain.stages.length))
      for (const release of ['whole', 'bytes'] as const) {
        const found = scheduleInOrder(chain, memory, set, release)?.makespan ?? Infinity
        close(found, exhaustiveMakespan(chain, memory, { release, ordered: set }), `${release}, ${set}`)
      }
  })
})

test('DYNPROG is optimal in its relaxation: no set of up to 8 stages has a shorter ordered schedule by bytes', () => {
  propertyOf(200, 8, 9, (chain, memory) => {
    const best = Math.min(...allSets(chain.stages.length).map((set) => scheduleInOrder(chain, memory, set, 'bytes')?.makespan ?? Infinity))
    // A slot is a byte: nothing is rounded.
    const { idle, sets } = minimizeIdle(discretise(chain, memory, memory))
    close(computeMilliseconds(chain) + idle, best, 'the least idle time')
    for (const set of sets) close(scheduleInOrder(chain, memory, set, 'bytes')!.makespan, best, 'a set with it')
  })
})

test('nor has any order of transfers, interrupted at any byte, while offloads come before prefetches', () => {
  // Lemma 3 says so of any order. Some small chains gain a millisecond by prefetching before the
  // last offload, which it overlooks.
  propertyOf(30, 4, 3, (chain, memory) => {
    const { idle } = minimizeIdle(discretise(chain, memory, memory))
    close(computeMilliseconds(chain) + idle, exhaustiveMakespan(chain, memory, { release: 'bytes', offloadsFirst: true }), 'the makespan')
  })
})

test('nothing beats the bound, and no strategy the best of all orders of transfers', () => {
  propertyOf(40, 5, 3, (chain, memory) => {
    const best = exhaustiveMakespan(chain, memory, { release: 'whole' })
    assert.ok(best >= lowerBound(chain, memory) - 1e-9, `${best} beats the bound`)
    for (const strategy of offloadStrategies) {
      const { makespan } = offloaded({ chain, memory, strategy }).schedule
      assert.ok(makespan >= best - 1e-9, `${strategy} takes ${makespan}, the best ${best}`)
    }
  })
})

/** What is wrong with a schedule, looked at from every start of an operation or a transfer. */
const faultOf = (chain: Chain, memory: number, { forward, backward, offloads, prefetches, makespan }: Schedule): string | undefined => {
  const { stages } = chain
  const tolerance = 1e-6 * Math.max(1, makespan)
  const operations = [
    ...stages.map((_, i) => ({ i, start: forward[i]!, time: stages[i]!.u_F })),
    ...stages.map((_, i) => ({ i, start: backward[i]!, time: stages[i]!.u_B })).reverse()
  ]
  for (const [index, { start }] of operations.entries()) {
    const before = operations[index - 1]
    if (before !== undefined && start < before.start + before.time - tolerance) return `operation ${index} starts at ${start}`
  }
  const milliseconds = (i: number): number => (1000 * stages[i]!.x) / chain.beta
  const transfers = [offloads, prefetches].flatMap((starts) => starts.flatMap((start, i) => (start === undefined ? [] : [{ i, start }])))
  const byTime = [...transfers].sort((a, b) => a.start - b.start || milliseconds(a.i) - milliseconds(b.i))
  for (const [index, { start }] of byTime.entries()) {
    const before = byTime[index - 1]
    if (before !== undefined && start < before.start + milliseconds(before.i) - tolerance) return `two transfers at ${start}`
  }
  for (const [i] of stages.entries()) {
    if (offloads[i] === undefined) continue
    if (i > 0 && offloads[i]! < forward[i - 1]! + stages[i - 1]!.u_F - tolerance) return `x_${i} goes before it is there`
    if (prefetches[i]! < offloads[i]! + milliseconds(i) - tolerance) return `x_${i} returns before it went`
    if (prefetches[i]! + milliseconds(i) > backward[i]! + tolerance) return `x_${i} returns after B_${i} began`
  }
  const [ownF, ownB] = [forwardBytes(chain).own, backwardBytes(chain).own]
  const awayFor = (i: number, from: number, to: number): boolean =>
    offloads[i] !== undefined && offloads[i]! + milliseconds(i) <= from + tolerance && prefetches[i]! >= to - tolerance
  const heldDuring = (end: number, from: number, to: number): number =>
    stages.slice(0, end).reduce((sum, { x }, i) => sum + (awayFor(i, from, to) ? 0 : x), 0)
  for (const [i, { u_F, u_B }] of stages.entries()) {
    // What goes during an operation is there at its start, what returns at its end: the moments
    // that hold most are these two.
    const most = (start: number, time: number): number => Math.max(heldDuring(i, start, start), heldDuring(i, start + time, start + time))
    if (ownF[i]! + most(forward[i]!, u_F) > memory) return `F_${i} does not fit`
    if (ownB[i]! + most(backward[i]!, u_B) > memory) return `B_${i} does not fit`
  }
  return undefined
}

/** Chains as long as those of real networks. */
const longChain = (seed: number, stages: number): Chain => {
  const draw = drawsOf(seed)
  const megabytes = (most: number): number => 1000 * draw(1, 1000 * most)
  return {
    name: `long ${seed}`,
    stages: Array.from({ length: stages }, (_, i) => {
      const u_F = draw(100, 5000) / 1000
      return { name: `${i}`, u_F, u_B: 2 * u_F, x: megabytes(100), y: megabytes(100), ex_F: megabytes(5), ex_B: megabytes(20) }
    }),
    output: { x: megabytes(10), y: 0 },
    beta: 12.2e9
  }
}

const between = (chain: Chain, share: number): number => Math.floor(leastBytes(chain) + share * (peakBytes(chain) - leastBytes(chain)))

test('every strategy answers every memory from the least on with a schedule that keeps to link and memory', () => {
  for (const seed of [1, 2, 3]) {
    const chain = longChain(seed, 40 * seed)
    for (const share of [0, 0.01, 0.2, 0.5, 0.8, 1])
      for (const strategy of offloadStrategies) {
        const memory = between(chain, share)
        const { schedule, lowerBound: bound, offloadedBytes } = offloaded({ chain, memory, strategy })
        assert.is(faultOf(chain, memory, schedule), undefined, `${strategy} at ${share} of chain ${seed}`)
        assert.ok(schedule.makespan >= bound * (1 - 1e-12))
        assert.ok(offloadedBytes >= peakBytes(chain) - memory)
        if (share === 1) close(schedule.makespan, bound, `${strategy} of chain ${seed}`)
      }
  }
})

test('the check of schedules finds faults', () => {
  const chain = longChain(1, 40)
  const memory = between(chain, 0.3)
  const { schedule } = offloaded({ chain, memory, strategy: 'greedy' })
  const halved = (times: readonly (number | undefined)[]): readonly (number | undefined)[] => times.map((time) => time && time / 2)
  assert.match(faultOf(chain, memory / 2, schedule)!, /does not fit/)
  assert.match(faultOf(chain, memory, { ...schedule, prefetches: halved(schedule.prefetches) })!, /transfers|returns|fit/)
  assert.match(faultOf(chain, memory, { ...schedule, offloads: schedule.offloads.map((time) => time && 0) })!, /transfers|goes/)
})

test('DYNPROG of 150 stages: 500 slots within 60 seconds, 100 within 5', () => {
  const chain = longChain(4, 150)
  for (const [slots, seconds] of [
    [500, 60],
    [100, 5]
  ] as const) {
    const started = performance.now()
    offloaded({ chain, memory: between(chain, 0.2), strategy: 'dynprog', slots })
    assert.ok(performance.now() - started < 1000 * seconds)
  }
})

test('less than the largest operation needs is refused, with what would do', () => {
  const chain = longChain(1, 10)
  const refused = chooseOffload({ chain, memory: leastBytes(chain) - 1, strategy: 'dynprog' })
  assert.ok(isLeft(refused) && refused.left.code === 'budget' && refused.left.smallestFeasibleBudgetBytes === leastBytes(chain))
})

test('a chain of another shape is named by its first fault', () => {
  const [chain] = [longChain(1, 2)]
  const [first, second] = chain.stages
  const fault = (value: unknown): string => {
    const result = decodeChain(value)
    return isLeft(result) ? result.left : ''
  }
  assert.ok(isRight(decodeChain(JSON.parse(JSON.stringify(chain)))))
  assert.is(fault([]), 'it holds no chain')
  assert.match(fault({ ...chain, stages: [first, { ...second, u_F: -1 }] }), /^stages\[1\]\.u_F is -1, not a number of milliseconds from 0/)
  assert.match(fault({ ...chain, stages: [{ ...first, x: 1.5 }] }), /^stages\[0\]\.x is 1\.5, not a whole number of bytes/)
  assert.match(fault({ ...chain, stages: [{ ...first, ex_B: 'much' }] }), /^stages\[0\]\.ex_B is "much", not a whole number of bytes/)
  assert.is(fault({ ...chain, stages: [{ ...first, y: undefined }] }), 'stages[0].y is missing')
  assert.match(fault({ ...chain, beta: 0 }), /^beta is 0, not a number of bytes a second from 1/)
  assert.is(fault({ ...chain, output: undefined }), 'output is missing')
  assert.is(fault({ ...chain, stages: [] }), 'stages is empty, where a chain has at least one')
  const still = [first, second].map((stage) => ({ ...stage, u_F: 0, u_B: 0 }))
  assert.is(fault({ ...chain, stages: still }), 'stages take no time: u_F and u_B of all are 0, where at least one is above')
  assert.ok(isRight(decodeChain({ ...chain, stages: [...still, { ...first, u_F: 0 }] })))
  assert.match(fault({ ...chain, stages: [{ ...first, u_B: NaN }] }), /^stages\[0\]\.u_B is .*, not a number of milliseconds from 0/)
})

test.run()
