/**
 * A device may do launches that follow each other as one; where each is timed, all are by
 * themselves.
 */
import fc from 'fast-check'
import { test } from 'uvu'
import type { Training } from '../../staging'
import { bf16Devices, fastDevices, testsDevice } from '../devices'
import { propertyRuns } from '../property-runs'
import { runSections, update } from './execute'
import { randomTraining } from './random-training'
import { assertSameBits } from './same-bits'

const objective: Training = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 1e-2 } }

const targets = [
  ...fastDevices.filter(testsDevice).map((device) => ({ name: device, on: { device } })),
  ...bf16Devices().filter(({ on }) => on.device !== 'reference')
]
for (const { name, on } of targets)
  test(`${name}: steps whose launches are timed give the same bits`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
        const { execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
        const { graph: _, ...net } = execution(2)
        const actions = batches(3, 2).flatMap((batch) => update(0.1, batch))
        const run = async (timesKernels: boolean) => runSections({ ...net, ...on }, objective, actions, timesKernels)
        assertSameBits((await run(true)).tensors, (await run(false)).tensors, 'where launches are timed')
      }),
      propertyRuns(40)
    )
  })

test.run()
