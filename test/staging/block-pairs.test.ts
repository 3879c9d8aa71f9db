import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { builtIn } from '../../models'
import { buildGraph, type Objective } from '../../staging'
import { sourceOrder } from '../../staging/graph/order'
import { untiled } from '../../staging/graph/span'
import type { StepGraph } from '../../staging/graph/step-graph'
import { createStepGraph } from '../../staging/ops/build-graph'
import type { Segment } from '../../staging/plans/plan'
import { blockPairs } from '../../staging/strategies/block-pairs'
import { decidedBy } from '../../staging/strategies/decided-by'
import { must } from '../must'
import { propertyRuns } from '../property-runs'
import { drawsOf, netKind, randomNet, type Draw } from './random-nets'
import { searchIn } from './search-in'
import { objectives, winogradDevice } from './training-cases'

/**
 * Draws segments of a graph that are not tiled: of those that pairs of blocks bound, what these say
 * over what they take.
 */
const boundsOf = (draw: Draw, graph: StepGraph, precision: 'float32' | 'bf16', count: number) => {
  const search = searchIn(graph, winogradDevice(precision), sourceOrder(graph))
  const pairs = blockPairs(search)
  const ops = graph.nodes.length
  return Array.from({ length: count }).flatMap(() => {
    const from = draw(0, ops - 1)
    const to = draw(0, 3) === 0 ? ops : draw(from + 1, ops)
    const recompute = to < ops && draw(0, 1) === 1
    const variants = search.variants({ from, to })
    const decided = decidedBy(variants[draw(0, variants.length - 1)]!, { recompute, grid: untiled })
    const again: Pick<Segment, 'rematerialize'> = recompute && draw(0, 1) === 1 ? { rematerialize: true } : {}
    const segment: Segment = { ...{ from, to, recompute, grid: untiled, reorder: 'once' }, ...decided, ...again }
    const [exact, addedBytes] = [search.estimate(segment)!, pairs.addedBytes(segment)]
    const time = (pairs.nanoseconds(segment) ?? exact.nanoseconds()) / exact.nanoseconds()
    const bytes = addedBytes === 0 ? 0 : addedBytes / exact.bytes().bytesWithGradients
    assert.ok(time <= 1, `${time} of the time of ${JSON.stringify(segment)}`)
    assert.ok(bytes <= 1, `${bytes} of the bytes of ${JSON.stringify(segment)}`)
    return addedBytes === 0 ? [] : [{ time, bytes }]
  })
}

const more: readonly Objective[] = [
  { kind: 'evaluate' },
  {
    kind: 'train',
    optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 },
    groups: ['0', '1', '2', '3', '4'].map((prefix) => ({ prefix, frozen: true }))
  }
]

test('no segment takes less than its pairs of blocks tell', () => {
  let [bounded, near] = [0, 0]
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 - 1 }),
      fc.constantFrom(...objectives, ...more),
      fc.constantFrom('float32', 'bf16'),
      (seed, objective, precision) => {
        const draw = drawsOf(seed)
        const { model, input } = randomNet(draw, netKind(seed))
        const graph = createStepGraph(must(buildGraph(model, input)), objective, { kind: 'float' })
        for (const { time, bytes } of boundsOf(draw, graph, precision, 12)) {
          bounded++
          if (time > 0.99 && bytes > 0.9) near++
        }
      }
    ),
    propertyRuns(500)
  )
  assert.ok(bounded > 100 && near > 0.5 * bounded, `${bounded} bounded, ${near} of them nearly exactly`)
})

test('blocks that read the input, each for itself, read it once as one segment', () => {
  const { conv2d, globalAvgPool, linear, relu } = dsl
  const layer = conv2d({ out: 3, k: 3, p: 1 })
  const layers = [dsl.parallel([[], [layer, relu, layer, relu, layer, relu]]), layer, relu, layer, relu, globalAvgPool, linear({ out: 2 })]
  for (const source of [{ kind: 'float' }, { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }] as const) {
    const graph = createStepGraph(
      must(buildGraph(dsl.model({ name: 'beside', input: [1, 3, 16, 16], layers }), [1, 3, 16, 16])),
      objectives[0]!,
      source
    )
    boundsOf(drawsOf(1), graph, 'float32', 100)
  }
})

test('dense blocks, which go back in one place, take no fewer bytes than their pairs tell', () => {
  const { batchNorm, conv2d, denseBlock, globalAvgPool, leakyRelu, linear } = dsl
  const layer = (out: number) => conv2d({ out, k: 3, p: 1 })
  const block = denseBlock([layer(3), leakyRelu({ slope: 0.1 })])
  const layers = [layer(8), block, block, block, batchNorm(), layer(3), globalAvgPool, linear({ out: 2 })]
  const input = [1, 3, 16, 16] as const
  const graph = createStepGraph(must(buildGraph(dsl.model({ name: 'dense', input, layers }), input)), objectives[0]!, { kind: 'float' })
  const bounds = boundsOf(drawsOf(1), graph, 'float32', 300)
  assert.ok(bounds.length > 100, `${bounds.length} of 300 are bounded`)
})

for (const name of ['resnet50', 'densenet121', 'inception_v3', 'unet', 'darknet19'])
  test(`what pairs of blocks tell of ${name} is nearly exact`, () => {
    const model = builtIn[name]!({ classes: 2, head: 'gap' })
    const graph = createStepGraph(must(buildGraph(model, [1, 3, 128, 128])), objectives[0]!, { kind: 'float' })
    const bounds = boundsOf(drawsOf(1), graph, 'float32', 60)
    assert.ok(bounds.length > 10, `${bounds.length} of 60 are bounded`)
    const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
    const [time, bytes] = [average(bounds.map((one) => one.time)), average(bounds.map((one) => one.bytes))]
    assert.ok(time > 0.99 && bytes > 0.8, `${time} of the time, ${bytes} of the bytes`)
  })

test.run()
