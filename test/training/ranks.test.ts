import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, type Staged, type Training } from '../../staging'
import type { Program } from '../../staging/program/program'
import { must } from '../must'
import { assertTensorsClose } from '../properties/random-execution'
import { propertyRuns } from '../property-runs'
import { randomSegments } from '../staging/random-segments'
import { runSections, update } from './execute'
import { optimizers, randomTraining } from './random-training'
import { runRanks } from './run-ranks'
import { assertSameBits } from './same-bits'

const seeds = fc.nat({ max: 2 ** 31 - 1 })

/** Whether gradients travel in the step. */
const addsInStep = ({ step }: Program): boolean => step.code.some(({ kind }) => kind === 'allToAll')

test('four micro-batches train to the same bits on one, two and four ranks, by one plan, in tiles or whole', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, fc.constantFrom('reference' as const, 'cpu' as const), fc.boolean(), async (seed, device, clips) => {
      const { draw, execution, batches } = randomTraining(seed)
      const { graph, ...micro } = execution(2)
      const objective: Training = {
        kind: 'train',
        optimizer: optimizers[seed % optimizers.length]!,
        ...(clips ? { clipNorm: 0.5 } : {})
      }
      const updates = [batches(4, 2), batches(4, 2)]
      const segments = randomSegments(draw, graph)
      for (const decisions of [{ strategy: 'plain' as const }, { segments }, { segments, overlapReduction: true as const }]) {
        const running = { ...micro, ...decisions, device }
        const one = await runRanks(running, objective, 1, updates)
        assert.is(addsInStep(one.staged.program), !('segments' in decisions) || 'overlapReduction' in decisions)
        for (const ranks of [1, 2, 4]) {
          const sharded = await runRanks(running, { ...objective, shardOptimizer: true }, ranks, updates)
          must(verify(sharded.staged.program))
          const bytes = (one: Staged) => one.program.persistentTensors.reduce((sum, tensor) => sum + tensor.bytes, 0)
          if (ranks === 4) assert.ok(bytes(sharded.staged) < bytes(one.staged))
          for (const { tensors, measuredPeakBytes } of sharded.outcomes) {
            assertSameBits(tensors, one.outcomes[0]!.tensors, `on ${ranks} ranks with slices of the optimizer's state`)
            assert.ok(measuredPeakBytes <= sharded.staged.program.peakBytes)
          }
        }
        for (const ranks of [2, 4]) {
          const several = await runRanks(running, objective, ranks, updates)
          assert.equal(several.staged.plan, one.staged.plan)
          assert.is(several.staged.program.peakBytes, one.staged.program.peakBytes)
          must(verify(several.staged.program))
          for (const { tensors, measuredPeakBytes } of several.outcomes) {
            assertSameBits(tensors, one.outcomes[0]!.tensors, `on ${ranks} ranks`)
            assert.ok(measuredPeakBytes <= several.staged.program.peakBytes)
          }
        }
        const alone = await runSections(
          running,
          { ...objective, accumulate: 4 },
          updates.flatMap((each) => update(0.1, ...each))
        )
        // Without tiles a step alone adds whole micro-batches too.
        if ('strategy' in decisions) assertSameBits(alone.tensors, one.outcomes[0]!.tensors, 'without ranks')
        else assertTensorsClose(one.outcomes[0]!.tensors, alone.tensors, device === 'cpu' ? 1e-3 : 1e-10)
      }
    }),
    propertyRuns(40)
  )
})

test.run()
