// Plans where a segment's end, what is frozen in it, or an op leaves out what others have.
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  batchNorm,
  checkpoint,
  conv2d,
  convTranspose2d,
  denseBlock,
  flatten,
  gated,
  globalAvgPool,
  globalMaxPool,
  linear,
  meanSquaredError,
  adaptiveAvgPool2d,
  parallel,
  relu,
  sigmoid,
  tanh,
  type AnyLayer
} from '../../dsl'
import { deviceModel, type DeviceName } from '../../native'
import { stage, verify, type Objective, type Segment } from '../../staging'
import type { DevicePrecision } from '../../staging/kernels/precision'
import { asWritten } from '../golden/execute'
import { must } from '../must'

/** Segments that end before these positions, the first one from 0 on. */
const segmentsTo = (ends: readonly number[], changes: Readonly<Record<number, Partial<Segment>>> = {}): readonly Segment[] =>
  ends.map((to, index): Segment => {
    const whole: Segment = { from: ends[index - 1] ?? 0, to, grid: { B: 1, H: 1, W: 1 }, recompute: true, reorder: 'once' }
    return { ...whole, ...changes[index] }
  })

const training = (...frozen: readonly string[]): Objective => ({
  kind: 'train',
  optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 },
  groups: frozen.map((prefix) => ({ prefix, frozen: true }))
})

const assertVerified = (
  layers: readonly AnyLayer[],
  segments: readonly Segment[] | undefined,
  objective: Objective = { kind: 'gradients' },
  { device = 'reference' as DeviceName, precision = (device === 'cpu' ? 'float32' : 'float64') as DevicePrecision, batch = 1 } = {}
): void => {
  const { program } = must(
    stage({
      ...{ model: { name: 'net', layers: [...layers, meanSquaredError] }, input: [batch, 3, 8, 6], strategy: 'sft', objective },
      device: must(deviceModel(device, precision, 1)),
      source: { kind: 'float' },
      ...(segments && { given: asWritten(segments) })
    })
  )
  const verified = verify(program)
  assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
}

const convolution = conv2d({ out: 4, k: 3, p: 1 })

test('a segment ends in maxima beside others: each is in its place from the start', () => {
  const pools = parallel([[globalMaxPool], [globalAvgPool], [globalMaxPool]])
  assertVerified([convolution, pools, linear({ out: 2 })], segmentsTo([5, 7]))
  assertVerified([convolution, pools, linear({ out: 2 })], segmentsTo([2, 5, 7]))
  assertVerified([convolution, pools, checkpoint, linear({ out: 2 })], undefined)
})

test('a segment ends in a rectifier of which input and output leave it: both gradients are seeds', () => {
  const grown = [convolution, denseBlock([tanh, convolution]), denseBlock([relu, convolution]), convolution]
  for (const end of [4, 5]) assertVerified(grown, segmentsTo([end, 6, 7, 9]), undefined, { batch: 2 })
})

test('sums of pixels that nothing reads again are not zeroed again', () => {
  const branches = parallel([[globalAvgPool], [flatten, linear({ out: 2 })]])
  assertVerified([convolution, tanh, branches, linear({ out: 2 })], segmentsTo([3, 6, 7, 8], { 0: { rematerialize: true } }))
})

test('statistics of a normalisation that is frozen, and before which nothing learns, are read forward alone', () => {
  const layers = [convolution, batchNorm({ frozen: true }), relu, convolution, tanh, convolution]
  for (const recompute of [false, true])
    for (const objective of [training('0', '1'), training('0', '1', '3'), training()])
      assertVerified(layers, segmentsTo([5, 7], { 0: { recompute } }), objective)
})

test('of a product only those factors are read backward that others learn from', () => {
  const gate = [adaptiveAvgPool2d({ out: 1 }), conv2d({ out: 3, k: 1 }), sigmoid] as const
  for (const recompute of [false, true])
    assertVerified([gated([], gate), convolution], segmentsTo([4, 6], { 0: { recompute } }), training(), { device: 'cpu' })
  const normalised = [convolution, batchNorm()] as const
  for (const frozen of [
    ['0', '1'],
    ['2', '3']
  ])
    for (const recompute of [false, true])
      assertVerified([gated(normalised, normalised), convolution], segmentsTo([5, 7], { 0: { recompute } }), training(...frozen))
})

test('tiles share the weights of a transposed convolution as its forward reads them', () => {
  const layers = [convTranspose2d({ out: 16, k: 3 }), tanh, convTranspose2d({ out: 16, k: 2, s: 2 }), tanh]
  for (const precision of ['float32', 'bf16'] as const)
    for (const objective of [training(), { kind: 'gradients' } as const])
      assertVerified(layers, segmentsTo([4, 5], { 0: { grid: { B: 1, H: 2, W: 2 } } }), objective, { device: 'cpu', precision })
})

test('the bias of a transposed convolution learns without what that reads', () => {
  const layers = [convolution, convTranspose2d({ out: 4, k: 3 }), convolution]
  for (const recompute of [false, true]) assertVerified(layers, segmentsTo([2, 4], { 0: { recompute } }), training('0', '1.weight'))
})

test.run()
