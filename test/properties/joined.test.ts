/** Channels that are joined where they lie, on devices that have them in blocks. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as dsl from '../../dsl'
import type { Node } from '../../staging'
import { onFastDevices } from '../devices'
import { propertyRuns } from '../property-runs'
import { drawsOf, type Draw } from '../staging/random-nets'
import { assertAsReference, executionOf } from './random-execution'

const convolution = (draw: Draw) => dsl.conv2d({ out: 16 * draw(1, 2), k: 3, p: 1 })

const branch = (draw: Draw): dsl.Layers => [
  ...(draw(0, 2) === 0 ? [dsl.maxPool2d({ k: 3, s: 1, p: 1 })] : []),
  ...(draw(0, 2) === 0 ? [dsl.batchNorm({ eps: 0.01 }), dsl.relu] : []),
  convolution(draw),
  ...(draw(0, 1) === 0 ? [[dsl.relu, dsl.silu, dsl.dropout({ rate: 0.3 })][draw(0, 2)]!] : [])
]

const joining = (draw: Draw): dsl.AnyLayer => {
  switch (draw(0, 3)) {
    case 0:
      return dsl.parallel([branch(draw), branch(draw), ...(draw(0, 1) === 0 ? [[]] : [])])
    case 1:
      return dsl.parallel([[], [dsl.denseBlock(branch(draw)), dsl.leakyRelu({ slope: 0.1 })]])
    default:
      return dsl.denseBlock(branch(draw))
  }
}

const joinedNet = (draw: Draw) => {
  const layers = [convolution(draw), ...Array.from({ length: draw(1, 4) }, () => joining(draw)), ...(draw(0, 1) === 0 ? [dsl.relu] : [])]
  const head = [dsl.globalAvgPool, dsl.linear({ out: 2 }), dsl.meanSquaredError]
  return { model: { name: 'joined', layers: [...layers, ...head] }, input: [draw(0, 4) === 0 ? 2 : 1, 3, draw(3, 9), draw(3, 9)] as const }
}

const drawTarget = (draw: Draw, { input: [rows, values] }: Node) => Array.from({ length: rows * values }, () => draw(-9, 9) / 10)

onFastDevices(test, 'nets that join their channels compute in any segments what the reference device does', async (device) => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), (seed) => {
      const draw = drawsOf(seed)
      return assertAsReference(executionOf(draw, joinedNet(draw), drawTarget, seed), device)
    }),
    propertyRuns(100)
  )
})

test.run()
