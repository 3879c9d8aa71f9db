/** What gpu-check's options ask for, and until when each part works. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Check, checkOptions } from '../../bench/gpu/check-options'
import { makeSchedule } from '../../bench/gpu/schedule'

const checkOf = (...args: readonly string[]): Check => {
  const check = checkOptions(args)
  if (E.isLeft(check) || check.right === undefined) throw new Error(`${args.join(' ')} is no check`)
  return check.right
}

test('overlap takes along the profiles whose rates of the link it needs', () => {
  assert.equal(checkOf('--parts', 'overlap').parts, ['predictions', 'overlap'])
  assert.equal(checkOf('--parts', 'driverMemory,suite').parts, ['suite', 'driverMemory'])
})

test('what is waited for beside the parts is no time of theirs', () => {
  const { minutes, parts } = checkOf('quick', '--compile')
  const { until, postpone } = makeSchedule({ minutes, parts }, 1)
  assert.ok(until('networks').isOver())
  assert.ok(!until('driverMemory').isOver())
  const whole = makeSchedule({ minutes, parts }, 60 * minutes)
  const left = whole.until('networks').atMost(Infinity)
  whole.postpone(200)
  assert.ok(Math.abs(whole.until('networks').atMost(Infinity) - left - 200) < 1)
  postpone(600)
  assert.ok(!until('networks').isOver())
})

test.run()
