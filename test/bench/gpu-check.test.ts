/**
 * The bundle for GPU machines as such a machine unpacks it, without network, PATH or home, on this
 * machine's processor.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { assemble } from '../../bench/gpu/bundle'
import { inSystems } from '../in-systems'
import { type Ended, root } from '../src/command-line'
import { temporaryFolder } from '../src/temporary-folder'

const folder = temporaryFolder()
const bundle = join(folder, 'bundle')

/** All that is in the environment: threads that wait leave the processor to others. */
const quiet = { OMP_WAIT_POLICY: 'passive' } as const

const runIn = (cwd: string, program: string, ...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(join(bundle, program), args, { cwd, env: quiet, stdio: ['ignore', 'pipe', 'pipe'] })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (text) => (stdout += String(text)))
    child.stderr.on('data', (text) => (stderr += String(text)))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, stdout, stderr }))
  })
const run = (program: string, ...args: readonly string[]): Promise<Ended> => runIn(folder, program, ...args)

const ready = { ready: true, version: 'PyTorch 0', device: 'stand-in', memoryBytes: null }

/**
 * Speaks as pytorch_peer.py does, with figures of its own: larger images do not fit, and it has no
 * gradients.
 */
const standIn = `#!${process.execPath}
const say = (values) => console.log(JSON.stringify(values))
say(${JSON.stringify(ready)})
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { kind, size, model, parameters, batch, memoryBytes } = JSON.parse(line)
  if (kind === 'gradients') say({ error: 'no gradients here', outOfMemory: false })
  else if (batch === 3) { say({ error: 'CUDA error: lost', outOfMemory: false, isLost: true }); process.exit() }
  else if (batch > 1 && parameters !== 15227688) say({ error: 'another network', outOfMemory: false })
  else if (size > 32 && memoryBytes !== null && model === 'vgg16') say({ error: 'out of memory', outOfMemory: true })
  else say({ ms: [1000, 20, 40], peakBytes: 5 })
})
`

test.before(() => {
  mkdirSync(bundle)
  assemble(bundle, join(root, 'native', 'build', 'Release', 'tilefold.node'))
  writeFileSync(join(folder, 'python'), standIn)
  chmodSync(join(folder, 'python'), 0o755)
})

if (!existsSync('/dev/nvidiactl'))
  test('without a GPU it ends with one sentence on where it looked', async () => {
    const { status, stdout, stderr } = await run('gpu-check', 'quick')
    assert.is(status, 2)
    assert.is(stdout, '')
    assert.match(stderr, /^No NVIDIA GPU was found: there is no \/dev\/nvidiactl .*\n$/)
  })

test('a mode, a device or a precision that there is not is named', async () => {
  for (const [args, sentence] of [
    [['swift'], 'the mode is swift, not quick or full or tiny.\n'],
    [['--device', 'tpu'], '--device is tpu, not cuda or cpu.\n'],
    [['--device', 'cpu', '--precision', 'tf32'], '--precision tf32: the cpu computes in float32.\n'],
    [['--minutes', '0'], '--minutes is 0, not a number above zero.\n']
  ] as const) {
    const { status, stderr } = await run('gpu-check', ...args)
    assert.is(status, 2)
    assert.is(stderr, sentence)
  }
})

test('where results cannot be written it ends with one sentence before it measures anything', async () => {
  const own = join(folder, 'unwritable')
  mkdirSync(join(own, 'gpu-check.md'), { recursive: true })
  const { status, stderr } = await runIn(own, 'gpu-check', '--device', 'cpu', '--python', join(folder, 'python'))
  assert.is(status, 2, stderr)
  assert.is(
    stderr,
    `${join(own, 'gpu-check.md')} cannot be written (illegal operation on a directory): results are written into the working folder\n`
  )
})

test('a PyTorch that does not end when it is asked to ends with the check', async () => {
  const stubborn = join(folder, 'stubborn')
  // As a shell script that starts the real Python: the one that hangs is its child.
  writeFileSync(
    stubborn,
    `#!/bin/sh\necho '${JSON.stringify(ready)}'\n"${process.execPath}" -e 'setInterval(() => 0, 1000)' stubborn-child\n`
  )
  chmodSync(stubborn, 0o755)
  const args = ['--device', 'cpu', '--parts', 'driverMemory', '--python', stubborn]
  const { status, stderr } = await runIn(folder, 'gpu-check', ...args)
  assert.is(status, 0, stderr)
})

test('where no part needs PyTorch it is not waited for', async () => {
  const { stderr } = await run('gpu-check', '--device', 'cpu', '--parts', 'sanitizer', '--python', '/nowhere')
  assert.match(stderr, /^no PyTorch: no part that was asked for needs it$/m)
})

test('ended from outside it says so, and takes its profiles with it', async () => {
  const own = join(folder, 'own')
  mkdirSync(own)
  const args = ['--device', 'cpu', '--python', join(folder, 'python')]
  const child = spawn(join(bundle, 'gpu-check'), args, { cwd: own, env: { ...quiet, TMPDIR: own }, stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.once('data', () => {
    assert.ok(readdirSync(own).some((name) => name.startsWith('tilefold-profiles-')))
    child.kill('SIGTERM')
  })
  assert.is(await new Promise((resolve) => child.on('close', resolve)), 143)
  assert.equal(
    readdirSync(own).filter((name) => name.startsWith('tilefold-profiles-')),
    []
  )
})

test('ended in the middle of a part it leaves the rows that the part had', async () => {
  const own = join(folder, 'ended')
  mkdirSync(own)
  const args = ['--device', 'cpu', '--parts', 'benchmarks', '--python', join(folder, 'python')]
  const child = spawn(join(bundle, 'gpu-check'), args, { cwd: own, env: quiet, stdio: 'ignore' })
  const text = (): string => (existsSync(join(own, 'gpu-check.md')) ? readFileSync(join(own, 'gpu-check.md'), 'utf8') : '')
  // PyTorch's steps on the whole card come first.
  while (!/\| PyTorch, plain \| 30\.0 ms/.test(text())) await setTimeout(50)
  child.kill('SIGINT')
  assert.is(await new Promise((resolve) => child.on('close', resolve)), 130)
  assert.match(text(), /^## Training steps of VGG-16, batch 1 \(unfinished, \d+ s\)$/m)
})

const headings = [
  'Verdicts',
  'Device suite',
  'Parity',
  'Networks',
  'Training steps of VGG-16',
  '16 x 16 tiles',
  'Growing batches of VGG-16',
  'Profiles',
  'Transfers'
]

/** Tells that a report for people has all its parts, and no figure that is none. */
const isWhole = (text: string): void => {
  for (const heading of headings) assert.ok(text.includes(`\n## ${heading}`), heading)
  assert.not.match(text, /undefined|NaN|Infinity/)
}

test('where there is no time each part says so, and the report has them all', async () => {
  const { status, stdout, stderr } = await run('gpu-check', '--device', 'cpu', '--python', join(folder, 'python'), '--minutes', '0.01')
  assert.is(status, 1, stderr)
  const [json, markdown] = stdout.trimEnd().split('\n')
  const { pytorch, suite, parity, benchmarks, launchOverhead, predictions, batches, verdicts } = JSON.parse(readFileSync(json!, 'utf8'))
  assert.is(pytorch.value.device, 'stand-in')
  // Of 0.6 s, starting takes 0.1 s and more; on a fast machine a file may end in time.
  for (const { failed, complaint } of suite.found.value) if (failed > 0) assert.match(complaint, /^it was ended after [01] s$/)
  for (const { tilefold } of parity.found.value) assert.match(tilefold.whole.error.message, /: not run: the time was up$/)
  const untried = [
    ...benchmarks.found.value.map(({ timing }: { timing: unknown }) => timing),
    ...[...predictions.found.value, ...launchOverhead.found.value],
    ...batches.found.value.map(({ measured }: { measured: unknown }) => measured)
  ]
  assert.ok(untried.length > 10)
  for (const { error } of untried) assert.match(error.message, /^not run: the time was up$/)
  assert.not.ok(verdicts.some(({ holds }: { holds: string }) => holds.startsWith('yes')))
  isWhole(readFileSync(markdown!, 'utf8'))
})

test('a file of the device suite and a step in tiles run from the bundle', async () => {
  const tested = await run('node', join(bundle, 'test', 'properties', 'not-a-number.test.js'))
  assert.match(tested.stdout, /Passed: +[1-9]/)
  assert.is(tested.status, 0, tested.stderr)
  const tiled = join(bundle, 'bench', 'gpu', 'small-tiled-vgg16.js')
  const stepped = await run(
    'node',
    join(bundle, 'src', 'cli.js'),
    'bench',
    tiled,
    '--input',
    '1x3x32x32',
    '--steps',
    '1',
    '--no-measure',
    '--json'
  )
  assert.is(stepped.status, 0, stepped.stderr)
  assert.is(JSON.parse(stepped.stdout).stepMs.length, 1)
})

// Two dozen commands with VGG-16.
if (inSystems)
  test('on the cpu every part runs, and what fails on one side leaves the other side its figures', async () => {
    const { status, stdout, stderr } = await run('gpu-check', '--device', 'cpu', '--python', join(folder, 'python'))
    const [json, markdown] = stdout.trimEnd().split('\n')
    const { suite, parity, benchmarks, launchOverhead, predictions, overlap, driverMemory, sanitizer, batches, verdicts } = JSON.parse(
      readFileSync(json!, 'utf8')
    )
    assert.ok(suite.found.value.length > 0)
    for (const { file, passed, failed } of suite.found.value) assert.ok(passed > 0 && failed === 0, file)

    const [small, large] = parity.found.value
    assert.ok(small.tilefold.whole.value < 1e-5 && small.tilefold.tiled.value < 1e-5 && small.tilefold.tiled.value > 0)
    assert.is(small.pytorch.error.message, 'no gradients here')
    assert.match(large.tilefold.whole.error.message, /^there is nothing in float64 to compare with: no gradients here$/)
    // Parity in the larger image could not be shown.
    assert.is(status, 1, stderr)

    interface Timed {
      readonly contender: string
      readonly size: number
      readonly arenaBytes: number | null
    }
    const arena = 256 * 2 ** 20
    const timing = (contender: string, size: number, arenaBytes: number | null = arena) =>
      benchmarks.found.value.find((row: Timed) => row.contender === contender && row.size === size && row.arenaBytes === arenaBytes).timing
    assert.equal(timing('PyTorch, plain', 32).value, { medianMs: 30, stepMs: [20, 40], peakBytes: 5, plannedPeakBytes: null, ofPytorch: 1 })
    assert.equal(timing('PyTorch, plain', 64).error, { message: 'out of memory', outOfMemory: true })
    assert.is(timing('PyTorch, plain, channels_last', 64, null).value.medianMs, 30)
    for (const contender of ['Tilefold, plain', 'Tilefold, sft', 'Tilefold, auto']) {
      const { medianMs, ofPytorch, peakBytes, plannedPeakBytes } = timing(contender, 32).value
      assert.ok(medianMs > 0 && Math.abs(peakBytes - plannedPeakBytes) <= 4096 && Math.abs(ofPytorch - medianMs / 30) < 1e-9)
      assert.is(timing(contender, 64).value.ofPytorch, null)
    }
    const [profiled] = predictions.found.value
    assert.ok(profiled.value.kernels > 20 && profiled.value.linkBytesPerSecond.toHost > 1e7 && profiled.value.deviceFile === null)
    assert.ok(
      profiled.value.predictions.every(({ value }: { value: Record<string, number> }) => value.predictedMs! > 0 && value.measuredMs! > 0)
    )
    assert.ok(overlap.found.value[0].value.plainMs > 0 && overlap.found.value[0].value.hidden <= 1)
    for (const { contender, batch, measured } of batches.found.value)
      // Another stand-in takes the place of the one whose GPU was lost.
      if (contender.startsWith('PyTorch') && batch === 3) assert.is(measured.error.message, 'CUDA error: lost')
      else assert.ok(measured.value.imagesPerSecond > 0, `${contender} ${batch}`)
    for (const { message } of [driverMemory.found.value[0].error, sanitizer.found.error]) assert.match(message, /the cpu device/)

    const holds = (point: number): readonly string[] =>
      verdicts.flatMap((verdict: { point: number; holds: string }) => (verdict.point === point ? [verdict.holds] : []))
    assert.equal(holds(1), ['yes', 'not measured', 'not measured', 'not measured'])
    assert.equal(holds(2), ['yes', 'not measured'])
    for (const point of [3, 4, 6]) assert.ok(['yes', 'no'].includes(holds(point)[0]!))
    assert.is(holds(5).length, 2)

    const [tiles] = launchOverhead.found.value
    assert.ok(tiles.value.launches > 1000 && tiles.value.stepMs > tiles.value.untiledMs.value && tiles.value.haloOverhead.value > 0)

    const text = readFileSync(markdown!, 'utf8')
    isWhole(text)
    assert.match(text, /\| float32 \| 256 MiB \| 1x3x64x64 \| PyTorch, plain \| - \| - \| - \| - \| out of memory \|/)
  })

test.run()
