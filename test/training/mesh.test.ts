/** Groups of ranks that share rows train to the same bits, however many share the micro-batches. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, verifyRanks, type Training } from '../../staging'
import { findShard } from '../../staging/graph/shard'
import { accumulatesStatistics } from '../../staging/graph/statistics'
import { segmentTiling } from '../../staging/graph/tiling'
import { must } from '../must'
import { assertTensorsClose } from '../properties/random-execution'
import { propertyRuns } from '../property-runs'
import { randomSegments, withRematerialization } from '../staging/random-segments'
import { runSections, update } from './execute'
import { optimizers, randomTraining } from './random-training'
import { runShards, stageShards } from './run-shards'
import { assertSameBits } from './same-bits'

const seeds = fc.nat({ max: 2 ** 31 - 1 })

test('four micro-batches train to the same bits on one, two and four groups of ranks that share rows', async () => {
  let [all, merging, clipping, replicating] = [0, 0, 0, 0]
  await fc.assert(
    fc.asyncProperty(
      seeds,
      fc.constantFrom(2, 3),
      fc.constantFrom('reference' as const, 'cpu' as const),
      fc.boolean(),
      fc.constantFrom(undefined, true as const, [1, 0, 0, 2, 1, 0, 1]),
      async (seed, count, device, clips, overlapReduction) => {
        const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
        const { graph, ...micro } = execution(2)
        const normalising = [...graph.nodes.keys()].filter((position) => accumulatesStatistics(graph.nodes[position]!))
        const onRanks = { ...graph, shard: { count, index: 0 } }
        const drawn = randomSegments(draw, onRanks, ['B', 'H', 'W'], graph.nodes.length, normalising)
        const segments = withRematerialization(draw, onRanks, drawn)
        fc.pre(segments.every((segment) => segmentTiling(onRanks, segment, segment.grid) !== undefined))
        fc.pre(segments.some((segment) => findShard(onRanks, segment) !== undefined))
        const objective: Training = {
          kind: 'train',
          optimizer: optimizers[seed % optimizers.length]!,
          accumulate: 4,
          ...(clips && { clipNorm: 0.5 })
        }
        const running = { ...micro, segments, device, ...(overlapReduction && { overlapReduction }) }
        const updates = [batches(4, 2), batches(4, 2)]
        const alone = await runSections(
          running,
          objective,
          updates.flatMap((each) => update(0.1, ...each))
        )
        fc.pre(alone.losses.every((loss) => Math.abs(loss) < 1e9))
        const on = async (ranks: number) => {
          const staged = stageShards(running, { ...objective, ranks }, count)
          staged.forEach(({ program }) => must(verify(program)))
          must(verifyRanks(staged.map(({ program }) => program)))
          return { staged, outcomes: await runShards(running, staged, updates, ranks) }
        }
        const one = await on(1)
        all++
        if (one.staged[0]!.program.shard!.merged.length > 0) merging++
        if (clips) clipping++
        if (one.staged[0]!.program.shard!.replicated.length > 0) replicating++
        assertTensorsClose(one.outcomes[0]!.tensors, alone.tensors, device === 'cpu' ? 1e-3 : 1e-12)
        const sharded = stageShards(running, { ...objective, ranks: 2, shardOptimizer: true }, count)
        sharded.forEach(({ program }) => must(verify(program)))
        must(verifyRanks(sharded.map(({ program }) => program)))
        for (const { tensors } of await runShards(running, sharded, updates, 2))
          assertSameBits(tensors, one.outcomes[0]!.tensors, `on 2 groups of ${count} ranks with slices of the optimizer's state`)
        for (const groups of [2, 4]) {
          const several = await on(groups)
          assert.equal(
            several.staged.map(({ program }) => program.peakBytes),
            one.staged.map(({ program }) => program.peakBytes)
          )
          several.outcomes.forEach(({ tensors, losses, measuredPeakBytes }, rank) => {
            assertSameBits(tensors, one.outcomes[0]!.tensors, `on ${groups} groups of ${count} ranks`)
            const group = Math.floor(rank / count)
            const ofOne = one.outcomes[rank % count]!.losses
            assert.equal(
              losses,
              ofOne.filter((_, step) => step % groups === group)
            )
            assert.ok(measuredPeakBytes <= several.staged[rank % count]!.program.peakBytes)
          })
        }
      }
    ),
    // This one has two pieces of parameters: the second is updated while the first travels.
    { ...propertyRuns(24), examples: [[12, 2, 'reference', false, undefined]] }
  )
  const seen = `${merging} networks of ${all} merge statistics, ${replicating} have parameters of which ranks have the same gradients, ${clipping} are clipped`
  assert.ok(all > 0 && 4 * merging > all && 4 * replicating > all && clipping > 0, seen)
})

test.run()
