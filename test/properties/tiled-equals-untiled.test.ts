import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Optimizer } from '../../staging'
import { onFastDevices } from '../devices'
import { gradients, trainSteps } from '../golden/execute'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { assertAsReference, assertClose, assertTensorsClose, randomExecution } from './random-execution'

/**
 * With a large epsilon: a bias before a batchNorm has a gradient of nothing but rounding, and Adam
 * would learn from it.
 */
const optimizers: readonly Optimizer[] = [
  { kind: 'sgd', momentum: 0.9, weightDecay: 1e-3 },
  { kind: 'adam', beta1: 0.9, beta2: 0.999, epsilon: 1e-3, weightDecay: 0 },
  { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-3, weightDecay: 1e-2 }
]

test('random nets, sizes and grids: loss, gradients, running statistics and optimizer steps of tiles equal the untiled ones', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, graph, ...execution } = randomExecution(seed)
      const segments = randomSegments(draw, graph)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      const tiled = await gradients({ ...execution, segments })
      assertClose(tiled, plain, 1e-12)
      assert.ok(tiled.measuredPeakBytes <= tiled.staged.program.peakBytes)
      assertClose(await gradients(execution), plain, 1e-12)

      const step = { optimizer: optimizers[seed % optimizers.length]!, learningRate: 0.01, steps: 1 }
      const [plainStep, tiledStep] = [
        await trainSteps({ ...execution, strategy: 'plain' }, step),
        await trainSteps({ ...execution, segments }, step)
      ]
      assertTensorsClose(tiledStep.tensors, plainStep.tensors, 1e-12)
    }),
    // A mean over each channel of what is normalised: its gradients are nothing but rounding.
    { ...propertyRuns(300), examples: [[1307061125]] }
  )
})

onFastDevices(test, 'random nets, sizes and grids: it computes what the reference device does, up to float32 rounding', async (device) => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), (seed) => assertAsReference(randomExecution(seed), device)),
    propertyRuns(300)
  )
})

test.run()
