import fc from 'fast-check'
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { strategyNames } from '../../staging'
import { gradients, stageFor } from '../golden/execute'
import { assertClose, randomExecution } from './random-execution'

const strategies = fc.constantFrom(...strategyNames.filter((name) => name !== 'plain'))
const shares = fc.double({ min: 0.2, max: 1, noNaN: true })

test('random nets, strategies and budgets: a plan fits or names what would, is the same again, and computes what plain does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), strategies, shares, async (seed, strategy, share) => {
      const { draw: _draw, graph: _graph, ...execution } = randomExecution(seed)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      const budget = Math.floor(plain.staged.program.peakBytes * share)
      const stagedIn = (bytes: number) => stageFor({ ...execution, strategy, budget: bytes }, { kind: 'gradients' })
      const staged = stagedIn(budget)
      assert.equal(JSON.stringify(stagedIn(budget)), JSON.stringify(staged), 'another answer to the same request')
      const enough = isLeft(staged) ? staged.left.smallestFeasibleBudgetBytes! : budget
      assert.ok(enough >= budget)
      const planned = await gradients({ ...execution, strategy, budget: enough })
      const { program, plan } = planned.staged
      const { peakBytes } = program
      for (const { from, to } of plan.segments)
        assert.ok(
          plan.order.slice(from, to).every((position) => from <= position && position < to),
          'a segment is no range of the model'
        )
      assert.ok(peakBytes <= enough && planned.measuredPeakBytes <= peakBytes)
      assertClose(planned, plain, 1e-12)
    }),
    { numRuns: Number(process.env.TILEFOLD_PROPERTY_RUNS ?? 150), includeErrorInReport: true }
  )
})

test.run()
