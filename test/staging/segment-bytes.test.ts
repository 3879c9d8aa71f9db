import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { buildGraph, referenceModel, type DeviceModel, type Objective, type Segment } from '../../staging'
import type { Source } from '../../staging/graph/step-graph'
import { tileCount } from '../../staging/graph/span'
import { segmentTiling } from '../../staging/graph/tiling'
import { largestTile, segmentEstimator } from '../../staging/lowering/cost/estimate'
import { emitSegment } from '../../staging/lowering/cost/emit-segment'
import { createBuilder, createPool } from '../../staging/lowering/ir/builder'
import { zeroBuffer } from '../../staging/lowering/scope/copies'
import { createModelScope } from '../../staging/lowering/segment/create-scope'
import { endsOnHost } from '../../staging/plans/host-tensors'
import { createStepGraph } from '../../staging/ops/build-graph'
import { computeLifetimes } from '../../staging/placement/lifetimes'
import { maxLive } from '../../staging/placement/placement'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { drawsOf, netKind, randomNet } from './random-nets'
import { randomSegments, withLoading, withRematerialization, withStreams } from './random-segments'

/** Backward reads weights in a layout of its own, and kernels take scratch or are refused. */
const device: DeviceModel = {
  ...referenceModel('float32'),
  weightLayouts: () => ({ stored: 'plain', forward: 'plain', backwardData: 'ohwi' }),
  winograd: ({ kernel, stride, groups }) => kernel[0] * kernel[1] === 9 && stride[0] * stride[1] === 1 && groups === 1,
  scratchBytes: (kernel) => ('outChannels' in kernel ? (kernel.outChannels % 5 === 0 ? undefined : 100 * kernel.outChannels) : 0)
}

const objectives: readonly Objective[] = [
  { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, accumulate: 2, groups: [{ prefix: '0', frozen: true }] },
  { kind: 'gradients' }
]
const image: Source = { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }

test('the bytes of a segment are those that live at once in the code of its largest tile, or of its bands', () => {
  let [tiled, banded, refused] = [0, 0, 0]
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), fc.constantFrom(...objectives), (seed, objective) => {
      const draw = drawsOf(seed)
      const { model, input } = randomNet(draw, netKind(seed))
      const graph = createStepGraph(must(buildGraph(model, input)), objective, image)
      const estimate = segmentEstimator(graph, device)
      const streams = draw(0, 1) === 1
      const drawn = streams
        ? withStreams(draw, graph, randomSegments(draw, graph, ['H']))
        : withRematerialization(draw, graph, randomSegments(draw, graph))
      const streamed = new Set(drawn.flatMap(({ hostTensors = [] }) => hostTensors.map((position) => position + 1)))
      for (const segment of withLoading(draw, graph, drawn)) {
        const pool = createPool()
        const scope = createModelScope(graph, device, pool)
        const builder = createBuilder(pool)
        const tiling = segmentTiling(graph, segment, segment.grid)!
        const inBands = endsOnHost(graph, segment, streamed).length > 0
        const count = (code: ReturnType<typeof builder.code>): number =>
          code.reduce((sum, one) => sum + (one.kind === 'loop' ? count(one.body) : 1), 0)
        let turn = 0
        emitSegment({ ...scope, builder }, segment, inBands ? tiling : largestTile(tiling), streamed, {
          onForwardDone: () => {
            turn = count(builder.code())
          },
          ...(!streams && { finish: (_, gradient) => zeroBuffer(builder, gradient) })
        })
        const local = computeLifetimes(builder.code(), []).filter(({ buffer: { role } }) => role === 'local' || role === 'unwanted')
        const across = local.filter(({ from, to }) => from < turn && to > turn)
        const bytes = estimate(segment, streams ? streamed : undefined)!.bytes()
        const text = JSON.stringify(segment satisfies Segment)
        assert.is(bytes.forwardBytes, maxLive(local.filter(({ from }) => from < turn)).bytes, text)
        assert.is(bytes.backwardBytes, maxLive(local.filter(({ to }) => to > turn)).bytes, text)
        assert.is(
          bytes.keptBytes,
          across.reduce((sum, one) => sum + one.bytes, 0),
          text
        )
        assert.is(
          bytes.refusedKernel !== undefined,
          local.some(({ buffer }) => buffer.identity.kind === 'refused-scratch'),
          text
        )
        tiled += Number(tileCount(segment.grid) > 1 && !inBands)
        banded += Number(inBands)
        refused += Number(bytes.refusedKernel !== undefined)
      }
    }),
    propertyRuns(80, 80)
  )
  assert.ok(Math.min(tiled, banded, refused) > 20, `${tiled} tiled, ${banded} in bands, ${refused} refused are few`)
})

test.run()
