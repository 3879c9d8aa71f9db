import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify } from '../../staging'
import { gradients, trainSteps } from '../golden/execute'
import { randomSegments, withRepeats, withStreams } from '../staging/random-segments'
import { assertClose, assertTensorsClose, randomExecution } from './random-execution'

const runs = { numRuns: Number(process.env.TILEFOLD_PROPERTY_RUNS ?? 200), includeErrorInReport: true }

test('random nets in bands of rows that pass from and to the host, or are made again: verified, exact, memory on both sides as planned', async () => {
  let [streamed, repeated] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, graph, ...execution } = randomExecution(seed)
      const whole = randomSegments(draw, graph, ['H'])
      const segments = withRepeats(draw, graph, withStreams(draw, graph, whole))
      streamed += segments.reduce((sum, { streams = [] }) => sum + streams.length, 0)
      repeated += segments.filter(({ repeats }) => repeats).length
      const [plain, passed] = [await gradients({ ...execution, segments: whole }), await gradients({ ...execution, segments })]
      const { program, plan } = passed.staged
      assert.equal(plan.segments, segments)
      const verified = verify(program)
      assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
      if (isRight(verified)) assert.is(verified.right.hostPeakBytes, program.hostBytes)
      assertClose(passed, plain, 1e-12)
      for (const [measured, planned] of [
        [passed.measuredPeakBytes, program.peakBytes],
        [passed.measuredHostPeakBytes, program.hostBytes]
      ] as const)
        assert.ok(measured <= planned && measured > planned - 4096, `${measured} bytes were changed, ${planned} were planned`)
      const step = { optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 1e-3 }, learningRate: 0.01, steps: 2 } as const
      const [steps, streamedSteps] = [
        await trainSteps({ ...execution, segments: whole }, step),
        await trainSteps({ ...execution, segments }, step)
      ]
      assertTensorsClose(streamedSteps.tensors, steps.tensors, 1e-12)
    }),
    runs
  )
  assert.ok(streamed > runs.numRuns / 4, `only ${streamed} tensors were on the host`)
  assert.ok(repeated > runs.numRuns / 16, `only ${repeated} segments ran forward again`)
})

test.run()
