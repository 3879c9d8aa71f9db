import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, leakyRelu, maxPool2d, meanSquaredError, relu, sigmoid, type AnyLayer } from '../../dsl'
import { buildGraph, type Segment } from '../../staging'
import type { Source } from '../../staging/graph/step-graph'
import { tileCount } from '../../staging/graph/span'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import { segmentTimer } from '../../staging/lowering/cost/segment-times'
import { createModelScope } from '../../staging/lowering/segment/create-scope'
import { transformablePositions } from '../../staging/lowering/segment/winograd'
import { createPool } from '../../staging/lowering/ir/builder'
import { createStepGraph } from '../../staging/ops/build-graph'
import { must } from '../must'
import { propertyRuns } from '../property-runs'
import { drawsOf, netKind, randomNet, type Draw } from './random-nets'
import { randomSegments, withRematerialization } from './random-segments'
import { objectives, winogradDevice } from './training-cases'

const image: Source = { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }

const convolutions = (draw: Draw): readonly AnyLayer[] => [
  ...Array.from({ length: draw(2, 4) }, (): readonly AnyLayer[] => [
    conv2d({ out: draw(0, 3) === 0 ? draw(60, 150) : draw(1, 20), k: 3, p: draw(0, 1) }),
    draw(0, 2) === 0 ? maxPool2d({ k: 2, s: 2 }) : leakyRelu({ slope: 0.5 })
  ]).flat(),
  globalAvgPool,
  meanSquaredError
]

const someOf = <A>(draw: Draw, all: readonly A[]): readonly A[] => all.filter(() => draw(0, 1) === 1)

test('a segment that is timed by its tiles takes what all of its launches take', () => {
  let [tiled, byWinograd, sliced, loading] = [0, 0, 0, 0]
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 - 1 }),
      fc.constantFrom(...objectives),
      fc.constantFrom('float32', 'bf16'),
      (seed, objective, precision) => {
        const draw = drawsOf(seed)
        const { model, input } =
          draw(0, 1) === 1
            ? randomNet(draw, netKind(seed))
            : { model: { name: 'convolutions', layers: convolutions(draw) }, input: [draw(1, 3), 3, draw(46, 76), draw(46, 76)] }
        const graph = createStepGraph(must(buildGraph(model, input)), objective, image)
        const model32 = winogradDevice(precision)
        const [estimate, timer] = [segmentEstimator(graph, model32), segmentTimer(graph, model32)]
        const positions = transformablePositions(createModelScope(graph, model32, createPool()))
        for (const segment of withRematerialization(draw, graph, randomSegments(draw, graph)))
          for (const reorder of ['once', 'each-tile'] as const) {
            const winograd = someOf(
              draw,
              positions.filter((position) => segment.from <= position && position < segment.to)
            )
            const slicedWinograd = someOf(draw, winograd)
            const decided: Segment = {
              ...{ ...segment, reorder },
              ...(winograd.length > 0 && { winograd }),
              ...(slicedWinograd.length > 0 && { slicedWinograd })
            }
            assert.is(estimate(decided)!.nanoseconds(), timer(decided).nanoseconds(), JSON.stringify(decided))
            if (tileCount(decided.grid) === 1) continue
            tiled += 1
            byWinograd += Number(winograd.length > 0)
            sliced += Number(slicedWinograd.length > 0)
            loading += Number(decided.prefetch === true)
          }
      }
    ),
    propertyRuns(60, 60)
  )
  assert.ok(
    Math.min(tiled, byWinograd, sliced, loading) > 20,
    `${tiled} tiled, ${byWinograd} by Winograd, ${sliced} in slices, ${loading} that load are few`
  )
})

test('segments that end alike, wherever they begin and end, take what all of their launches take', () => {
  const alike = [conv2d({ out: 8, k: 3, p: 1 }), conv2d({ out: 8, k: 3, p: 1 }), relu, leakyRelu({ slope: 0.5 }), sigmoid]
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), (seed) => {
      const draw = drawsOf(seed)
      const layers = [conv2d({ out: 8, k: 3, p: 1 }), ...Array.from({ length: 7 }, () => alike[draw(0, 4)]!)]
      const graph = createStepGraph(
        must(buildGraph({ name: 'alike', layers: [...layers, meanSquaredError] }, [1, 3, 60, 60])),
        objectives[0]!,
        image
      )
      const device = winogradDevice('float32')
      const [estimate, timer] = [segmentEstimator(graph, device), segmentTimer(graph, device)]
      const grid = { B: 1, H: draw(1, 4), W: draw(2, 4) }
      for (let to = 1; to <= layers.length; to++)
        for (let from = 0; from < to; from++) {
          const segment: Segment = { from, to, grid, recompute: true, reorder: draw(0, 1) === 1 ? 'once' : 'each-tile' }
          assert.is(estimate(segment)!.nanoseconds(), timer(segment).nanoseconds(), JSON.stringify(segment))
        }
    }),
    propertyRuns(40, 40)
  )
})

test('what a rectifier in place leaves in whole images is copied by none of their tiles', () => {
  const layers = [conv2d({ out: 15, k: 3 }), leakyRelu({ slope: 0.5 }), conv2d({ out: 4, k: 3 }), globalAvgPool, meanSquaredError]
  const graph = createStepGraph(must(buildGraph({ name: 'in place', layers }, [2, 3, 49, 58])), objectives[0]!, image)
  const device = winogradDevice('float32')
  const segment: Segment = { from: 0, to: 2, grid: { B: 2, H: 1, W: 1 }, recompute: true, reorder: 'once' }
  assert.is(segmentEstimator(graph, device)(segment)!.nanoseconds(), segmentTimer(graph, device)(segment).nanoseconds())
})

test.run()
