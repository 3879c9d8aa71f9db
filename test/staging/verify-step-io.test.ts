/** What a section hands out, it writes whole. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, model, pixelCrossEntropy, relu } from '../../dsl'
import { referenceModel, stage, verify, type Program } from '../../staging'
import { asWritten } from '../golden/execute'
import { must } from '../must'
import { changeOperand, launches } from './edit-program'

const refusal = (program: Program): string => {
  const verified = verify(program)
  return isLeft(verified) ? verified.left.message : ''
}

/** The classes of 16x12 pixels, in four bands of rows of which the inner two are a loop. */
const scored: Program = must(
  stage({
    model: model({
      name: 'pixels',
      input: [2, 3, 16, 12],
      layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 3, k: 1 }), pixelCrossEntropy({})]
    }),
    device: referenceModel('float32'),
    strategy: 'plain',
    given: asWritten([{ from: 0, to: 4, grid: { B: 1, H: 4, W: 1 }, recompute: true, reorder: 'once' }]),
    objective: { kind: 'evaluate' },
    source: { kind: 'float' }
  })
).program

test('classes that each band writes to its own rows are sound', () => assert.is(refusal(scored), ''))

test('classes of which a band writes to the rows of another are refused', () => {
  const { path } = launches(scored).find(({ kernel, path: found }) => kernel.kind === 'argmaxChannels' && found.length > 1)!
  const moved = changeOperand(scored, 'step', path, 1, (address) => ({ ...address, strides: [0, 0, 0] }))
  assert.is(refusal(moved), 'step: no instruction writes bytes 96 .. 336 of "classes of the I/O buffer".')
})

test.run()
