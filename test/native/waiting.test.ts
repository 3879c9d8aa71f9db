import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const root = join(__dirname, '..', '..')

/**
 * How often a waiting thread of a process that has loaded the addon looks for work before it
 * sleeps, as libgomp says.
 */
const spinsWith = (settings: NodeJS.ProcessEnv): number => {
  const { OMP_WAIT_POLICY: _, GOMP_SPINCOUNT: __, ...environment } = process.env
  const program = `require('./native/addon/addon').loadAddon(); if (process.env.GOMP_SPINCOUNT !== ${JSON.stringify(settings.GOMP_SPINCOUNT)}) process.exit(1)`
  const { status, stderr } = spawnSync(process.execPath, ['-r', 'ts-node/register/transpile-only', '-e', program], {
    cwd: root,
    env: { ...environment, ...settings, OMP_DISPLAY_ENV: 'verbose' },
    encoding: 'utf8'
  })
  assert.is(status, 0, stderr)
  const said = /GOMP_SPINCOUNT = '(\w+)'/.exec(stderr)
  assert.ok(said !== null, stderr)
  return Number(said[1])
}

test('threads that wait sleep soon, so that those that share their cores can work', () => {
  const spins = spinsWith({})
  assert.ok(spins > 0 && spins <= 10_000, `${spins}`)
})

test('how threads wait is as the environment says, where it says so', () => {
  assert.is(spinsWith({ GOMP_SPINCOUNT: '123' }), 123)
  assert.is(spinsWith({ OMP_WAIT_POLICY: 'passive' }), 0)
})

test.run()
