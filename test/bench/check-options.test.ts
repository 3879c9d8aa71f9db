/** What gpu-check's options ask for, and until when each part works. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Check, checkOptions } from '../../bench/gpu/check-options'

const checkOf = (...args: readonly string[]): Check => {
  const check = checkOptions(args)
  if (E.isLeft(check) || check.right === undefined) throw new Error(`${args.join(' ')} is no check`)
  return check.right
}

test('overlap takes along the profiles whose rates of the link it needs', () => {
  assert.equal(checkOf('--parts', 'overlap').parts, ['predictions', 'overlap'])
  assert.equal(checkOf('--parts', 'driverMemory,suite').parts, ['suite', 'driverMemory'])
})

test.run()
