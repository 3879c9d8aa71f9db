import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Training } from '../../staging'
import { onFastDevices } from '../devices'
import { assertTensorsClose } from '../properties/random-execution'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { runSections, update, type Action } from './execute'
import { learnable, randomTraining } from './random-training'

onFastDevices(test, 'accumulates, clips, freezes and evaluates as the reference device does, up to float32 rounding', async (device) => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const { graph, ...one } = execution(2)
      const names = learnable(graph)
      const objective: Training = {
        kind: 'train',
        optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 1e-2 },
        accumulate: 2,
        clipNorm: draw(1, 20) / 10,
        evaluate: true,
        groups: names.length > 1 ? [{ prefix: names[draw(0, names.length - 1)]!, frozen: true }] : []
      }
      const [batch] = batches(1, 2)
      const actions: readonly Action[] = [...update(0.1, ...batches(2, 2)), { section: 'evaluate', input: batch!.input }]
      const exact = await runSections(one, objective, actions)
      for (const decisions of [{}, { segments: randomSegments(draw, graph) }]) {
        const rounded = await runSections({ ...one, ...decisions, device }, objective, actions)
        assert.ok(rounded.measuredPeakBytes <= rounded.staged.program.peakBytes)
        assertTensorsClose(rounded.tensors, exact.tensors, 1e-4)
        assertTensorsClose(
          new Map([['scores', rounded.scores[0] as Float32Array]]),
          new Map([['scores', exact.scores[0] as Float64Array]]),
          1e-4
        )
        const [found, expected] = [rounded.norms[0]!, exact.norms[0]!]
        assert.ok(Math.abs(found - expected) <= 1e-4 * Math.max(1e-2, expected), `the norm is ${found}, not ${expected}`)
      }
    }),
    propertyRuns(100)
  )
})

test.run()
