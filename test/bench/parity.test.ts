/** What gpu-check holds for gradients that agree. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Gradients, errorOf, type Parity } from '../../bench/gpu/parity'
import { refusal } from '../../bench/gpu/refusal'
import { parityHolds } from '../../bench/gpu/report'

const gradients = (...values: readonly number[]): Gradients => new Map([['grad.weight', Float64Array.from(values)]])

test('a gradient that is no number is no error to count with', () => {
  assert.equal(errorOf(gradients(3, 4))(gradients(3, 9)), E.right(1))
  for (const wrong of [NaN, Infinity])
    assert.equal(errorOf(gradients(3, 4))(gradients(3, wrong)), E.left(refusal('some gradient is infinite or no number')))
})

const row = (ours: number, theirs: number | undefined): Parity => ({
  ...{ precision: 'bf16', size: 64, seed: 1, exactBy: 'reference' },
  tilefold: { whole: E.right(0.01), tiled: E.right(ours) },
  pytorch: theirs === undefined ? E.left(refusal('no PyTorch')) : E.right(theirs)
})

test("errors are held to PyTorch's, and without it wrong gradients do not hold", () => {
  assert.ok(parityHolds([row(0.019, 0.01)]))
  assert.not.ok(parityHolds([row(0.021, 0.01)]))
  assert.ok(parityHolds([row(0.1, undefined)]))
  assert.not.ok(parityHolds([row(1, undefined)]))
})

test.run()
