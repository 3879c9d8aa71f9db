/** The tiles that convolutions by Winograd work by: of 4x4 results, or of 6x6. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import { isConvolution, layouts, stage, type Segment, type StageRequest } from '../../staging'
import { must } from '../must'
import { winogradDevice } from './training-cases'

const convolution = (out: number) => [conv2d({ out, k: 3, p: 1 }), relu]
const pooled = model({
  name: 'pooled',
  layers: [...convolution(16), ...convolution(32), maxPool2d({ k: 8 }), ...convolution(192), globalAvgPool, linear({ out: 2 })]
})

/** Layouts of weights that the convolutions of 16 to 32 and of 32 to 192 channels read. */
const layoutsRead = (precision: 'float32' | 'bf16'): readonly (readonly string[])[] => {
  const request: StageRequest = {
    ...{ model: pooled, input: [1, 3, 96, 96], device: winogradDevice(precision), strategy: 'plain' },
    objective: { kind: 'gradients' },
    source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
  }
  const { plan } = must(stage(request))
  const segments = plan.segments.map((segment): Segment => ({ ...segment, winograd: [2, 5] }))
  const { program } = must(stage({ ...request, given: { ...plan, segments } }))
  return [32, 192].map((out) =>
    program.kernels.flatMap((kernel) =>
      isConvolution(kernel) && kernel.outChannels === out && kernel.kind !== 'convolutionBackwardWeights'
        ? [layouts[kernel.weightLayout]!]
        : []
    )
  )
}

test('gradients of many pixels and few channels are by tiles of 6x6 results, forward in bf16 alone', () => {
  assert.equal(layoutsRead('float32'), [
    ['winogradForward', 'winograd6Backward'],
    ['winogradForward', 'winogradBackward']
  ])
  assert.equal(layoutsRead('bf16'), [
    ['winograd6Forward', 'winograd6Backward'],
    ['winogradForward', 'winogradBackward']
  ])
})

test.run()
