import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { strategyNames, verify, type Staged } from '../../staging'
import { gradients, stageFor } from '../golden/execute'
import { propertyRuns } from '../property-runs'
import { assertClose, randomExecution } from './random-execution'

const strategies = fc.constantFrom(...strategyNames)
const shares = fc.double({ min: 0.2, max: 1, noNaN: true })

/** What a step writes highest lies in the last page of the plan's peak, and nothing lies beyond. */
const page = 4096

const milliseconds = ({ predicted }: Staged): number => predicted.stepMilliseconds

test('random nets, strategies and budgets: a plan fits or names what would, is verified, is the same again, computes what plain does in just its bytes, and more memory never slows auto down', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), strategies, shares, shares, async (seed, strategy, share, otherShare) => {
      const { draw: _draw, graph: _graph, ...execution } = randomExecution(seed)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      const bytesOf = (part: number): number => Math.floor(plain.staged.program.peakBytes * part)
      // With room on the host, auto may swap too.
      const stagedIn = (bytes: number, by = strategy) =>
        stageFor({ ...execution, strategy: by, budget: bytes, hostBudget: plain.staged.program.peakBytes }, { kind: 'gradients' })

      const budget = bytesOf(share)
      const staged = stagedIn(budget)
      assert.equal(JSON.stringify(stagedIn(budget)), JSON.stringify(staged), 'another answer to the same request')
      const enough = isLeft(staged) ? staged.left.smallestFeasibleBudgetBytes! : budget
      assert.ok(enough >= budget)

      const planned = await gradients({ ...execution, strategy, budget: enough, hostBudget: plain.staged.program.peakBytes })
      const { program, plan } = planned.staged
      const { peakBytes } = program
      for (const { from, to } of plan.segments)
        assert.ok(
          plan.order.slice(from, to).every((position) => from <= position && position < to),
          'a segment is no range of the model'
        )
      const verified = verify(program)
      assert.ok(isRight(verified), isLeft(verified) ? verified.left.message : '')
      assert.ok(peakBytes <= enough && planned.measuredPeakBytes <= peakBytes && planned.measuredPeakBytes > peakBytes - page)
      assert.ok(planned.measuredHostPeakBytes <= program.hostBytes && planned.measuredHostPeakBytes > program.hostBytes - page)
      assertClose(planned, plain, 1e-12)

      const [less, more] = [Math.min(share, otherShare), Math.max(share, otherShare)].map((part) => stagedIn(bytesOf(part), 'auto'))
      if (isRight(less!)) assert.ok(isRight(more!) && milliseconds(more.right) <= milliseconds(less.right), 'more memory is slower')
      const auto = stagedIn(enough, 'auto')
      assert.ok(isRight(auto) && milliseconds(auto.right) <= milliseconds(planned.staged), 'auto is slower')
    }),
    propertyRuns(50)
  )
})

test.run()
