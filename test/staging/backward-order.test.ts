/** The order of the two products of a convolution's backward. */
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, relu } from '../../dsl'
import { stage, verify, type Segment, type Staged } from '../../staging'
import { must } from '../must'
import { launches } from './verify/edit-program'
import { winogradDevice } from './training-cases'

const channels = 256
const convolution = conv2d({ out: channels, k: 3, p: 1 })

/** By direct kernels: backward of the second convolution reads a copy of its weights. */
const base = {
  model: model({ name: 'two', layers: [convolution, relu, convolution, relu, globalAvgPool, linear({ out: 2 })] }),
  device: winogradDevice('float32'),
  exactKernels: true,
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
} as const
const staged = (extent: number): Staged => must(stage({ ...base, input: [1, 3, extent, extent], strategy: 'plain' }))

const backwardKinds = ({ program }: Staged): readonly string[] =>
  launches(program).flatMap(({ kernel: { kind } }) => (kind.startsWith('convolutionBackward') ? [kind] : []))

const [weights, data] = ['convolutionBackwardWeights', 'convolutionBackwardData']

test('of few pixels the gradient of the weights comes last, and never lies beside the copy that its input takes', () => {
  const plan = staged(8)
  assert.equal(backwardKinds(plan), [data, weights, weights])
  const weightBytes = 4 * 9 * channels * channels
  const resident = 2 * (weightBytes + 4 * (9 * 3 * channels + 2 * channels + 2 * channels + 2))
  const { peakBytes } = must(verify(plan.program))
  assert.ok(peakBytes - resident < 1.5 * weightBytes, `${peakBytes - resident} beside ${resident}`)
})

test('the gradient of a segment that ends in a convolution is read whole by whichever product comes first', () => {
  for (const [s, images] of [
    [1, 1],
    [2, 1],
    [2, 2]
  ] as const) {
    const strided = conv2d({ out: channels, k: 3, s, p: 1 })
    const net = model({ name: 'strided', layers: [convolution, relu, strided, relu, globalAvgPool, linear({ out: 2 })] })
    const request = { ...base, model: net, input: [images, 3, 8, 8] }
    const { plan } = must(stage({ ...request, strategy: 'plain' }))
    const whole = { grid: { B: 1, H: 1, W: 1 }, reorder: 'once' } as const
    const segments: readonly Segment[] = [
      { from: 0, to: 3, recompute: true, ...whole },
      { from: 3, to: plan.segments.at(-1)!.to, recompute: false, ...whole }
    ]
    const cut = must(stage({ ...request, strategy: 'plain', given: { ...plan, segments } }))
    assert.equal(backwardKinds(cut), [data, weights, weights])
    const verified = verify(cut.program)
    assert.ok(isRight(verified), `stride ${s}, ${images} images: ${JSON.stringify(verified)}`)
  }
})

test('of many pixels the gradient of the weights comes first, and the input goes before its own gradient comes', () => {
  assert.equal(backwardKinds(staged(64)), [weights, data, weights])
})

test.run()
