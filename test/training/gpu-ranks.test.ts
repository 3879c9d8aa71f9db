/**
 * Ranks on GPUs exchange the same bits by NCCL as through the host, and train to the same bits on
 * any number of ranks: on the emulated GPU, of which each rank of this process has one.
 */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, verifyRanks, type Training } from '../../staging'
import { findShard } from '../../staging/graph/shard'
import { accumulatesStatistics } from '../../staging/graph/statistics'
import { segmentTiling } from '../../staging/graph/tiling'
import { must } from '../must'
import { testsDevice } from '../devices'
import { assertTensorsClose } from '../properties/random-execution'
import { propertyRuns } from '../property-runs'
import { randomSegments } from '../staging/random-segments'
import { optimizers, randomTraining } from './random-training'
import { runRanks } from './run-ranks'
import { runShards, stageShards } from './run-shards'
import { assertSameBits } from './same-bits'

const seeds = fc.nat({ max: 2 ** 31 - 1 })

/** What runs with exchanges through the host. */
const throughHost = async <A>(run: () => Promise<A>): Promise<A> => {
  process.env['TILEFOLD_NCCL_PATH'] = 'none'
  try {
    return await run()
  } finally {
    delete process.env['TILEFOLD_NCCL_PATH']
  }
}

const isEmulated = (process.env['TILEFOLD_ADDON'] ?? '').includes('emulated_cuda') && testsDevice('cuda')
const suite = isEmulated ? test : test.skip

suite('micro-batches train to the same bits on one, two and four GPUs, by NCCL and through the host', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, fc.boolean(), async (seed, shardOptimizer) => {
      const { draw, execution, batches } = randomTraining(seed)
      const { graph, ...micro } = execution(2)
      const objective: Training = { kind: 'train', optimizer: optimizers[seed % optimizers.length]! }
      // As often as a section is captured, and replayed.
      const updates = [batches(4, 2), batches(4, 2), batches(4, 2)]
      const running = { ...micro, precision: 'float32', segments: randomSegments(draw, graph), device: 'cuda' } as const
      const one = await runRanks(running, objective, 1, updates)
      for (const ranks of [2, 4]) {
        const wanted = { ...objective, ...(shardOptimizer && { shardOptimizer }) }
        const byNccl = await runRanks(running, wanted, ranks, updates)
        const byHost = await throughHost(() => runRanks(running, wanted, ranks, updates))
        for (const { tensors } of [...byNccl.outcomes, ...byHost.outcomes])
          assertSameBits(tensors, one.outcomes[0]!.tensors, `on ${ranks} GPUs`)
      }
      const onReference = await runRanks({ ...running, device: 'reference' }, objective, 2, updates)
      // Some nets learn faster than their weights can bear.
      fc.pre([...onReference.outcomes[0]!.tensors.values()].every((values) => values.every((value) => Math.abs(value) < 1e6)))
      assertTensorsClose(one.outcomes[0]!.tensors, onReference.outcomes[0]!.tensors, 1e-3)
    }),
    propertyRuns(3)
  )
})

suite('rows, and rows and micro-batches, train to the same bits by NCCL and through the host', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, fc.constantFrom([2, 1], [3, 1], [2, 2]), async (seed, [count, groups]) => {
      const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const { graph, ...micro } = execution(2)
      const normalising = [...graph.nodes.keys()].filter((position) => accumulatesStatistics(graph.nodes[position]!))
      const onRanks = { ...graph, shard: { count: count!, index: 0 } }
      const segments = randomSegments(draw, onRanks, ['B', 'H', 'W'], graph.nodes.length, normalising)
      fc.pre(segments.every((segment) => segmentTiling(onRanks, segment, segment.grid) !== undefined))
      fc.pre(segments.some((segment) => findShard(onRanks, segment) !== undefined))
      const objective: Training = { kind: 'train', optimizer: optimizers[seed % optimizers.length]!, accumulate: 2, ranks: groups! }
      const updates = [batches(2, 2), batches(2, 2), batches(2, 2)]
      const run = (device: 'cuda' | 'reference') => {
        const running = { ...micro, precision: 'float32', segments, device } as const
        const staged = stageShards(running, objective, count!)
        staged.forEach(({ program }) => must(verify(program)))
        must(verifyRanks(staged.map(({ program }) => program)))
        return runShards(running, staged, updates, groups)
      }
      const byNccl = await run('cuda')
      const byHost = await throughHost(() => run('cuda'))
      const onReference = await run('reference')
      fc.pre(onReference.every(({ losses }) => losses.every((loss) => Math.abs(loss) < 1e6)))
      byNccl.forEach(({ tensors, losses, measuredPeakBytes, staged }, rank) => {
        assertSameBits(tensors, byHost[rank]!.tensors, `of rank ${rank}`)
        assert.equal(losses, byHost[rank]!.losses)
        assert.ok(measuredPeakBytes <= staged.program.peakBytes)
        assertTensorsClose(tensors, onReference[rank]!.tensors, 1e-2)
      })
    }),
    propertyRuns(4)
  )
})

test.run()
