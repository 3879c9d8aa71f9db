import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withoutDropout } from '../../staging/graph'
import { timelineOf } from '../../staging/lowering/timeline'
import { referenceModel, verify } from '../../staging'
import { gradients, stageFor } from '../golden/execute'
import { randomResidence } from '../staging/random-residence'
import { randomSegments } from '../staging/random-segments'
import { randomExecution } from './random-execution'

const runs = { numRuns: Number(process.env.TILEFOLD_PROPERTY_RUNS ?? 300), includeErrorInReport: true }

test('random nets, tiles and stays on the host: verified, every number to the bit, memory on both sides as planned', async () => {
  let stays = 0
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, graph, ...execution } = randomExecution(seed)
      const segments = randomSegments(draw, graph)
      const lowering = {
        graph: withoutDropout(graph),
        device: referenceModel('float64'),
        objective: { kind: 'gradients' },
        source: { kind: 'float' }
      } as const
      const residence = randomResidence(draw, timelineOf(lowering, segments))
      stays += residence.length
      const [stay, swapped] = [await gradients({ ...execution, segments }), await gradients({ ...execution, segments, residence })]
      const { program, plan } = swapped.staged
      const verified = verify(program)
      assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
      if (isRight(verified)) assert.is(verified.right.hostPeakBytes, program.hostBytes)
      assert.equal(plan.residence, residence)
      assert.is(plan.predicted.peakHostBytes, program.hostBytes)
      assert.is(swapped.loss, stay.loss)
      assert.equal([...swapped.tensors], [...stay.tensors])
      for (const [measured, planned] of [
        [swapped.measuredPeakBytes, program.peakBytes],
        [swapped.measuredHostPeakBytes, program.hostBytes]
      ] as const)
        assert.ok(measured <= planned && measured > planned - 4096, `${measured} bytes were changed, ${planned} were planned`)
      // A byte less on the host is too little.
      if (program.hostBytes > 0) {
        const refused = stageFor({ ...execution, segments, residence, hostBudget: program.hostBytes - 1 }, { kind: 'gradients' })
        assert.ok(!isRight(refused) && refused.left.code === 'budget')
      }
    }),
    runs
  )
  assert.ok(stays > runs.numRuns / 4, `only ${stays} tensors were swapped`)
})

test.run()
