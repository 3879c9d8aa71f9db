import fc from 'fast-check'
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, convTranspose2d, globalAvgPool, maxPool2d, meanSquaredError, relu, type AnyLayer } from '../../dsl'
import { buildGraph, fusibleTileAxes, type Graph } from '../../staging'
import { effectiveTileCount, unionInterval, type Interval } from '../../staging/graph/interval'
import { inputInterval, readInterval } from '../../staging/graph/axis-access'
import type { Span } from '../../staging/graph/span'
import { boundaryTensors } from '../../staging/graph/boundary-tensors'
import { ownedExtent } from '../../staging/graph/grid'
import { tileRuns } from '../../staging/graph/tiling'
import { propertyRuns } from '../property-runs'
import { drawsOf, netKind, randomNet, type Draw } from './random-nets'

/** Windows of all kinds over many rows, so that most tiles are alike. */
const windows = (draw: Draw): readonly AnyLayer[] => [
  ...Array.from({ length: draw(1, 5) }, (): AnyLayer => {
    const k = draw(1, 4)
    switch (draw(0, 3)) {
      case 0:
        return maxPool2d({ k: 2, s: draw(1, 3) })
      case 1:
        return convTranspose2d({ out: 2, k, s: draw(1, 3) })
      case 2:
        return relu
      default:
        return conv2d({ out: 2, k, s: draw(1, 2), p: draw(0, k - 1), d: draw(1, 2) })
    }
  }),
  globalAvgPool,
  meanSquaredError
]

/** What is held of each tensor by a tile that owns these rows of a span's only output. */
const heldBy = (graph: Graph, { from, to }: Span, owned: Interval): ReadonlyMap<number, Interval> => {
  const held = new Map([[to, owned]])
  for (let position = to - 1; position >= from; position--) {
    const node = graph.nodes[position]!
    const output = held.get(position + 1) ?? { from: 0, to: node.output[2] }
    held.set(position + 1, output)
    const reading = inputInterval(node.access.H, output, node.input[2])
    const all = node.broadcast ? { ...reading, broadcast: node.inputs[1]! } : reading
    for (const tensor of node.inputs) {
      const [before, read] = [held.get(tensor), readInterval(all, tensor)]
      held.set(tensor, before === undefined ? read : unionInterval(before, read))
    }
  }
  return held
}

test('each tile of a run holds what it would by itself', () => {
  let long = 0
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), (seed) => {
      const draw = drawsOf(seed)
      const { model, input } =
        draw(0, 3) > 0
          ? { model: { name: 'windows', layers: windows(draw) }, input: [1, 2, draw(60, 400), 40] }
          : randomNet(draw, netKind(seed))
      const built = buildGraph(model, input)
      if (isLeft(built)) return
      const graph = built.right
      const from = draw(0, graph.nodes.length - 1)
      const span = { from, to: draw(from + 1, graph.nodes.length) }
      const last = graph.nodes[span.to - 1]!
      const isAlone = boundaryTensors(graph, span).outputs.every((tensor) => tensor === span.to)
      if (!isAlone || last.access.H.kind === 'reduce' || !fusibleTileAxes(graph, span).includes('H')) return
      if (graph.nodes.slice(span.from, span.to).some(({ statistics }) => statistics !== undefined)) return
      const extent = ownedExtent(last, 'H')
      const tiles = draw(1, extent)
      const runs = tileRuns(graph, span, 'H', tiles)
      if (runs === undefined) return
      const made = effectiveTileCount(extent, tiles)
      assert.is(
        runs.reduce((sum, { count }) => sum + count, 0),
        made
      )
      const size = Math.ceil(extent / made)
      let index = 0
      for (const { count, held, advances } of runs) {
        long += Number(count > 8)
        for (let place = 0; place < count; place++, index++) {
          const alone = heldBy(graph, span, { from: index * size, to: Math.min(extent, (index + 1) * size) })
          for (const [tensor, interval] of alone) {
            const moved = place * advances.get(tensor)!
            const { from: begin, to: end } = held.get(tensor)!
            assert.equal({ from: begin + moved, to: end + moved }, interval, `tensor ${tensor} of tile ${index} of ${made}`)
          }
        }
      }
    }),
    propertyRuns(600)
  )
  assert.ok(long > 20, `${long} long runs are few`)
})

test.run()
