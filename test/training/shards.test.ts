/** Ranks that share the rows of each image train as one process does, in their plans' memory. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, globalMaxPool, linear, model, relu, softmaxCrossEntropy, type Layers } from '../../dsl'
import { deviceModel } from '../../native'
import { buildGraph, type Segment, type Staged, type Training } from '../../staging'
import { findShard } from '../../staging/graph/shard'
import { accumulatesStatistics } from '../../staging/graph/statistics'
import { segmentTiling } from '../../staging/graph/tiling'
import { createTimelines } from '../../staging/lowering/cost/timeline'
import { createStepGraph } from '../../staging/ops/build-graph'
import { must } from '../must'
import { propertyRuns } from '../property-runs'
import { drawsOf } from '../staging/random-nets'
import { randomSwapSchedule } from '../staging/random-swap-schedule'
import { randomSegments, withRematerialization } from '../staging/random-segments'
import type { Execution } from '../golden/execute'
import { runSections, update, type Batch } from './execute'
import { optimizers, randomTraining } from './random-training'
import { stageShards } from './run-shards'
import { assertTrainAlike, type Tolerance } from './train-alike'
import { stageWithin } from './within-budget'

// The second keeps channels in blocks.
const devices = ['reference', 'cpu'] as const

const seeds = fc.nat({ max: 2 ** 31 - 1 })

interface Counts {
  readonly sharded: number
  readonly merging: number
  /** With tensors that wait on the host. */
  readonly swapping: number
  readonly all: number
}

/** Ranks in all, and into how many parts they share images. */
interface Mesh {
  readonly count: number
  readonly images: number
}

/** Whether segments end before normalisations by statistics, so that each rank can run its rows. */
type Ends = 'at random' | 'before normalisations'

/** Trains by one process and by ranks that share rows; returns what these merge. */
const assertTrainsAsAlone = async (
  running: Execution,
  objective: Training,
  { count, images }: Mesh,
  updates: readonly (readonly Batch[])[],
  tolerance: Tolerance
): Promise<readonly string[]> => {
  // Ranks save tensors that one process does not.
  const alone = await runSections(
    { ...running, segments: running.segments!.map(({ shards: _, ...segment }) => segment), swapSchedule: [] },
    objective,
    updates.flatMap((each) => update(0.1, ...each))
  )
  // What diverges leaves the range of float32.
  fc.pre(alone.losses.every((loss) => Math.abs(loss) < 1e9))
  const staged = stageShards(running, objective, count, images)
  await assertTrainAlike(running, staged, updates, alone, tolerance)
  return staged[0]!.program.shard!.merged
}

const rowsOf = (count: number): Mesh => ({ count, images: 1 })

/** Images of a batch for a mesh: as many for each part, or fewer for the last one. */
const imagesFor = ({ images }: Mesh, seed: number): number => {
  const perPart = images === 1 ? 2 : 1 + (seed % 2)
  return images * perPart - (images > 1 && perPart > 1 && seed % 4 === 1 ? 1 : 0)
}

/** Meshes of so many ranks, by parts of a batch. */
const meshesOf = (count: number): readonly Mesh[] =>
  [1, 2, 3, 4].filter((images) => count % images === 0).map((images): Mesh => ({ count, images }))

/**
 * Random networks in random segments on ranks that share rows, or images and rows, each against one
 * process.
 */
const trainAlike = async (
  ends: Ends,
  runs: number,
  examples: [number, number, (typeof devices)[number]][] = [],
  meshOf: (seed: number, count: number) => Mesh = (_, count) => rowsOf(count)
): Promise<Counts> => {
  let [sharded, merging, swapping, all] = [0, 0, 0, 0]
  await fc.assert(
    fc.asyncProperty(seeds, fc.constantFrom(2, 3, 4), fc.constantFrom(...devices), async (seed, count, device) => {
      const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const mesh = meshOf(seed, count)
      const rows = imagesFor(mesh, seed)
      const { graph, ...micro } = execution(rows)
      const normalising =
        ends === 'at random' ? [] : [...graph.nodes.keys()].filter((position) => accumulatesStatistics(graph.nodes[position]!))
      fc.pre(ends === 'at random' || normalising.length > 0)
      const onRanks = { ...graph, shard: { ...mesh, index: 0 } }
      const drawnSegments = randomSegments(draw, onRanks, ['B', 'H', 'W'], graph.nodes.length, normalising)
      const segments = withRematerialization(draw, onRanks, drawnSegments).map((segment, place): Segment => {
        const [isAlike, isOther] = [seed % 5 === 0 && (seed >> place) % 3 === 0, mesh.images > 1 && (seed >> place) % 4 === 1]
        if (isAlike) return { ...segment, shards: { B: 1, H: 1 } }
        const { count: all, images } = meshesOf(count)[(seed >> place) % meshesOf(count).length]!
        const other: Segment = { ...segment, shards: { B: images, H: all / images } }
        return isOther && findShard(onRanks, other) !== undefined ? other : segment
      })
      fc.pre(segments.every((segment) => segmentTiling(onRanks, segment, segment.grid) !== undefined))
      all++
      if (segments.some((segment) => findShard(onRanks, segment) !== undefined)) sharded++
      const objective: Training = { kind: 'train', optimizer: optimizers[seed % optimizers.length]!, accumulate: 2 }
      const decisions = {
        ...(seed % 2 === 0 && { overlapReduction: seed % 4 === 0 || Array.from({ length: 12 }, () => draw(0, 2)) }),
        ...(seed % 3 > 0 && { edgeTilesFirst: true as const })
      }
      const stepGraph = createStepGraph(
        graph,
        { ...objective, shard: { ...mesh, index: (count / mesh.images - 1) >> 1 } },
        { kind: 'float' }
      )
      const modelled = must(deviceModel(device, device === 'reference' ? 'float64' : 'float32', 2))
      const swapSchedule = randomSwapSchedule(draw, createTimelines(stepGraph, modelled)(segments))
      if (swapSchedule.length > 0) swapping++
      const running = { ...micro, segments, device, swapSchedule, ...decisions }
      const tolerance = device === 'reference' ? { tensors: 1e-12, losses: 1e-12 } : { tensors: 1e-3, losses: 1e-4 }
      const updates = [batches(2, rows), batches(2, rows)]
      const merged = await assertTrainsAsAlone(running, objective, mesh, updates, tolerance)
      if (merged.length > 0) merging++
    }),
    { ...propertyRuns(runs, Math.ceil(runs / 3)), examples }
  )
  return { sharded, merging, swapping, all }
}

/** Of these one rank saves what another does not. */
const drawn: [number, number, (typeof devices)[number]][] = [
  [2147483633, 4, 'reference'],
  [1104551912, 4, 'reference']
]

test('ranks that share rows train as one does, of random networks in random segments', async () => {
  const { sharded, swapping, all } = await trainAlike('at random', 60, drawn)
  assert.ok(3 * sharded > all, `${sharded} networks of ${all} with shared rows are few`)
  assert.ok(3 * swapping > all, `${swapping} networks of ${all} with tensors on the host are few`)
})

test('ranks that share rows normalise by statistics of all rows, of random networks', async () => {
  // In this one's gradients a strip of some rows is read in each image.
  const { merging, all } = await trainAlike('before normalisations', 60, [[873108382, 4, 'cpu']])
  assert.ok(3 * merging > all, `${merging} networks of ${all} with merged statistics are few`)
})

const imageMesh = (seed: number, count: number): Mesh => {
  const [, ...sharing] = meshesOf(count)
  return sharing[seed % sharing.length]!
}

test('ranks that share images, and rows, train as one does, of random networks in random segments', async () => {
  const { sharded, all } = await trainAlike('at random', 60, [], imageMesh)
  assert.ok(3 * sharded > all, `${sharded} networks of ${all} with shared images are few`)
})

test('ranks that share images normalise by statistics of all of them, of random networks', async () => {
  const { merging, all } = await trainAlike('before normalisations', 60, [], imageMesh)
  assert.ok(3 * merging > all, `${merging} networks of ${all} with merged statistics are few`)
})

const pooling = (layers: Layers, input: readonly [number, number, number, number]): Execution => {
  const net = model({ name: 'pooling', layers: layers as readonly [] })
  const { parameters } = must(buildGraph(net, input))
  const draw = drawsOf(5)
  const size = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1)
  const weights = new Map(
    parameters.map(({ name, shape, role }) => [
      name,
      Float64Array.from({ length: size(shape) }, () => (role === 'runningVariance' ? 1 : draw(-1000, 1000) / 1000))
    ])
  )
  return { model: net, input, device: 'reference', threads: 1, strategy: 'plain', weights, batch: { input: [], target: [] } }
}

const convolved = [conv2d({ out: 5, k: 3, p: 1 }), relu]
const inRows = (from: number, to: number, H = 1): Segment => ({ from, to, grid: { B: 1, H, W: 1 }, recompute: H > 1, reorder: 'once' })

const imagesOf = (rows: number, value: (index: number) => number): Batch => ({
  input: Float64Array.from({ length: 2 * 2 * rows * 6 }, (_, index) => value(index)),
  target: [1, 0]
})

for (const device of devices)
  for (const count of [2, 3])
    test(`${count} ranks that share rows pool the largest of all rows, the first of equals, on ${device}`, async () => {
      const layers = [...convolved, globalMaxPool, batchNorm(), linear({ out: 3 }), softmaxCrossEntropy]
      const execution = { ...pooling(layers, [2, 2, 12, 6]), device, segments: [inRows(0, 3, 2), inRows(3, 6)] }
      const draw = drawsOf(count)
      const objective: Training = { kind: 'train', optimizer: optimizers[1]!, accumulate: 2 }
      // Of the second all pixels but those at borders are alike, on every rank.
      const updates = [
        [imagesOf(12, () => draw(-1000, 1000) / 1000), imagesOf(12, () => 1)],
        [imagesOf(12, () => 0), imagesOf(12, () => draw(-1000, 1000) / 1000)]
      ]
      const tolerance = device === 'reference' ? { tensors: 1e-12, losses: 1e-12 } : { tensors: 1e-4, losses: 1e-5 }
      assert.equal(await assertTrainsAsAlone(execution, objective, rowsOf(count), updates, tolerance), ['maxima of 2'])
    })

test('ranks that share images or rows add to the gradient of what all of them have, through a normalisation', async () => {
  const draw = drawsOf(4)
  const updates = [[imagesOf(12, () => draw(-1000, 1000) / 1000)], [imagesOf(12, () => draw(-1000, 1000) / 1000)]]
  const ofVectors = [...convolved, globalMaxPool, batchNorm(), linear({ out: 3 }), softmaxCrossEntropy]
  const ofImages = [...convolved, batchNorm(), globalAvgPool, linear({ out: 3 }), softmaxCrossEntropy]
  const onAll: Segment = { ...inRows(0, 2), shards: { B: 1, H: 1 } }
  for (const [layers, segments, images] of [
    [ofVectors, [inRows(0, 3), inRows(3, 6)], 2],
    [ofImages, [onAll, inRows(2, 4), inRows(4, 6)], 2],
    [ofImages, [onAll, inRows(2, 4), inRows(4, 6)], 1]
  ] as const)
    await assertTrainsAsAlone(
      { ...pooling(layers, [2, 2, 12, 6]), segments },
      { kind: 'train', optimizer: optimizers[1]! },
      { count: 2, images },
      updates,
      { tensors: 1e-12, losses: 1e-12 }
    )
})

for (const pool of [globalAvgPool, globalMaxPool])
  test(`ranks that share rows train in bf16 as one process does: ${pool.op}`, async () => {
    const layers = [...convolved, conv2d({ out: 4, k: 3, p: 1 }), pool, linear({ out: 3 }), softmaxCrossEntropy]
    const precise = { ...pooling(layers, [2, 2, 12, 6]), precision: 'bf16' as const }
    const draw = drawsOf(3)
    const updates = [[imagesOf(12, () => draw(-1000, 1000) / 1000)], [imagesOf(12, () => draw(-1000, 1000) / 1000)]]
    for (const device of devices) {
      const execution = { ...precise, device, segments: [inRows(0, 2), inRows(2, 4), inRows(4, 6)] }
      await assertTrainsAsAlone(execution, { kind: 'train', optimizer: optimizers[1]! }, rowsOf(3), updates, {
        tensors: 2 ** -8,
        losses: 2 ** -8
      })
    }
  })

test('a sum over shared rows is exchanged in float32 in bf16, and rounded once', async () => {
  const layers = [conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 3 }), softmaxCrossEntropy]
  const execution = { ...pooling(layers, [2, 2, 12, 6]), precision: 'bf16' as const, segments: [inRows(0, 2), inRows(2, 4)] }
  const [{ program }] = stageShards(execution, { kind: 'train', optimizer: optimizers[0]! }, 2) as readonly [Staged]
  const sent = program.step.code.flatMap((one) => (one.kind === 'allToAll' && one.sendStride === 0 ? [one.bytes] : []))
  assert.equal(sent, [2 * 4 * 4])
})

// The second's convolutions have rows for both ranks, but not in one segment.
for (const [layers, ranks, rows] of [
  [[conv2d({ out: 4, k: 1, p: 4 }), batchNorm()], 4, 8],
  [[conv2d({ out: 4, k: 1, p: [0, 1, 0, 0] }), conv2d({ out: 4, k: 1, p: [0, 2, 0, 0] }), batchNorm()], 2, 3]
] as const)
  test(`what some of ${ranks} ranks would see nothing but padding of is planned otherwise by strategies`, async () => {
    const execution = pooling([...layers, relu, globalAvgPool, linear({ out: 3 }), softmaxCrossEntropy], [2, 2, rows, 6])
    const objective: Training = { kind: 'train', optimizer: optimizers[1]! }
    const draw = drawsOf(6)
    const updates = [[imagesOf(rows, () => draw(-1000, 1000) / 1000)], [imagesOf(rows, () => draw(-1000, 1000) / 1000)]]
    const alone = await runSections(
      execution,
      objective,
      updates.flatMap((each) => update(0.1, ...each))
    )
    for (const strategy of ['plain', 'greedy', 'sft', 'vdnn', 'auto'] as const)
      await assertTrainAlike(execution, stageWithin(execution, objective, { microBatches: 1, rows: ranks }, 1, strategy)!, updates, alone)
  })

test.run()
