import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { builtIn } from '../../models'
import { buildGraph, fusibleTileAxes, referenceModel, type Graph, type Objective } from '../../staging'
import { createStepGraph } from '../../staging/ops/build-graph'
import type { Source } from '../../staging/graph/step-graph'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import { createModelScope } from '../../staging/lowering/segment/create-scope'
import { createPool } from '../../staging/lowering/ir/builder'
import { structuralIds } from '../../staging/lowering/cost/structural-hash'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { drawsOf } from './random-nets'

const training: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }
const objectives: readonly Objective[] = [
  training,
  { ...training, groups: [{ prefix: 'layer2.1', frozen: true }] },
  { ...training, accumulate: 2 },
  { kind: 'gradients' }
]
const image: Source = { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }

const graphOf = (name: string): Graph => must(buildGraph(builtIn[name]!({ classes: 2, head: 'gap' }), [2, 3, 64, 64]))
const graphs = ['resnet34', 'resnet50', 'densenet121', 'deeplabv3_resnet50'].map(graphOf)

test('segments that are alike are estimated as each would be by itself', () => {
  let shared = 0
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), fc.constantFrom(...graphs), fc.constantFrom(...objectives), (seed, written, objective) => {
      const draw = drawsOf(seed)
      const graph = createStepGraph(written, objective, image)
      const device = referenceModel('float32')
      const structuralId = structuralIds(createModelScope(graph, device, createPool()))
      const estimate = segmentEstimator(graph, device)
      const length = draw(1, 14)
      const spans = Array.from({ length: graph.nodes.length - length + 1 }, (_, from) => ({ from, to: from + length }))
      const first = draw(0, spans.length - 1)
      const alike = spans.filter((span) => span.from > first && structuralId(span) === structuralId(spans[first]!)).at(-1)
      if (alike === undefined) return
      shared += 1
      const images = fusibleTileAxes(graph, alike).includes('B') ? draw(1, 2) : 1
      const decisions = { grid: { B: images, H: 1, W: 1 }, recompute: draw(0, 1) === 1, reorder: 'once' } as const
      const figures = (segment: ReturnType<typeof estimate>) => segment && [segment.nanoseconds(), segment.bytes()]
      figures(estimate({ ...spans[first]!, ...decisions }))
      assert.equal(figures(estimate({ ...alike, ...decisions })), figures(segmentEstimator(graph, device)({ ...alike, ...decisions })))
    }),
    propertyRuns(150, 75)
  )
  assert.ok(shared > 20, `${shared} pairs are few`)
})

test.run()
