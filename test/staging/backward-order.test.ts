/** The order of the two products of a convolution's backward. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, relu } from '../../dsl'
import { stage, verify, type Staged } from '../../staging'
import { must } from '../must'
import { launches } from './edit-program'
import { winogradDevice } from './training-cases'

const channels = 256
const convolution = conv2d({ out: channels, k: 3, p: 1 })

/** By direct kernels: backward of the second convolution reads a copy of its weights. */
const staged = (extent: number, images = 1): Staged =>
  must(
    stage({
      model: model({
        name: 'two',
        layers: [convolution, relu, convolution, relu, globalAvgPool, linear({ out: 2 })]
      }),
      ...{ input: [images, 3, extent, extent], device: winogradDevice('float32'), strategy: 'plain', exactKernels: true },
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
      source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
    })
  )

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

test('of many pixels the gradient of the weights comes first, and the input goes before its own gradient comes', () => {
  assert.equal(backwardKinds(staged(64)), [weights, data, weights])
})

test.run()
