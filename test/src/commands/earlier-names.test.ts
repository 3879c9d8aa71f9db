/**
 * Options and commands under the names that they had before: scripts go on, and the help says
 * nothing of them.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type PlanOptions, plan } from '../../../src'
import { compiledCommand } from '../compiled-command'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const { runInTurn: run, smallModel } = compiledCommand()
const buffers = join(temporaryFolder(), 'buffers.csv')

test.before(() => writeFileSync(buffers, 'id,lower,upper,size\na,0,2,100\nb,2,4,90\nc,1,3,50\n'))

const json = async (...args: readonly string[]) => {
  const { status, stdout, stderr } = await run([...args, '--json'])
  assert.is(status, 0, stderr)
  const { ms: _, planningMs: _p, verifiedMs: _v, ...report } = JSON.parse(stdout)
  return report
}

test('an option under its earlier name is the same option', async () => {
  const virtual = ['plan', smallModel, '--placement', 'virtual']
  assert.equal(await json(...virtual, '--chunk', '128KiB'), await json(...virtual, '--page-size', '128KiB'))
  const swapping = ['plan', smallModel, '--strategy', 'lms', '--host-budget', '1GB']
  assert.equal(await json(...swapping, '--link', '5MB/s'), await json(...swapping, '--host-bandwidth', '5MB/s'))
  const { stderr } = await run(['plan', smallModel, '--group', 'features'])
  assert.match(stderr, /^--group: "features" is not a group of parameters/)
})

test('what cannot stand beside an option cannot under its earlier name either', async () => {
  const { status, stderr } = await run(['plan', smallModel, '--plan', 'any.json', '--chunk', '64KiB'])
  assert.is(status, 2)
  assert.match(stderr, /^option '--plan <file>' cannot be used with option '--chunk <size>'/)
})

test('JavaScript may give the earlier names', async () => {
  const bandwidth = async (options: object): Promise<number> => {
    const { predictedStepMs } = await valueOf(plan({ model: small, strategy: 'lms', hostBudget: '1GB', ...options } as PlanOptions))
    return predictedStepMs
  }
  assert.is(await bandwidth({ link: '5MB/s' }), await bandwidth({ hostBandwidth: '5MB/s' }))
  const { message } = await failureOf(plan({ model: small, link: 1, hostBandwidth: 1 } as PlanOptions))
  assert.match(message, /^plan has no option link/)
})

test('research commands run under research, and as they were called before', async () => {
  const place = ['place', buffers, '--placement', 'virtual', '--page-size', '4KiB']
  assert.equal(await json('research', ...place), await json(...place))
  const { stdout } = await run(['--help'])
  assert.match(stdout, /^ {2}research /m)
  assert.not.match(stdout, /^ {2}place /m)
  assert.match((await run(['research', '--help'])).stdout, /^ {2}place /m)
  assert.match((await run(['research'])).stderr, /^give a command of research: chain, offload or place; --help says more\.\n$/)
  assert.match((await run(['research', 'fly'])).stderr, /^unknown command 'fly'/)
  assert.not.match((await run(['plan', '--help'])).stdout, /--(link|chunk|group)\b/)
})

test.run()
