/** Ranks that share images and rows train as one process does by the plans that budgets ask for. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Mesh, ranksOfGroup } from '../../src/plans/mesh'
import type { Training } from '../../staging'
import { findShard } from '../../staging/graph/shard'
import { tileCount } from '../../staging/graph/span'
import { propertyRuns } from '../property-runs'
import { runSections, update } from './execute'
import { optimizers, randomTraining } from './random-training'
import { assertTrainAlike } from './train-alike'
import { stageWithin } from './within-budget'

const meshes: readonly Mesh[] = [
  { microBatches: 1, rows: 2 },
  { microBatches: 1, rows: 3 },
  { microBatches: 1, rows: 4 },
  { microBatches: 1, images: 2, rows: 1 },
  { microBatches: 1, images: 2, rows: 2 }
]

test('ranks train as one process does within random budgets, of random networks on random meshes, and take what is planned', async () => {
  const shares = fc.double({ min: 0.4, max: 1, noNaN: true })
  let [all, ran, sharing, tiling, slicing] = [0, 0, 0, 0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), fc.constantFrom(...meshes), shares, fc.boolean(), async (seed, mesh, share, slices) => {
      const { execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const { graph, ...running } = execution(2)
      const objective: Training = { kind: 'train', optimizer: optimizers[seed % optimizers.length]!, accumulate: 2 }
      all++
      const staged = stageWithin(running, { ...objective, ...(slices && { shardOptimizer: true }) }, mesh, share)
      if (staged === undefined) return
      const updates = [batches(2, 2), batches(2, 2)]
      const alone = await runSections(
        running,
        objective,
        updates.flatMap((each) => update(0.1, ...each))
      )
      fc.pre(alone.losses.every((loss) => Math.abs(loss) < 1e9))
      await assertTrainAlike(running, staged, updates, alone)
      const { segments } = staged[0]!.plan
      ran++
      const onRanks = { ...graph, shard: { count: ranksOfGroup(mesh), index: 0, images: mesh.images ?? 1 } }
      if (segments.some((segment) => findShard(onRanks, segment) !== undefined)) sharing++
      if (segments.some(({ grid }) => tileCount(grid) > 1)) tiling++
      if (slices) slicing++
    }),
    propertyRuns(100)
  )
  const counts = `of ${all} budgets ${ran} hold a training: ${sharing} share segments, ${tiling} tile some, ${slicing} have slices`
  assert.ok(2 * ran > all && 3 * sharing > ran && 8 * tiling > ran && 8 * slicing > ran, counts)
})

test.run()
