/** The library's functions with promises in place of TaskEithers. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as library from '../../../src'
import * as promise from '../../../src/promise'
import small from '../small-model'

test('every function that answers with a TaskEither has a promise, and all else is the same', () => {
  const plain = ['exitStatus', 'formatBytes', 'formatMilliseconds', 'planText']
  assert.equal(Object.keys(promise).sort(), [...Object.keys(library), 'FailureError'].sort())
  for (const [name, one] of Object.entries(library)) assert.is(one === promise[name as keyof typeof library], plain.includes(name), name)
})

test('a promise gives what the function gives, and is rejected with an Error that has its failure', async () => {
  const options = { model: small, threads: 1, device: 'reference' } as const
  const [expected, report] = [await library.plan(options)(), await promise.plan(options)]
  assert.is(E.isRight(expected) && expected.right.peakDeviceBytes, report.peakDeviceBytes)
  const failed = await library.plan({ ...options, budget: 10 })()
  const thrown = await promise.plan({ ...options, budget: 10 }).catch((error: unknown) => error)
  assert.ok(thrown instanceof promise.FailureError && thrown instanceof Error)
  assert.ok(E.isLeft(failed))
  assert.equal({ ...thrown, message: thrown.message }, { name: 'FailureError', ...failed.left })
})

test.run()
