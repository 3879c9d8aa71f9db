/** What gpu-check makes of compute-sanitizer's words, which a stand-in says. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { deadlineIn } from '../../bench/gpu/deadline'
import { type Sanitized, runSanitizer } from '../../bench/gpu/sanitizer'
import { chooseScale } from '../../bench/gpu/scale'
import { temporaryFolder } from '../src/temporary-folder'

const folder = temporaryFolder()
process.env.PATH = `${folder}:${process.env.PATH}`
const check = {
  mode: 'full',
  device: 'cuda',
  precisions: ['float32'],
  parts: ['sanitizer'],
  compile: false,
  python: 'python3',
  minutes: 1,
  scale: chooseScale('cuda', 'quick')
} as const

/** Of each run in which compute-sanitizer does this. */
const rowsOf = async (does: string): Promise<readonly Sanitized[]> => {
  writeFileSync(join(folder, 'compute-sanitizer'), `#!/bin/sh\necho "$*" >> ${folder}/calls\n${does}\n`)
  chmodSync(join(folder, 'compute-sanitizer'), 0o755)
  return runSanitizer(check, deadlineIn(60))
}

/** The errors or the complaint of each run. */
const found = async (does: string): Promise<readonly (number | string)[]> =>
  (await rowsOf(does)).map(({ found }) => (E.isRight(found) ? found.right.errors : found.left.message))

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

test('what it says of the errors is kept, and how the steps ended', async () => {
  const says = `cat <<'END'
========= COMPUTE-SANITIZER
step 1/3  2.31 s
========= Error: Race reported between Write access at void tilefold::cuda::sum<double>(T1 *)+0x90
=========     and Read access at void tilefold::cuda::sum<double>(T1 *)+0x100 [7168 hazards]
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cudaLaunchKernelExC [0x743fb] in tilefold.node
=========                in /opt/tilefold.node
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
END`
  const [race, access] = [
    'Error: Race reported between Write access at void tilefold::cuda::sum<double>(T1 *)+0x90',
    'and Read access at void tilefold::cuda::sum<double>(T1 *)+0x100 [7168 hazards]'
  ]
  const kept = await rowsOf(says)
  for (const { found } of kept) assert.equal(E.isRight(found) && found.right.words, [race, access])
  const [failed] = await rowsOf(`${says}\necho "too many resources" >&2; exit 1`)
  assert.equal(E.isRight(failed!.found) && failed!.found.right.words, [race, access, 'The steps: too many resources'])
  const [clean] = await rowsOf('echo "========= ERROR SUMMARY: 0 errors"')
  assert.equal(E.isRight(clean!.found) && clean!.found.right.words, [])
})

const calls = (): readonly string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')

test('races are looked for in kernels of ours alone', () => {
  for (const call of calls()) assert.is(call.includes('--kernel-name kns=tilefold'), call.includes('racecheck'), call)
})

test('a model in tiles is run by a strategy that obeys them', () => {
  for (const call of calls()) assert.is(call.includes('--strategy plain'), !call.includes('tiled-vgg16'), call)
})

test.run()
