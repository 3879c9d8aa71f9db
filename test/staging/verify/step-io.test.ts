/** What a section hands out, it writes whole. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, model, pixelCrossEntropy, relu } from '../../../dsl'
import { referenceModel, stage, verify, type Program } from '../../../staging'
import { asWritten } from '../../golden/execute'
import { must } from '../../must'
import { changeOperand, launches, shifted } from './edit-program'

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

/** A value at another place, with all that touches it. */
const valueAt = (name: string, to: number): Program => {
  const { stepIo } = scored.step
  const { offset } = stepIo.find((one) => one.name === name)!
  const moved: Program = {
    ...scored,
    step: { ...scored.step, stepIo: stepIo.map((one) => (one.name === name ? { ...one, offset: to } : one)) }
  }
  return launches(scored)
    .flatMap(({ path, launch }) => launch.operands.map((address, operand) => ({ path, address, operand })))
    .filter(({ address }) => address.space === 'stepIo' && address.base >= offset)
    .reduce((program, { path, operand }) => changeOperand(program, 'step', path, operand, shifted(to - offset)), moved)
}

test('values of the I/O buffer that share bytes are refused', () => {
  assert.equal(
    scored.step.stepIo.map(({ name, offset }) => [name, offset]),
    [
      ['classes', 0],
      ['input', 384]
    ]
  )
  assert.is(refusal(valueAt('input', 380)), 'step: "classes of the I/O buffer" shares bytes 0 .. 4 of "input of the I/O buffer".')
})

test('a value beyond the I/O buffer is refused', () => {
  const { stepIoBytes } = scored.step
  const short = {
    ...scored,
    step: { ...scored.step, stepIo: scored.step.stepIo.map((one) => ({ ...one, shape: [3, ...one.shape.slice(1)] })) }
  }
  assert.is(refusal(short), `step: "input of the I/O buffer" has no place in ${stepIoBytes} bytes.`)
})

test.run()
