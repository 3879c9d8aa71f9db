'use strict'
// Runs every check of the repository, cheap ones first, then the longest, a few at a time, and
// counts them: `npm test`, or `node test/run.js PART-OF-A-NAME ...`, with `--name TEXT` those tests
// alone whose names have the text in them. `--unit` runs what needs no addon and not long,
// `--systems` what takes longer than all the rest together (docs/systems.md). What a check prints
// stands together, once it has ended.
const { spawn } = require('node:child_process')
const { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs')
const { availableParallelism, tmpdir } = require('node:os')
const { join, relative } = require('node:path')
const { parseArgs } = require('node:util')

const root = join(__dirname, '..')
const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    unit: { type: 'boolean', default: false },
    systems: { type: 'boolean', default: false },
    name: { type: 'string', default: '' }
  }
})
const program = (name) => join(root, 'node_modules', '.bin', name)
/** TypeScript 7, which takes a quarter of the time; tests of types ask 6, which users have. */
const types = (...args) => [process.execPath, [join(root, 'node_modules', 'typescript-7', 'bin', 'tsc'), ...args]]

/** What takes longest begins first, so that all cores have work to the end. */
const longest = [
  'test/src/packaging/package.test.ts',
  'test/native/emulated.test.ts',
  'test/src/plans/plan-files.test.ts',
  'test/src/packaging/ts-node.test.ts',
  'test/src/commands/commands.test.ts',
  'test/memory/memory.test.ts',
  'test/golden/torchvision.test.ts',
  'test/src/commands/library.test.ts',
  'test/properties/swapping.test.ts',
  'test/src/commands/bad-input.test.ts',
  'test/golden/networks.test.ts',
  'test/memory/windows.test.ts',
  'test/dsl/rejected.test.ts',
  'test/dsl/models.test.ts',
  'test/src/plans/recorded-device.test.ts',
  'test/dsl/types.test.ts',
  'test/src/commands/examples.test.ts',
  'test/src/ranks/kill-ranks.test.ts',
  'test/src/training/resume.test.ts',
  'test/src/plans/swapping.test.ts',
  'test/staging/placement.test.ts',
  'test/staging/auto.test.ts',
  'test/src/training/survive.test.ts',
  'test/src/plans/earlier-plans.test.ts',
  'test/properties/moving-pixels.test.ts',
  'test/src/training/kill.test.ts',
  'test/src/training/whole-validation.test.ts',
  'test/bench/gpu-check.test.ts',
  'test/src/plans/offload.test.ts',
  'test/src/ranks/plan-ranks.test.ts',
  'test/staging/swapping.test.ts',
  'test/properties/winograd.test.ts',
  'test/src/images/tiled-images.test.ts',
  'test/src/training/segmentation.test.ts',
  'test/properties/tiled-equals-untiled.test.ts',
  'test/training/frozen.test.ts',
  'test/src/plans/profile.test.ts'
]

/** Folders in the order in which they run after these; others follow by name. */
const order = [
  'test/dsl',
  'test/rejected',
  'test/staging',
  'test/native',
  'test/golden',
  'test/bench',
  'test/properties',
  'test/memory',
  'test/src'
]

const testFiles = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return testFiles(path)
    return entry.name.endsWith('.test.ts') ? [relative(root, path)] : []
  })

const rank = (file) => {
  if (longest.includes(file)) return longest.indexOf(file)
  const place = order.findIndex((folder) => file.startsWith(`${folder}/`))
  return longest.length + (place === -1 ? order.length : place)
}

/** What checks of this checkout found before, where nothing has changed since. */
const kept = join(root, 'node_modules', '.cache', 'tilefold')

/**
 * Plans must not depend on what was measured on this machine before, by its user or by another test
 * file.
 */
const cache = mkdtempSync(join(tmpdir(), 'tilefold-cache-'))
process.on('exit', () => rmSync(cache, { recursive: true, force: true }))

const environment = {
  FORCE_COLOR: '0',
  TILEFOLD_COMPILED: join(cache, 'compiled'),
  // By what is in the files: right from one run to the next.
  TILEFOLD_KEPT: join(kept, 'compiler'),
  TILEFOLD_TEST_NAME: options.name,
  ...(options.systems && { TILEFOLD_SYSTEMS: '1' }),
  // Tiny kernels on a busy machine: threads that spin while they wait take the time of those that
  // work.
  OMP_WAIT_POLICY: 'passive',
  // What processes free they get again soon: kept, it need not be touched for the first time again.
  GLIBC_TUNABLES: 'glibc.malloc.trim_threshold=1000000000:glibc.malloc.mmap_threshold=1000000000'
}

/** Of all processes that have ended: two that end at once may be taken for one another. */
const endedCpuSeconds = () => {
  // What stands behind the name of the program; times of children are the 16th and 17th of all.
  const [user, system] = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ').slice(13, 15)
  return (Number(user) + Number(system)) / 100
}
const knowsCpuSeconds = existsSync('/proc/self/stat')
let seenCpuSeconds = 0

/**
 * Runs a command, and answers with its status, what it printed and the CPU seconds that it took.
 */
const run = (command, args, more = {}) =>
  new Promise((resolve) => {
    let cpuSeconds
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...environment, ...more, XDG_CACHE_HOME: mkdtempSync(join(cache, 'measured-')) },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text))
    }
    child.on('exit', () => {
      if (!knowsCpuSeconds) return
      const now = endedCpuSeconds()
      cpuSeconds = now - seenCpuSeconds
      seenCpuSeconds = now
    })
    child.on('error', (error) => resolve({ status: 1, output: error.message }))
    child.on('close', (code, signal) => resolve({ status: code ?? signal, output, cpuSeconds }))
  })

/** A command that is one check by itself. */
const check = (name, command, args) => ({
  name,
  run: async () => {
    const { status, ...ended } = await run(command, args)
    return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0, ...ended }
  }
})

/** Ranks of one process wait for each other in libuv's threads, which are four unless told. */
const threadsOf = (file) =>
  /\b(localNetworks|rank-trainings|run-ranks|run-shards)\b/.test(readFileSync(join(root, file), 'utf8')) ? { UV_THREADPOOL_SIZE: '32' } : {}

/**
 * MiB: plans make much that is soon left, of which a fifth of the time went where V8 has 16.
 * Several threads that collect would take the cores of other tests.
 */
const collection = ['--max-semi-space-size=64', '--min-semi-space-size=64', '--single-threaded-gc']

/** A uvu file in a process of its own, so that a crash in native code is one failure. */
const suite = (file) => ({
  name: file,
  run: async () => {
    const { status, output, cpuSeconds } = await run(process.execPath, [...collection, '-r', './test/transpile.js', file], threadsOf(file))
    const count = (label) => Number(new RegExp(`^ {2}${label}: +(\\d+)`, 'm').exec(output)?.[1] ?? 0)
    const [total, passed, skipped] = [count('Total'), count('Passed'), count('Skipped')]
    const nothingRan = total + skipped === 0 && options.name === ''
    // A process that ends badly has failed, whatever it printed before.
    const failed = Math.max(total - passed, status !== 0 || nothingRan ? 1 : 0)
    const ended = failed > 0 ? `${file} failed with status ${status}${nothingRan ? ': it ran no test' : ''}\n` : ''
    return { passed, failed, skipped, output: output + ended, cpuSeconds }
  }
})

const files = testFiles(join(root, 'test')).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))

const quick = [
  check('types', ...types('-p', '.', '--incremental', '--tsBuildInfoFile', join(kept, 'types.tsbuildinfo'))),
  check('types of pages', ...types('-p', 'src/reports/page.tsconfig.json')),
  check('lint', process.execPath, [
    // V8 optimises later, as in commands: a sixth less time.
    '-r',
    './src/compile-late.js',
    join(root, 'node_modules', 'eslint', 'bin', 'eslint.js'),
    '.',
    '--max-warnings',
    '0',
    '--cache',
    '--cache-strategy',
    'content',
    '--cache-location',
    join(kept, 'lint')
  ]),
  check('format', program('oxfmt'), ['--list-different', '.'])
]

/** Of `npm run test:systems` alone, and those that do more there. */
const isOfSystems = (file) => file.startsWith('test/systems/')
const doesMoreInSystems = (file) => isOfSystems(file) || /\b(inSystems|propertyRuns)\b/.test(readFileSync(join(root, file), 'utf8'))

const ofNpmTest = files.filter((file) => !isOfSystems(file))

const sanitizers = check('sanitizers', 'bash', ['native/test/run'])

/** In this order. The sanitized builds take longest of all. */
const checksOf = () => {
  if (options.systems) return [sanitizers, ...files.filter(doesMoreInSystems).map(suite)]
  if (options.unit) return [...quick, ...ofNpmTest.filter(require('./unit.js').isUnit).map(suite)]
  return [...quick, sanitizers, ...ofNpmTest.map(suite)]
}

const checks = checksOf()

const main = async () => {
  const table = options.systems ? require('./systems-table.js') : undefined
  const sum = { passed: 0, failed: 0, skipped: 0 }
  const results = []
  const left = checks.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  const lane = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const started = Date.now()
      const { output, ...result } = await next.run()
      for (const key of Object.keys(sum)) sum[key] += result[key]
      results.push({ name: next.name, ...result })
      const seconds = ((Date.now() - started) / 1000).toFixed(1)
      const cpu = result.cpuSeconds === undefined ? '' : `, ${result.cpuSeconds.toFixed(1)} s of CPU`
      console.log(`\n== ${next.name}\n${output}== ${next.name}: ${result.passed} passed, ${result.failed} failed, ${seconds} s${cpu}`)
    }
  }
  // One more than there are cores: some wait, for a disk, a clock or each other.
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, lane))
  if (sum.skipped > 0) console.log(`\n${sum.skipped} skipped`)
  if (knowsCpuSeconds) console.log(`${endedCpuSeconds().toFixed(0)} s of CPU in all`)
  if (options.name === '') await table?.write(results)
  process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1
  console.log(`${sum.passed} passed, ${sum.failed} failed`)
}

void main()
