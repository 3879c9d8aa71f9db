import { isRight } from 'fp-ts/Either'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { deviceModel } from '../../native'
import { buildGraph, verify, type Graph, type Segment, type Staged } from '../../staging'
import { testsDevice } from '../devices'
import { gradients, type Execution, type Gradients } from '../golden/execute'
import { drawsOf, type Draw } from '../staging/random-nets'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { norm } from './random-execution'
import { assertPeakTouched } from './touched-peak'

/** A normalisation of whichever kind, perhaps a rectifier, and a convolution of single pixels. */
const normalised = (draw: Draw): readonly dsl.AnyLayer[] => {
  const norms = [
    dsl.batchNorm(),
    dsl.groupNorm({ groups: 4 }),
    dsl.instanceNorm(),
    dsl.batchNorm({ affine: false }),
    dsl.batchNorm({ frozen: true })
  ]
  const rectifiers = [[], [dsl.relu], [dsl.leakyRelu({ slope: 0.25 })]]
  return [
    norms[draw(0, norms.length - 1)]!,
    ...rectifiers[draw(0, 2)]!,
    dsl.conv2d({ out: 4 * draw(1, 9), k: 1, bias: draw(0, 1) === 1 }),
    ...(draw(0, 1) === 1 ? [dsl.relu] : [])
  ]
}

/** Positions of the convolutions of single pixels that read what a segment normalises. */
const onLoad = ({ nodes }: Graph, segment: Segment): Segment => {
  const positions = nodes.flatMap(({ op, inputs, args }, position) => {
    if (op !== 'conv2d' || args.k !== 1) return []
    const before = inputs[0]! - 1
    const normalisation = nodes[before]!.statistics === undefined ? nodes[before]!.inputs[0]! - 1 : before
    return segment.from <= normalisation && position < segment.to ? [position] : []
  })
  return positions.length === 0 ? segment : { ...segment, normaliseOnLoad: positions }
}

const without = ({ normaliseOnLoad: _, ...segment }: Segment): Segment => segment

const randomExecution = (seed: number) => {
  const draw = drawsOf(seed)
  const input = [draw(1, 2), 3, draw(4, 40), draw(4, 40)] as const
  const layers = [
    dsl.conv2d({ out: 4 * draw(2, 10), k: 3, p: 1 }),
    ...Array.from({ length: draw(1, 3) }, () => normalised(draw)).flat(),
    dsl.globalAvgPool,
    dsl.meanSquaredError
  ]
  const model: dsl.Model = { name: 'normalised', layers }
  const graph = must(buildGraph(model, input))
  const values = (shape: readonly number[]): Float64Array =>
    Float64Array.from({ length: shape.reduce((all, extent) => all * extent, 1) }, () => draw(-1000, 1000) / 1000)
  const weights = new Map(
    graph.parameters.map(({ name, role, shape }) => [
      name,
      values(shape).map((value) => (role === 'runningVariance' ? 1 + value / 2 : value))
    ])
  )
  const batch = { input: values(input), target: values(graph.nodes[graph.nodes.length - 1]!.input) }
  const execution: Execution = { model, input, device: 'reference', weights, batch, seed }
  const whole: Segment = { from: 0, to: graph.nodes.length, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  return { execution, plans: [[whole], randomSegments(draw, graph)].map((plan) => plan.map((segment) => onLoad(graph, segment))) }
}

const kindsIn = ({ program }: Staged): readonly string[] => program.kernels.map(({ kind }) => kind)
const isUsed = (staged: Staged): boolean => kindsIn(staged).includes('normalisedConvolutionForward')

/** Whether the cpu device has products of this precision by oneDNN on this processor. */
const multiplies = (precision: 'float32' | 'bf16'): boolean => {
  const shape = { inChannels: 32, outChannels: 32, groups: 1, kernel: [1, 1], stride: [1, 1], dilation: [1, 1] } as const
  const device = must(deviceModel('cpu', precision, 1))
  const padding = { top: 0, bottom: 0, left: 0, right: 0 }
  return device.normaliseOnLoad({ ...shape, padding, sourceLayout: device.activationLayout(32, false) })
}

const seeds = fc.nat({ max: 2 ** 31 - 1 })

test('reference: random nets, segments and tiles have the bits of what is stored, in no more memory, accepted by the verifier', async () => {
  let used = 0
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const { execution, plans } = randomExecution(seed)
      for (const segments of plans) {
        const stored = await gradients({ ...execution, segments: segments.map(without) })
        const found = await gradients({ ...execution, segments })
        const verified = verify(found.staged.program)
        assert.ok(isRight(verified), JSON.stringify(verified))
        assert.equal(found.tensors, stored.tensors, 'other bits')
        assert.ok(found.staged.program.peakBytes <= stored.staged.program.peakBytes)
        assertPeakTouched(found.staged.program, found.measuredPeakBytes)
        const isAsked = segments.some(({ normaliseOnLoad }) => normaliseOnLoad !== undefined)
        assert.is(isUsed(found.staged), isAsked)
        used += Number(isAsked)
      }
    }),
    propertyRuns(60)
  )
  assert.ok(used > 10, `${used} plans normalise on load`)
})

const tensorsOf = ({ tensors }: Gradients): readonly number[] => [...tensors.values()].flatMap((values) => Array.from(values))

/** Of all tensors together, relative to the second's. */
const distance = (a: Gradients, b: Gradients): number => {
  const [found, expected] = [tensorsOf(a), tensorsOf(b)]
  return norm(found.map((value, index) => value - expected[index]!)) / norm(expected)
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))]!

for (const [precision, rounding] of [
  ['float32', 1e-5],
  ['bf16', 8 * 2 ** -9]
] as const)
  if (testsDevice('cpu') && (precision === 'float32' || multiplies(precision)))
    test(`cpu, ${precision}: random nets, segments and tiles: gradients are as close to exact ones as those of what is stored`, async () => {
      const [errors, storedErrors]: readonly [number[], number[]] = [[], []]
      let used = 0
      await fc.assert(
        fc.asyncProperty(seeds, async (seed) => {
          const { execution, plans } = randomExecution(seed)
          const exact = await gradients({ ...execution, segments: plans[0]!.map(without) })
          for (const segments of plans) {
            const on = { ...execution, device: 'cpu', precision } as const
            const found = await gradients({ ...on, segments })
            const stored = await gradients({ ...on, segments: segments.map(without) })
            const verified = verify(found.staged.program)
            assert.ok(isRight(verified), JSON.stringify(verified))
            assertPeakTouched(found.staged.program, found.measuredPeakBytes)
            errors.push(distance(found, exact))
            storedErrors.push(distance(stored, exact))
            used += Number(isUsed(found.staged))
          }
        }),
        propertyRuns(60)
      )
      assert.ok(used > 10, `${used} plans normalise on load`)
      // Of a few draws more: rounding may turn a rectifier that reads about zero.
      assert.ok(quantile(errors, 0.8) <= rounding, `${quantile(errors, 0.8)} from exact ones`)
      assert.ok(
        quantile(errors, 0.8) <= 1.5 * quantile(storedErrors, 0.8),
        `${quantile(errors, 0.8)}, ${quantile(storedErrors, 0.8)} stored`
      )
    })

test.run()
