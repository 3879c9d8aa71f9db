/** Losses of random formulas at the end of random networks: in tiles, and by finite differences. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { buildGraph, referenceModel, stage, verify } from '../../staging'
import { onFastDevices } from '../devices'
import { gradients, type Execution } from '../golden/execute'
import { must } from '../must'
import { propertyRuns } from '../property-runs'
import { randomTarget, withRandomLoss } from '../staging/random-losses'
import { type Draw, type RandomNet, drawsOf, netKind, randomNet } from '../staging/random-nets'
import { randomSegments } from '../staging/random-segments'
import { type RandomExecution, assertClose, executionOf, norm } from './random-execution'

const withLoss = (draw: Draw, net: RandomNet): RandomExecution => executionOf(draw, withRandomLoss(draw, net), randomTarget)

/** Of gradients, beside values and weights of order one. */
const vanishing = 1e-5

const seeds = fc.nat({ max: 2 ** 31 - 1 })

test('random losses of random nets: tiles give the loss and gradients of the untiled step', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const draw = drawsOf(seed)
      const { graph, draw: _, ...execution } = withLoss(draw, randomNet(draw, netKind(seed)))
      seen.add(graph.nodes.at(-1)!.op)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      assertClose(await gradients({ ...execution, segments: randomSegments(draw, graph) }), plain, 1e-12)
      assertClose(await gradients(execution), plain, 1e-12)
    }),
    propertyRuns(150)
  )
  assert.equal([...seen].sort(), ['classLoss', 'overlapLoss', 'pixelLoss', 'valueLoss'])
})

onFastDevices(test, 'random losses of random nets: it computes what the reference device does, up to float32 rounding', async (device) => {
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const draw = drawsOf(seed)
      const { graph, draw: _, ...execution } = withLoss(draw, randomNet(draw, netKind(seed)))
      const exact = await gradients({ ...execution, strategy: 'plain' })
      // What is normalised over a single value has a gradient that float32 rounds to nothing.
      fc.pre([...exact.tensors].some(([name, tensor]) => name.startsWith('grad.') && norm(tensor) > vanishing))
      assertClose(await gradients({ ...execution, device, segments: randomSegments(draw, graph) }), exact, 1e-4, 1e-5)
    }),
    propertyRuns(150)
  )
})

/** Scores that change smoothly with the image: of each image, or of each of its pixels. */
const smoothNet = (draw: Draw): RandomNet => {
  const scores = [dsl.conv2d({ out: draw(1, 4), k: 3, p: 1 }), dsl.tanh]
  const head = draw(0, 1) === 0 ? [] : [dsl.globalAvgPool, dsl.linear({ out: draw(1, 4) })]
  const input = [draw(1, 3), 2, draw(3, 6), draw(3, 6)] as const
  return { model: { name: 'smooth', layers: [...scores, ...head, dsl.meanSquaredError] }, input }
}

/** So far in float64 that neither rounding nor curvature is seen. */
const step = 1e-5

test('random losses: the gradient of the image is the change of the loss along it', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const draw = drawsOf(seed)
      const { graph: _, draw: __, ...execution } = withLoss(draw, smoothNet(draw))
      const { input } = execution.batch
      const direction = Float64Array.from(input, () => draw(-1000, 1000) / 1000)
      const lossAt = async (distance: number): Promise<number> => {
        const moved = Float64Array.from(input, (value, index) => value + distance * direction[index]!)
        return (await gradients({ ...execution, strategy: 'plain', batch: { ...execution.batch, input: moved } } satisfies Execution)).loss
      }
      const gradient = (await gradients({ ...execution, strategy: 'plain' })).tensors.get('grad.input')!
      const along = direction.reduce((sum, value, index) => sum + value * gradient[index]!, 0)
      const change = ((await lossAt(step)) - (await lossAt(-step))) / (2 * step)
      assert.ok(Math.abs(along - change) <= 1e-6 * Math.max(1, Math.abs(change)), `${along} along the gradient, ${change} of the loss`)
    }),
    propertyRuns(150)
  )
})

test('a net that ends in any loss is evaluated with a target and without one', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const draw = drawsOf(seed)
      const { model, input } = withRandomLoss(draw, randomNet(draw, netKind(seed)))
      const request = { model, input, device: referenceModel('float32'), source: { kind: 'float' }, strategy: 'plain' } as const
      for (const objective of [{ kind: 'evaluate' }, { kind: 'evaluate', compares: true }] as const)
        must(verify(must(stage({ ...request, objective })).program))
    }),
    propertyRuns(300)
  )
})

test('a net with a random loss is one that can be planned', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const draw = drawsOf(seed)
      const { model, input } = withRandomLoss(draw, randomNet(draw, netKind(seed)))
      assert.is(must(buildGraph(model, input)).nodes.at(-1)!.op, model.layers.at(-1)!.op)
    }),
    propertyRuns(300)
  )
})

test.run()
