import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model, relu, residual } from '../../dsl'
import { verify } from '../../staging'
import { gradients, trainSteps, type Gradients } from '../golden/execute'
import { randomSegments, withLoading, withRematerialization, withStreams } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { assertClose, assertTensorsClose, initialisedExecution, randomExecution } from './random-execution'

const runs = propertyRuns(200)

test('random nets in bands of rows that pass from and to the host, or are made again: verified, exact, memory on both sides as planned', async () => {
  let [streamed, repeated, loading] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, graph, ...execution } = randomExecution(seed)
      const whole = randomSegments(draw, graph, ['H'], 5)
      const segments = withLoading(draw, graph, withRematerialization(draw, graph, withStreams(draw, graph, whole)))
      streamed += segments.reduce((sum, { hostTensors = [] }) => sum + hostTensors.length, 0)
      repeated += segments.filter(({ rematerialize }) => rematerialize).length
      loading += segments.filter(({ from, prefetch }) => from > 0 && prefetch).length
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
  assert.ok(repeated > runs.numRuns / 4, `only ${repeated} segments ran forward again`)
  assert.ok(loading > runs.numRuns / 4, `only ${loading} segments passed bands beside computing`)
})

/**
 * A residual network with batch normalisation, whose stem and blocks have an activation of 16x96x70
 * each.
 */
const wide = (device: 'reference' | 'cpu') => {
  const block = () =>
    residual([conv2d({ out: 16, k: 3, p: 1, bias: false }), batchNorm(), relu, conv2d({ out: 16, k: 3, p: 1, bias: false }), batchNorm()])
  const layers = [
    conv2d({ out: 16, k: 3, p: 1, bias: false }),
    batchNorm(),
    relu,
    ...[block(), relu, block(), relu, block(), relu],
    conv2d({ out: 8, k: 3, s: 2, p: 1 }),
    globalAvgPool,
    linear({ out: 2 })
  ]
  const input = [1, 3, 96, 70] as const
  const net = model({ name: 'wide', layers })
  return initialisedExecution(net, input, device)
}

/** Some of its activations on the host, which has so many bytes: as plain within the tolerance. */
const streamed = async (device: 'reference' | 'cpu', plain: Gradients, budget: number, hostBudget: number, tolerance: number) => {
  const passed = await gradients({ ...wide(device), strategy: 'sft-offload', budget, hostBudget })
  const { program, plan } = passed.staged
  assert.ok(program.peakBytes <= budget && program.hostBytes <= hostBudget)
  assert.ok(plan.segments.some(({ hostTensors }) => hostTensors !== undefined))
  assertClose(passed, plain, tolerance)
  return { hostBytes: program.hostBytes, rematerialize: plan.segments.some(({ rematerialize }) => rematerialize) }
}

for (const [device, bytes, tolerance] of [
  ['reference', 8, 1e-12],
  ['cpu', 4, 1e-5]
] as const)
  test(`a residual network whose activations are each larger than the device, ${device}: exact, normalised over the whole image`, async () => {
    const plain = await gradients({ ...wide(device), strategy: 'plain' })
    const budget = 16 * 96 * 70 * bytes - 1
    const roomy = await streamed(device, plain, budget, Infinity, tolerance)
    assert.not.ok(roomy.rematerialize)
    // With less on the host, some of it is computed again.
    assert.ok((await streamed(device, plain, budget, Math.floor(0.85 * roomy.hostBytes), tolerance)).rematerialize)
  })

test.run()
