import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isPaceDue, paceNotice } from '../../../src/running/pace-notice'

const predicted = (stepMilliseconds: number, roofline = 0) => ({
  device: 'cpu' as const,
  timeShares: { measured: 1 - roofline, interpolated: 0, extrapolated: 0, roofline },
  staged: { predicted: { stepMilliseconds } }
})

test('a pace as predicted says nothing, and another is told with both times', () => {
  assert.is(paceNotice(predicted(100), [400, 95, 120]), undefined)
  assert.match(
    paceNotice(predicted(100), [100, 150, 160, 155]) ?? '',
    /^steps take 155 ms where this machine's profile predicts 100 ms: the machine is slower than when it was measured, or something else uses it; /
  )
  assert.match(paceNotice(predicted(100), [100, 50, 55]) ?? '', /predicts 100 ms: the machine is faster than when it was measured; /)
})

test('a single slow step is no pace, and neither is that of a rough model, or of too few steps', () => {
  assert.is(paceNotice(predicted(100), [100, 101, 900, 102]), undefined)
  assert.is(paceNotice(predicted(100, 0.5), [300, 300, 300]), undefined)
  assert.is(paceNotice(predicted(100), [300, 300]), undefined)
  assert.is(paceNotice(predicted(1), [3, 3, 3]), undefined)
})

test('it is told once, after ten steps or the last of fewer', () => {
  const due = (steps: number): readonly number[] =>
    Array.from({ length: steps }, (_, index) => index + 1).filter((done) => isPaceDue(done, steps))
  assert.equal([2, 3, 10, 200].map(due), [[], [3], [10], [10]])
})

test.run()
