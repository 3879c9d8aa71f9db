/** Ranks that share the rows of each image train as one process does, in their plans' memory. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, verifyRanks, type Training } from '../../staging'
import { shardOf } from '../../staging/graph/shard'
import { accumulatesStatistics } from '../../staging/graph/statistics'
import { segmentTiling } from '../../staging/graph/tiling'
import { must } from '../must'
import { assertTensorsClose } from '../properties/random-execution'
import { propertyRuns } from '../property-runs'
import { randomSegments, withRematerialization } from '../staging/random-segments'
import { runSections, update } from './execute'
import { optimizers, randomTraining } from './random-training'
import { runShards, stageShards } from './run-shards'

// The second keeps channels in blocks.
const devices = ['reference', 'cpu'] as const

const seeds = fc.nat({ max: 2 ** 31 - 1 })

interface Counts {
  readonly sharded: number
  readonly merging: number
  readonly all: number
}

/** Whether segments end before normalisations by statistics, so that each rank can run its rows. */
type Ends = 'at random' | 'before normalisations'

/** Random networks in random segments on ranks that share rows, each against one process. */
const trainAlike = async (ends: Ends, runs: number): Promise<Counts> => {
  let [sharded, merging, all] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(seeds, fc.constantFrom(2, 3, 4), fc.constantFrom(...devices), async (seed, count, device) => {
      const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const { graph, ...micro } = execution(2)
      const normalising =
        ends === 'at random' ? [] : [...graph.nodes.keys()].filter((position) => accumulatesStatistics(graph.nodes[position]!))
      fc.pre(ends === 'at random' || normalising.length > 0)
      fc.pre(!graph.nodes.some((node) => node.op === 'globalMaxPool'))
      const onRanks = { ...graph, shard: { count, index: 0 } }
      const segments = withRematerialization(draw, onRanks, randomSegments(draw, onRanks, ['B', 'H', 'W'], graph.nodes.length, normalising))
      fc.pre(segments.every((segment) => segmentTiling(onRanks, segment, segment.grid) !== undefined))
      all++
      if (segments.some((segment) => shardOf(onRanks, segment) !== undefined)) sharded++
      const objective: Training = { kind: 'train', optimizer: optimizers[seed % optimizers.length]!, accumulate: 2 }
      const running = { ...micro, segments, device }
      const isExact = device === 'reference'
      const updates = [batches(2, 2), batches(2, 2)]
      const alone = await runSections(
        running,
        objective,
        updates.flatMap((each) => update(0.1, ...each))
      )
      // What diverges leaves the range of float32.
      fc.pre(alone.losses.every((loss) => Math.abs(loss) < 1e9))
      const staged = stageShards(running, objective, count)
      staged.forEach(({ program }) => must(verify(program)))
      must(verifyRanks(staged.map(({ program }) => program)))
      if (staged[0]!.program.shard!.merged.length > 0) merging++
      const outcomes = await runShards(running, staged, updates)
      for (const { tensors, staged, measuredPeakBytes } of outcomes) {
        assertTensorsClose(tensors, alone.tensors, isExact ? 1e-12 : 1e-3)
        const unused = staged.program.peakBytes - measuredPeakBytes
        assert.ok(unused >= 0 && unused < 4096, `${unused} bytes below the peak were not used`)
      }
      alone.losses.forEach((loss, step) => {
        const sum = outcomes.reduce((all, { losses }) => all + losses[step]!, 0)
        assert.ok(
          Math.abs(sum - loss) <= (isExact ? 1e-12 : 1e-5) * Math.max(1, Math.abs(loss)),
          `step ${step}: loss ${sum} is not ${loss}`
        )
      })
    }),
    propertyRuns(runs, Math.ceil(runs / 3))
  )
  return { sharded, merging, all }
}

test('ranks that share rows train as one does, of random networks in random segments', async () => {
  const { sharded, all } = await trainAlike('at random', 60)
  assert.ok(3 * sharded > all, `${sharded} networks of ${all} with shared rows are few`)
})

test('ranks that share rows normalise by statistics of all rows, of random networks', async () => {
  const { merging, all } = await trainAlike('before normalisations', 60)
  assert.ok(3 * merging > all, `${merging} networks of ${all} with merged statistics are few`)
})

test.run()
