// The device suite on a cuda device that runs on the processor (native/test/emulated_cuda), for
// what needs no GPU to be found wrong. Its random kernels against the reference device's: in the
// long tests, under sanitizers (native/test/run).
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { inSystems } from '../in-systems'
import { hasLauncher } from '../src/open-mpi'

const root = join(__dirname, '..', '..')
const build = join(root, 'native', 'build')
const libraries = join(build, 'emulated_cuda')
/** CMake made the folder where CUDA's headers are. */
const emulates = existsSync(join(libraries, 'cmake_install.cmake'))

const run = (command: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): string => {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    maxBuffer: 2 ** 26
  })
  assert.is(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`)
  return stdout
}

/**
 * The suite's files, with the draws of each property: three times as many in the long tests, which
 * also run what takes longest.
 */
const files: Readonly<Record<string, number>> = {
  ...(inSystems && { 'golden/branching': 0, 'training/offloading': 0 }),
  'golden/operations': 0,
  'native/cudnn-engines': 0,
  'native/few-channels': 0,
  'native/normalisation': 0,
  'native/prepared-images': 0,
  'native/warpgroup-gradient': 0,
  'properties/awkward-graphs': 0,
  'properties/bf16': 5,
  'properties/fused-rectifier': 0,
  'properties/not-a-number': 0,
  'properties/repeated-tiles': 20,
  'properties/tiled-equals-untiled': 10,
  'properties/virtual': 10,
  ...(hasLauncher && { 'src/ranks/gpu-launched-ranks': 0 }),
  'training/devices': 5,
  'training/gpu-ranks': 3,
  'training/timed-launches': 20
}

const suite = emulates ? test : test.skip
suite('everything for it is built', () => {
  run('cmake', [
    '--build',
    build,
    '--parallel',
    String(availableParallelism()),
    '--target',
    'emulated_addon',
    'cuda_engines_test',
    'cuda_ranks_test'
  ])
})

suite("the cuda device's scheduling by itself, and what it exchanges with other ranks", () => {
  for (const program of ['cuda_engines_test', 'cuda_ranks_test']) assert.match(run(join(build, program), []), / 0 failures/)
})

suite("the cuda device's suite passes on the processor", () => {
  for (const [file, draws] of Object.entries(files)) {
    const printed = run(process.execPath, ['-r', './test/transpile.js', `test/${file}.test.ts`], {
      TILEFOLD_ADDON: join(libraries, 'tilefold.node'),
      TILEFOLD_CUDNN_PATH: libraries,
      TILEFOLD_TEST_DEVICES: 'cuda',
      ...(draws > 0 && { TILEFOLD_PROPERTY_RUNS: String(inSystems ? 3 * draws : draws) })
    })
    assert.match(printed, /Passed: +[1-9]/, file)
    assert.not.match(printed, / is skipped/, file)
  }
})

test.run()
