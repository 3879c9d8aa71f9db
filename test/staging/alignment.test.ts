import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model } from '../../dsl'
import { buildGraph, isConvolution, referenceModel, stage, verify, type DeviceModel, type Segment } from '../../staging'
import { gpuModel } from '../../staging/devices/gpu-model'
import { must } from '../must'
import { propertyRuns } from '../property-runs'
import { launches } from './verify/edit-program'
import { gpuDouble } from './gpu-answers'
import { drawsOf, netKind, randomNet } from './random-nets'
import { randomSegments } from './random-segments'

/** Bytes of which cuDNN's tensors begin at multiples. */
const vector = 16

test('whatever the tiles, convolutions of a device that wants it read and write tensors that begin at multiples of 16 bytes', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), (seed) => {
      const draw = drawsOf(seed)
      const { model, input } = randomNet(draw, netKind(seed))
      const graph = must(buildGraph(model, input))
      const staged = must(
        stage({
          ...{
            model,
            input,
            device: { ...referenceModel('float32'), viewAlignment: vector },
            objective: { kind: 'gradients' },
            source: { kind: 'float' }
          },
          ...{ strategy: 'plain', given: { order: graph.nodes.map((_, index) => index), segments: randomSegments(draw, graph) } }
        })
      )
      for (const { kernel, launch } of launches(staged.program))
        if (isConvolution(kernel))
          for (const { base, strides } of launch.operands)
            assert.ok(
              [base, ...strides].every((bytes) => bytes % vector === 0),
              `${kernel.kind} at ${base} + ${strides.join(', ')}`
            )
    }),
    propertyRuns(100)
  )
})

test('a device that takes tensors anywhere copies no tile of some images, nor adds its gradient', () => {
  const once = { recompute: true, reorder: 'once' } as const
  const segments: readonly Segment[] = [
    { from: 0, to: 1, grid: { B: 1, H: 1, W: 1 }, ...once },
    { from: 1, to: 2, grid: { B: 3, H: 1, W: 1 }, ...once },
    { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, ...once }
  ]
  const isCopy = ({ kernel }: ReturnType<typeof launches>[number]): boolean => kernel.kind === 'copyBox' && kernel.ofParameters === 0
  const copies = (device: DeviceModel): number => {
    const convolution = conv2d({ out: 3, k: 3, p: 1 })
    const { program } = must(
      stage({
        ...{ model: model({ name: 'odd', layers: [convolution, convolution, globalAvgPool, linear({ out: 2 })] }), input: [3, 3, 5, 5] },
        ...{ device, objective: { kind: 'gradients' }, source: { kind: 'float' }, strategy: 'plain' },
        given: { order: segments.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i)), segments }
      })
    )
    return launches(program).filter(isCopy).length
  }
  const reference = referenceModel('float32')
  assert.is(copies(reference), 0)
  assert.ok(copies({ ...reference, viewAlignment: vector }) > 0)
})

test('where channels lie innermost, a band of whole rows is read in place, and one of some columns is copied', () => {
  const { answers } = gpuDouble('tf32')
  const layouts = { input: 'plain', activation: 'nhwc', weights: { forward: 'ohwi', backwardData: 'ohwi' } } as const
  const device = gpuModel({ ...answers, layouts }, { threads: 1, linkBytesPerSecond: { toDevice: 1e10, toHost: 1e10 } })
  const convolution = conv2d({ out: 8, k: 3, p: 1 })
  /** Copies of activations before backward begins, of a second segment in such tiles. */
  const copiesBefore = (grid: Segment['grid']): number => {
    const { program } = must(
      stage({
        ...{
          model: model({ name: 'bands', layers: [convolution, convolution, globalAvgPool, linear({ out: 2 })] }),
          input: [2, 3, 16, 16]
        },
        ...{ device, objective: { kind: 'gradients' }, source: { kind: 'float' }, strategy: 'plain' },
        given: {
          order: [0, 1, 2, 3, 4],
          segments: [
            { from: 0, to: 1, grid: { B: 1, H: 1, W: 1 }, recompute: true, reorder: 'once' },
            { from: 1, to: 2, grid, recompute: true, reorder: 'once' },
            { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, recompute: true, reorder: 'once' }
          ]
        }
      })
    )
    must(verify(program))
    const kinds = launches(program).map(({ kernel }) => kernel)
    const backward = kinds.findIndex(({ kind }) => kind === 'softmaxCrossEntropyBackward')
    return kinds.slice(0, backward).filter((kernel) => kernel.kind === 'copyBox' && kernel.ofParameters === 0).length
  }
  assert.is(copiesBefore({ B: 2, H: 4, W: 1 }), 0)
  assert.ok(copiesBefore({ B: 2, H: 2, W: 2 }) > 0)
  assert.ok(copiesBefore({ B: 1, H: 4, W: 1 }) > 0)
})

test('rows that no tile of some images reads have a gradient of zero', () => {
  const once = { recompute: true, reorder: 'once' } as const
  const layers = [conv2d({ out: 1, k: 3, p: 1 }), conv2d({ out: 1, k: 3, s: [2, 1] }), globalAvgPool, linear({ out: 2 })]
  const { program } = must(
    stage({
      ...{ model: model({ name: 'unread', layers }), input: [3, 1, 8, 8], device: referenceModel('float32') },
      ...{ objective: { kind: 'gradients' }, source: { kind: 'float' }, strategy: 'plain' },
      given: {
        order: [0, 1, 2, 3, 4],
        segments: [
          { from: 0, to: 1, grid: { B: 1, H: 1, W: 1 }, ...once },
          { from: 1, to: 2, grid: { B: 3, H: 1, W: 1 }, ...once },
          { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, ...once }
        ]
      }
    })
  )
  must(verify(program))
})

test.run()
