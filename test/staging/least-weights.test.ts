import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { buildGraph, type Objective } from '../../staging'
import { tileCount } from '../../staging/graph/span'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import { createPool } from '../../staging/lowering/ir/builder'
import { createModelScope } from '../../staging/lowering/segment/create-scope'
import { normalisedOnLoad } from '../../staging/lowering/tile/normalise-on-load'
import { transformablePositions } from '../../staging/lowering/segment/winograd'
import { createStepGraph } from '../../staging/ops/build-graph'
import { sourceOrder } from '../../staging/graph/order'
import { lower } from '../../staging/lowering'
import { largestLayerBytes, readBytesEstimator } from '../../staging/strategies/least-bytes'
import { wholeGraph } from '../../staging/strategies/plain'
import { leastWeights } from '../../staging/strategies/sft/least-weights'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { drawsOf, netKind, randomNet } from './random-nets'
import { randomSegments } from './random-segments'
import { searchIn } from './search-in'
import { objectives, winogradDevice } from './training-cases'

test('backward of no segment does with less than its weights, their gradients, and what it reads', () => {
  let [whole, tiled, tight] = [0, 0, 0]
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 - 1 }),
      fc.constantFrom(...objectives),
      fc.constantFrom('float32', 'bf16'),
      (seed, objective, precision) => {
        const draw = drawsOf(seed)
        const { model, input } = randomNet(draw, netKind(seed))
        const graph = createStepGraph(must(buildGraph(model, input)), objective, { kind: 'float' })
        const scope = createModelScope(graph, winogradDevice(precision), createPool())
        const estimate = segmentEstimator(graph, winogradDevice(precision))
        const [weightsOf, readsOf] = [leastWeights(scope), readBytesEstimator(scope)]
        for (const segment of randomSegments(draw, graph)) {
          const winograd = transformablePositions(scope).filter(
            (position) => segment.from <= position && position < segment.to && draw(0, 1) === 1
          )
          const slicedWinograd = winograd.filter(() => draw(0, 1) === 1)
          // Backward reads least where all is normalised on load that can be.
          const normaliseOnLoad = [...normalisedOnLoad(scope, segment, [...graph.nodes.keys()]).keys()]
          const { backwardBytes } = estimate({ ...segment, winograd, slicedWinograd, normaliseOnLoad })!.bytes()
          const least = weightsOf(segment, { winograd, slicedWinograd })
          const isWhole = tileCount(segment.grid) === 1
          // What is read after the segment too lies at its end, which its bytes leave out.
          const bytes = isWhole ? Math.max(least.whole, readsOf(segment).own) : segment.reorder === 'once' ? least.shared : least.tiled
          assert.ok(bytes <= backwardBytes, `${bytes}, but ${backwardBytes}: ${JSON.stringify({ ...segment, winograd })}`)
          whole += Number(isWhole)
          tiled += Number(!isWhole)
          tight += Number(bytes > 0.5 * backwardBytes)
        }
      }
    ),
    propertyRuns(200)
  )
  assert.ok(Math.min(whole, tiled, tight) > 20, `${whole} whole, ${tiled} tiled, ${tight} of which it is more than half, are few`)
})

test('many channels of a few pixels: no step, by Winograd or not, does with less than its largest layer is said to need', () => {
  const conv = dsl.conv2d({ out: 33, k: 3, p: 1 })
  const model: dsl.Model = { name: 'deep', layers: [conv, conv, conv, dsl.globalAvgPool, dsl.meanSquaredError] }
  /** A gradient passes through layers that do not learn, and so have none of their own. */
  const frozen: Objective = {
    kind: 'train',
    optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 },
    groups: ['1', '2'].map((prefix) => ({ prefix, frozen: true }))
  }
  for (const objective of [...objectives, frozen]) {
    const written = createStepGraph(must(buildGraph(model, [1, 3, 2, 2])), objective, { kind: 'float' })
    const device = winogradDevice('float32')
    const { order, graph, persistentBytes } = searchIn(written, device, sourceOrder(written))
    const winograd = [1, 2]
    const bytes = [{}, { winograd }, { winograd, slicedWinograd: winograd }].map((decided) => {
      const segments = wholeGraph(graph).map((segment) => ({ ...segment, ...decided }))
      return lower(written, { order, segments }, device).liveBytes()
    })
    const layerBytes = persistentBytes + largestLayerBytes(graph, device)
    assert.ok(layerBytes <= Math.min(...bytes), `${layerBytes}, but ${bytes.join(', ')}`)
  }
})

test.run()
