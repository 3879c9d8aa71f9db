/** Pieces of gradients give way to rows and statistics, for which computing waits. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model, relu } from '../../dsl'
import { stage, verify, verifyRanks, type Plan, type Staged } from '../../staging'
import { referenceModel } from '../../staging/devices/reference-model'
import { must } from '../must'

const block = (out: number) => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu] as const

// The last layers have the most weights, and the first compute the longest.
const layers = [...block(16), ...block(16), ...block(256), globalAvgPool, linear({ out: 2 })] as const

const ranks = 2

const stagedFor = (index: number, given?: Plan): Staged =>
  must(
    stage({
      model: model({ name: 'shared', input: [1, 3, 64, 64], layers }),
      device: { ...referenceModel('float64'), network: { bytesPerSecond: 2e7, latencySeconds: 1e-6 } },
      strategy: 'auto',
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, shard: { count: ranks, index } },
      source: { kind: 'float' },
      ...(given && { given })
    })
  )

const found = stagedFor(0)

const staged = (overlapReduction: Required<Plan>['overlapReduction']): Staged => stagedFor(0, { ...found.plan, overlapReduction })

/** In order, whether each exchange with all ranks in a step is of a piece of a gradient. */
const exchangesOf = ({ program }: Staged): readonly boolean[] =>
  program.step.code.flatMap((one) =>
    one.kind === 'allToAll'
      ? [program.buffers[one.receive.buffer!]!.name === 'gradients of all ranks']
      : one.kind === 'exchange'
        ? [false]
        : []
  )

test('as many pieces as are told travel at each place, and the others at the end', () => {
  const [first, last] = [exchangesOf(staged([1])), exchangesOf(staged([]))]
  const pieces = last.filter((isPiece) => isPiece).length
  assert.ok(pieces > 3)
  assert.is(last.indexOf(true), last.length - pieces)
  assert.is(first.indexOf(true) < last.indexOf(true), true)
  assert.equal(first.slice(-pieces + 1), last.slice(-pieces + 1))
  assert.ok(!first.slice(first.indexOf(true) + 1, -pieces + 1).includes(true))
})

test('a plan that is found paces them: faster than all at once, and than all at the end', () => {
  const paced = found.plan.overlapReduction as readonly number[]
  assert.ok(paced.some((count) => count > 0))
  for (const other of [true, []] as const) {
    const { stepMilliseconds } = staged(other).predicted
    assert.ok(found.predicted.stepMilliseconds < stepMilliseconds, `${found.predicted.stepMilliseconds} ms, and ${stepMilliseconds} ms`)
  }
})

test('Programs of ranks with any counts of pieces are sound, and go together', () => {
  for (const counts of [[], [0, 3], [2, 0, 0, 1], found.plan.overlapReduction as readonly number[], Array.from({ length: 99 }, () => 7)]) {
    const programs = Array.from({ length: ranks }, (_, index) => stagedFor(index, { ...found.plan, overlapReduction: counts }).program)
    programs.forEach((program) => must(verify(program)))
    must(verifyRanks(programs))
  }
})

test.run()
