/** Whole networks that score pixels, on ranks that share rows: as one process trains them. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Layers, pixelCrossEntropy } from '../../dsl'
import { builtIn } from '../../models'
import { initialise } from '../../src/weights/initialise'
import { buildGraph, type Training } from '../../staging'
import { findShard } from '../../staging/graph/shard'
import type { Execution } from '../golden/execute'
import { must } from '../must'
import { narrow } from '../properties/narrow'
import { drawsOf } from '../staging/random-nets'
import { runSections, update, type Batch } from './execute'
import { assertTrainAlike } from './train-alike'
import { stageWithin } from './within-budget'

const classes = 3

/** A built-in network with a share of its channels, its initial weights, and the loss of pixels. */
const executionOf = (name: string, divisor: number, input: readonly [number, number, number, number]): Execution => {
  // The last convolution, of the classes, is made narrow too.
  const { layers } = narrow(builtIn[name]!({ classes: divisor * classes }), divisor)
  const model = { name, layers: [...(layers as Layers), pixelCrossEntropy()] }
  const weights = new Map(
    must(buildGraph(model, input)).parameters.map(({ name: parameter, shape }) => {
      const values = new Float64Array(shape.reduce((product, extent) => product * extent, 1))
      initialise(1, parameter, shape, values)
      // Else rounding grows by as much in each of 50 layers that normalise, with one process too.
      if (/\.bn3\.weight$/.test(parameter)) values.fill(0.1)
      return [parameter, values] as const
    })
  )
  return { model, input, device: 'reference', threads: 1, strategy: 'plain', seed: 1, weights, batch: { input: [], target: [] } }
}

const objective: Training = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 1e-4 } }

for (const [name, divisor, input] of [
  ['unet_bn', 16, [1, 3, 96, 32]],
  ['deeplabv3_resnet50', 16, [4, 3, 96, 32]]
] as const)
  test(`${name} trains on two and three ranks that share rows as on one process`, async () => {
    const execution = executionOf(name, divisor, input)
    const [rows, , height, width] = input
    const pixels = 3 * height * width
    const draw = drawsOf(1)
    const batch = (): Batch => ({
      // Of images that are alike the pooled branch would normalise rounding.
      input: Float64Array.from({ length: rows * pixels }, (_, index) => draw(-1000, 1000) / 1000 + Math.floor(index / pixels)),
      target: Array.from({ length: rows * height * width }, () => draw(0, classes - 1))
    })
    const updates = [[batch()], [batch()]]
    const alone = await runSections(
      execution,
      objective,
      updates.flatMap((each) => update(0.1, ...each))
    )
    for (const count of [2, 3]) {
      const staged = stageWithin(execution, objective, { microBatches: 1, rows: count }, 1.1, 'plain')
      assert.ok(staged !== undefined, `${count} ranks`)
      const { plan, graph } = staged[0]!
      const onRanks = { ...graph, shard: { count, index: 0 } }
      const shared = plan.segments.filter((segment) => findShard(onRanks, segment) !== undefined)
      // DeepLabv3's pooled branch is of one row, which every rank computes.
      assert.ok(plan.segments.length - shared.length <= 1, `${shared.length} of ${plan.segments.length} segments are shared`)
      await assertTrainAlike(execution, staged, updates, alone)
    }
  })

test.run()
