/** Tiles with rows for other ranks run first, and those travel while the others are computed. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { adaptiveAvgPool2d, conv2d, gated, globalAvgPool, linear, model, relu, sigmoid } from '../../dsl'
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

const requestFor = (count: number, index: number, edgeTilesFirst: boolean) =>
  ({
    model: model({ name: 'shared', input: [1, 3, 128, 32], layers }),
    device: { ...referenceModel('float64'), network: { bytesPerSecond: 1e8, latencySeconds: 0 } },
    strategy: 'sft',
    given: { order: [...layers.keys(), layers.length], segments, ...(edgeTilesFirst && { edgeTilesFirst }) },
    objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, shard: { count, index } },
    source: { kind: 'float' }
  }) as const

const stagedFor = (count: number, index: number, edgeTilesFirst: boolean): Staged => must(stage(requestFor(count, index, edgeTilesFirst)))

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

test('Programs of ranks that share images are sound where tiles that read sums of images would come first', () => {
  const gating = [
    conv2d({ out: 4, k: 3, p: 1 }),
    gated([conv2d({ out: 4, k: 3, p: 1 })], [adaptiveAvgPool2d({ out: 1 }), conv2d({ out: 4, k: 1 }), sigmoid]),
    ...[globalAvgPool, linear({ out: 2 })]
  ] as const
  // The pool of the gate alone, then what reads it, in tiles.
  const cut = [segment(0, 2, 1), segment(2, 3, 1), segment(3, 6, 4), segment(6, 9, 1)]
  const programs = [0, 1].map((index) => {
    const request = requestFor(2, index, true)
    const { program } = must(
      stage({
        ...request,
        model: model({ name: 'gating', input: [3, 2, 16, 8], layers: gating }),
        given: { order: Array.from({ length: 9 }, (_, position) => position), segments: cut, edgeTilesFirst: true },
        objective: { ...request.objective, shard: { count: 2, index, images: 2 } }
      })
    )
    return program
  })
  programs.forEach((program) => must(verify(program)))
  must(verifyRanks(programs))
})

test.run()
