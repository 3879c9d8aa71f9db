/** What gpu-check makes of compute-sanitizer's words, which a stand-in says. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { deadlineIn } from '../../bench/gpu/deadline'
import { runSanitizer } from '../../bench/gpu/sanitizer'
import { chooseScale } from '../../bench/gpu/scale'
import { temporaryFolder } from '../src/temporary-folder'

const folder = temporaryFolder()
process.env.PATH = `${folder}:${process.env.PATH}`
const check = {
  mode: 'full',
  device: 'cuda',
  precisions: ['float32'],
  parts: ['sanitizer'],
  python: 'python3',
  minutes: 1,
  scale: chooseScale('cuda', 'quick')
} as const

/** The errors or the complaint of each run in which compute-sanitizer does this. */
const found = async (does: string): Promise<readonly (number | string)[]> => {
  writeFileSync(join(folder, 'compute-sanitizer'), `#!/bin/sh\necho "$*" >> ${folder}/calls\n${does}\n`)
  chmodSync(join(folder, 'compute-sanitizer'), 0o755)
  const rows = await runSanitizer(check, deadlineIn(60))
  return rows.map(({ found }) => (E.isRight(found) ? found.right.errors : found.left.message))
}

test('a quick check runs one net a precision', async () => {
  writeFileSync(join(folder, 'compute-sanitizer'), '#!/bin/sh\nexit 1\n')
  chmodSync(join(folder, 'compute-sanitizer'), 0o755)
  const rows = await runSanitizer({ ...check, mode: 'quick', precisions: ['float32', 'tf32', 'bf16'] }, deadlineIn(60))
  const nets = (tool: string): readonly string[] => rows.filter((row) => row.tool === tool).map(({ net }) => net)
  for (const tool of ['memcheck', 'racecheck']) assert.equal(nets(tool), ['small-tiled-vgg16', 'resnet18', 'deeplabv3plus'])
})

test('the errors of all processes count', async () => {
  const summaries =
    'echo "========= ERROR SUMMARY: 0 errors"; echo "========= ERROR SUMMARY: 3 errors"; echo "========= ERROR SUMMARY: 1 error"'
  assert.equal(await found(summaries), [4, 4, 4, 4, 4, 4])
})

test('steps that fail are not clean, and what was found in them stands', async () => {
  const clean = await found('echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"; echo "no device" >&2; exit 1')
  for (const complaint of clean) assert.is(complaint, 'no device')
  assert.equal(await found('echo "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)"; exit 1'), [2, 2, 2, 2, 2, 2])
})

const calls = (): readonly string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')

test('races are looked for in kernels of ours alone', () => {
  for (const call of calls()) assert.is(call.includes('--kernel-name kns=tilefold'), call.includes('racecheck'), call)
})

test('a model in tiles is run by a strategy that obeys them', () => {
  for (const call of calls()) assert.is(call.includes('--strategy plain'), !call.includes('tiled-vgg16'), call)
})

test.run()
