/**
 * What a training makes beside its files, locks and metrics set aside: never out of somebody's
 * file, and no result under such a name.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TrainOptions, train } from '../../../src'
import { openTensorFile } from '../../../src/weights/safetensors'
import { writeImages } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)

const training = (more: Partial<TrainOptions>) =>
  train({ model: smallNetwork, data: at('images'), input: [2, 3, 16, 16], device: 'reference', threads: 1, seed: 3, steps: 2, ...more })

test.before(() => writeImages(at('images')))

test('a file of somebody else with the name of a lock is left alone, and a text that a killed process left is none', async () => {
  mkdirSync(at('states'))
  for (const [more, lock] of [
    [{ save: at('poetry') }, 'poetry.lock'],
    [{ metrics: at('cargo') }, 'cargo.lock'],
    [{ best: at('poetry'), validation: 0.5 }, 'poetry.lock'],
    [{ state: at('states') }, 'states/.lock']
  ] as const) {
    for (const text of ['[[package]]\nname = "numpy"\n', 'process\n'.repeat(1000)]) {
      writeFileSync(at(lock), text)
      const { code, message } = await failureOf(training(more))
      assert.is(code, 'input')
      assert.match(
        message,
        new RegExp(`^--\\w+ .*: its lock would be ${at(lock)}, which holds something else: name another place, or move`)
      )
      assert.is(readFileSync(at(lock), 'utf8'), text)
    }
    for (const text of ['', 'process 4194999 on elsewhere']) {
      writeFileSync(at(lock), text)
      await valueOf(training({ ...more, ...('state' in more ? { resume: true } : {}) }))
      assert.not(existsSync(at(lock)))
    }
  }
  mkdirSync(at('w.lock'))
  assert.match(
    (await failureOf(training({ save: at('w') }))).message,
    /^--save .*: its lock would be .*w\.lock, which is no ordinary file: name/
  )
})

test('a lock that cannot be written is a matter of the disk, not of the device', async () => {
  // Longer than the file system's 255 with ".lock", not without.
  const { code, message } = await failureOf(training({ metrics: at('m'.repeat(253)) }))
  assert.is(code, 'input')
  assert.match(message, /m\.lock: cannot be written \(File name too long\)$/)
})

test('no file is read or written under the name of a lock', async () => {
  symlinkSync(at('real'), at('soft'))
  mkdirSync(at('other-states'))
  for (const [more, sentence] of [
    [{ save: at('a'), best: at('a.lock'), validation: 0.5 }, /^the lock of --save .*a\.lock would be written over --best .*a\.lock: name/],
    [{ save: at('soft'), metrics: at('real.lock') }, /^the lock of --save .*real\.lock would be written over --metrics .*real\.lock: name/],
    [
      { save: at('other-states', '.lock'), state: at('other-states') },
      /^the lock of --state .*\.lock would be written over --save .*\.lock: name/
    ],
    [{ save: at('new', '.lock'), state: at('new') }, /^the lock of --state .*\.lock would be written over --save .*\.lock: name/]
  ] as const) {
    const { code, message } = await failureOf(training(more))
    assert.is(code, 'input')
    assert.match(message, sentence)
  }
  // An empty file is taken for a lock that somebody was killed over, but not where it is read.
  writeFileSync(at('b.lock'), '')
  const { message } = await failureOf(training({ save: at('b'), weights: at('b.lock') }))
  assert.match(message, /^the lock of --save .*b\.lock would be written over --weights .*b\.lock: name another file$/)
  assert.ok(existsSync(at('b.lock')))
})

test('no result has a name under which metrics are set aside', async () => {
  const metrics = at('m')
  await valueOf(training({ metrics }))
  for (const more of [{ save: at('m.1') }, { best: at('images', '..', 'm.2'), validation: 0.5 }, { state: at('m.3') }] as const) {
    const { code, message } = await failureOf(training({ metrics, ...more }))
    assert.is(code, 'input')
    assert.match(message, /^--\w+ .*m\.\d is named as metrics that --metrics .*m sets aside: name another file$/)
  }
  assert.equal(
    readdirSync(folder).filter((name) => name.startsWith('m.')),
    []
  )
  await valueOf(training({ metrics, save: at('m.weights') }))
  await valueOf(openTensorFile(at('m.weights')))
})

test.run()
