/** How gpu-check tells that a program ended. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { describeEnd, runNode } from '../../bench/gpu/bounded'

const endOf = async (script: string, seconds = 60): Promise<string> => describeEnd(await runNode(['-e', script], seconds))

test('a program that threw is told by what it threw, not by the version of Node', async () => {
  assert.is(await endOf("throw new TypeError('no such layer: conv9')"), 'TypeError: no such layer: conv9')
  assert.is(await endOf("require('./nowhere-at-all')").then((words) => words.replace(/'.*/, '')), 'Error: Cannot find module ')
  assert.match(await endOf("Promise.reject(Object.assign(new Error('disk full'), { code: 'ENOSPC' }))"), /^Error: disk full$/)
})

test('others are told by their last line, their status, or how they were ended', async () => {
  assert.is(await endOf("console.error('first'); console.error('it does not fit'); process.exit(3)"), 'it does not fit')
  assert.is(await endOf('process.exit(3)'), 'it ended with status 3')
  assert.is(await endOf('setInterval(() => 0, 1000)', 1), 'it was ended after 1 s')
  assert.match(await endOf("process.kill(process.pid, 'SIGKILL')"), /^it was ended from outside/)
})

test.run()
