import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  batchNorm,
  conv2d,
  globalAvgPool,
  groupNorm,
  leakyRelu,
  linear,
  maxPool2d,
  relu,
  softmaxCrossEntropy,
  type AnyLayer,
  type Model
} from '../../dsl'
import { buildGraph, isConvolution, type KernelOf, type Program, type Segment } from '../../staging'
import { fastDevices, testsDevice } from '../devices'
import { gradients, type Execution } from '../golden/execute'
import { launches } from '../staging/verify/edit-program'
import { drawsOf } from '../staging/random-nets'
import { must } from '../must'
import { assertClose, initialisedExecution } from './random-execution'

const layers: readonly AnyLayer[] = [
  conv2d({ out: 16, k: 3, p: 1 }),
  relu,
  conv2d({ out: 32, k: 3, p: 1 }),
  leakyRelu({ slope: 0.1 }),
  maxPool2d({ k: 2 }),
  conv2d({ out: 16, k: 3, p: 1, groups: 2, bias: false }),
  relu,
  conv2d({ out: 16, k: 1 }),
  maxPool2d({ k: 2 }),
  relu,
  globalAvgPool,
  linear({ out: 3 }),
  softmaxCrossEntropy
]
/** Pools take all of it, so that what is cut between segments convolves the same pixels. */
const input = [2, 3, 24, 20] as const
const net: Model = { name: 'rectified', layers: [...layers] }

const whole: Segment = { from: 0, to: layers.length, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
const cutAt = (...positions: readonly number[]): readonly Segment[] =>
  [...positions, layers.length].map((to, index): Segment => ({ ...whole, from: positions[index - 1] ?? 0, to }))
/** The one convolution that can: 3x3, of 16 channels to 32. */
const byWinograd = (segments: readonly Segment[]): readonly Segment[] =>
  segments.map((segment): Segment => (segment.from <= 2 && 2 < segment.to ? { ...segment, winograd: [2] } : segment))
/** Every rectifier begins a segment, so that none is computed with its convolution. */
const unfused = cutAt(1, 3, 6)

const execution = (device: Execution['device'], segments: readonly Segment[], bad = false): Execution => {
  const graph = must(buildGraph(net, input))
  const draw = drawsOf(3)
  const values = (shape: readonly number[]): Float64Array =>
    Float64Array.from({ length: shape.reduce((all, extent) => all * extent, 1) }, () => draw(-1000, 1000) / 2000)
  const weights = new Map(graph.parameters.map(({ name, shape }) => [name, values(shape)]))
  const pixels = values(input)
  if (bad) pixels[137] = NaN
  return { model: net, input, device, segments, weights, batch: { input: pixels, target: [0, 2] } }
}

const kindsIn = (program: Program): readonly string[] => launches(program).map(({ kernel }) => kernel.kind)
const slopesIn = (program: Program): readonly number[] =>
  launches(program).flatMap(({ kernel }) =>
    kernel.kind === 'convolutionForward' ? [(kernel as KernelOf<'convolutionForward'>).slope] : []
  )

test('a rectifier right after a convolution launches nothing forward, one at a segment start or after a pool does', async () => {
  const fused = (await gradients(execution('reference', [whole]))).staged.program
  assert.equal(slopesIn(fused), [0, 0.1, 0, 1])
  assert.is(kindsIn(fused).filter((kind) => kind === 'rectifierForward').length, 1)
  assert.is(kindsIn(fused).filter((kind) => kind === 'rectifierBackward').length, 4)
  const cut = (await gradients(execution('reference', unfused))).staged.program
  assert.equal(slopesIn(cut), [1, 1, 1, 1])
  assert.is(kindsIn(cut).filter((kind) => kind === 'rectifierForward').length, 4)
})

test('it is computed with the convolution again where a segment is computed again, tile by tile', async () => {
  const segments = cutAt(5).map((segment, index): Segment =>
    index === 0 ? { ...segment, recompute: true, grid: { B: 1, H: 2, W: 1 } } : segment
  )
  const { program } = (await gradients(execution('reference', segments))).staged
  assert.ok(slopesIn(program).filter((slope) => slope === 0.1).length >= 2)
  assert.is(kindsIn(program).filter((kind) => kind === 'rectifierForward').length, 1)
})

/** Of every convolution all but its rectifier: others may sum in another order. */
const convolutionsIn = (program: Program): readonly string[] =>
  launches(program).flatMap(({ kernel }) => (isConvolution(kernel) ? [JSON.stringify({ ...kernel, slope: undefined })] : []))

const ways: readonly (readonly [string, Execution['device'], (segments: readonly Segment[]) => readonly Segment[]])[] = [
  ...(['reference', ...fastDevices] as const)
    .filter(testsDevice)
    .map((name) => [name, name, (segments: readonly Segment[]) => segments] as const),
  ...(testsDevice('cpu') ? ([['cpu by Winograd', 'cpu', byWinograd]] as const) : [])
]

for (const [name, on, by] of ways) {
  test(`${name}: loss and gradients have the bits that they have with the rectifier on its own`, async () => {
    const [fused, cut] = [await gradients(execution(on, by([whole]))), await gradients(execution(on, by(unfused)))]
    assert.ok(Number.isFinite(fused.loss))
    for (const { staged } of [fused, cut])
      assert.is(
        launches(staged.program).some(({ kernel }) => kernel.kind === 'convolutionForward' && kernel.algorithm === 1),
        by === byWinograd
      )
    assert.equal(convolutionsIn(fused.staged.program), convolutionsIn(cut.staged.program))
    assert.is(fused.loss, cut.loss)
    for (const [parameter, values] of cut.tensors) assert.equal([...fused.tensors.get(parameter)!], [...values], parameter)
  })

  test(`${name}: a pixel that is not a number makes the loss none`, async () =>
    assert.ok(Number.isNaN((await gradients(execution(on, by([whole]), true))).loss)))
}

for (const normalisation of [batchNorm(), groupNorm({ groups: 2 })])
  test(`a leaky rectifier after ${normalisation.op}, with which a segment ends that is computed again, is differentiated once`, async () => {
    const blocks: readonly AnyLayer[] = [
      ...[conv2d({ out: 4, k: 3, p: 1 }), normalisation, leakyRelu({ slope: 0.1 })],
      ...[conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })]
    ]
    const drawn = initialisedExecution({ name: 'leaky', layers: blocks }, [1, 3, 8, 8], 'reference')
    const segments = [3, blocks.length + 1].map((to, index): Segment => ({
      ...whole,
      from: index === 0 ? 0 : 3,
      to,
      recompute: index === 0
    }))
    assertClose(await gradients({ ...drawn, segments }), await gradients({ ...drawn, strategy: 'plain' }), 1e-12)
  })

test.run()
