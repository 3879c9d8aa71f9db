/** Tiles with rows for other ranks run first, and those travel while the others are computed. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, relu } from '../../dsl'
import { stage, verify, verifyRanks, type Segment, type Staged } from '../../staging'
import { referenceModel } from '../../staging/devices/reference-model'
import type { Instruction } from '../../staging/program/program'
import { must } from '../must'

const layers = [
  ...[conv2d({ out: 4, k: 3, p: 1 }), relu],
  ...[conv2d({ out: 4, k: 3, p: 1 }), relu],
  ...[globalAvgPool, linear({ out: 2 })]
] as const

const segment = (from: number, to: number, H: number): Segment => ({ from, to, grid: { B: 1, H, W: 1 }, recompute: H > 1, reorder: 'once' })

const segments = [segment(0, 2, 8), segment(2, 4, 8), segment(4, 7, 1)]

const stagedFor = (count: number, index: number, edgeTilesFirst: boolean): Staged =>
  must(
    stage({
      model: model({ name: 'shared', input: [1, 3, 128, 32], layers }),
      device: { ...referenceModel('float64'), network: { bytesPerSecond: 1e8, latencySeconds: 0 } },
      strategy: 'sft',
      given: { order: [...layers.keys(), layers.length], segments, ...(edgeTilesFirst && { edgeTilesFirst }) },
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, shard: { count, index } },
      source: { kind: 'float' }
    })
  )

/** How many launches stand between each exchange and the wait for it, of all tiles of loops. */
const launchesBeside = (code: readonly Instruction[]): readonly number[] => {
  const launches = (one: Instruction): number =>
    one.kind === 'launch' ? 1 : one.kind === 'loop' ? one.count * one.body.reduce((sum, each) => sum + launches(each), 0) : 0
  return code.flatMap((one, place) => {
    const done = code[place + 1]
    if (one.kind !== 'exchange' || done?.kind !== 'record') return []
    const waits = code.findIndex((each) => each.kind === 'wait' && each.engine === 'compute' && each.event === done.event)
    return [code.slice(place, waits).reduce((sum, each) => sum + launches(each), 0)]
  })
}

for (const [count, index] of [
  [2, 0],
  [3, 1]
] as const)
  test(`rank ${index} of ${count} computes its inner tiles while rows travel, forward and backward`, () => {
    const [inOrder, edgesFirst] = [false, true].map((first) => stagedFor(count, index, first)) as [Staged, Staged]
    const exchangesBeside = ({ program }: Staged): number => launchesBeside(program.step.code).filter((launches) => launches > 0).length
    assert.is(exchangesBeside(inOrder), 0)
    // Rows of the first segment's output, and of its gradient; the pool's sums are waited for.
    assert.is(exchangesBeside(edgesFirst), 2)
    const [slow, fast] = [inOrder, edgesFirst].map(({ predicted }) => predicted.stepMilliseconds) as [number, number]
    assert.ok(fast < slow, `${fast} ms with edge tiles first, ${slow} without`)
  })

test('Programs of ranks with edge tiles first are sound, and go together', () => {
  for (const count of [2, 3, 4]) {
    const programs = Array.from({ length: count }, (_, index) => stagedFor(count, index, true).program)
    programs.forEach((program) => must(verify(program)))
    must(verifyRanks(programs))
  }
})

test.run()
