/**
 * The packed packages in an empty project, in short: without network, on the oldest and the
 * newest Node that there is.
 * All compilers and settings: test/systems/packages.test.ts.
 */
import { mkdirSync, readFileSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  commonjsModel,
  commonjsProgram,
  exportingProgram,
  javascriptModel,
  moduleProgram,
  ownFpTsProgram,
  printed,
  realmProgram,
  throwingProgram,
  typescriptModel
} from '../../systems/example-programs'
import { type Ended, borrow, installed, nodes, prints, run, writeFiles } from '../../systems/strange-project'
import type { CommandName } from '../../../src/option-tables/command-table'
import { root } from '../command-line'
import { writeTiledTiff } from '../tiled-tiff'

const { project, said } = installed()
const command = join(project, 'node_modules', '.bin', 'tilefold')
/** All of them: test/systems/packages.test.ts. */
const oldestAndNewest = nodes(['20', '24'])
const quiet = { NODE_NO_WARNINGS: '1' }
const at = (...names: readonly string[]): string => join(project, ...names)

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)]
  )

const refused = ({ status, stdout, stderr }: Ended, sentence: RegExp): void => {
  assert.match(stderr, sentence)
  assert.equal([stdout, status], ['', 2])
}

test('under CI, Node 20 and 24 are here', () => {
  if (process.env['CI'] !== undefined) assert.ok(oldestAndNewest.length > 1, oldestAndNewest.map(({ name }) => name).join())
})

test('two files are all that is installed: JavaScript with maps to its sources, and nothing that is built', () => {
  assert.match(said, /added 2 packages/)
  const own = at('node_modules', 'tilefold')
  // Bundled packages may bring the sources of what they compiled.
  const sources = filesBelow(own).filter((path) => /(?<!\.d)\.[cm]?ts$/.test(path) && !path.startsWith(join(own, 'node_modules')))
  assert.equal(sources, [])
  // Those that were compiled; some of dist/ is JavaScript already.
  const mapped = filesBelow(join(own, 'dist')).filter((path) => /^\/\/# sourceMappingURL=/m.test(readFileSync(path, 'utf8')))
  assert.ok(mapped.includes(join(own, 'dist', 'src', 'index.js')))
  for (const path of mapped) assert.match(JSON.parse(readFileSync(`${path}.map`, 'utf8')).sourcesContent[0], /\S/, path)
  // Built with CUDA it has another name.
  const addons = readdirSync(at('node_modules', '@tilefold'))
  assert.is(addons.length, 1)
  for (const folder of [own, ...addons.map((name) => at('node_modules', '@tilefold', name))]) {
    const { scripts = {}, dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    for (const name of ['preinstall', 'install', 'postinstall']) assert.not.ok(name in scripts)
    for (const name of ['typescript', 'ts-node', 'cmake-js']) assert.not.ok(name in dependencies)
  }
})

test('help and the version need less than 0.2 s of a processor', () => {
  writeFiles(project, { 'measured.js': "process.on('exit', () => process.stderr.write(`${process.cpuUsage().user}`))\n" })
  const microseconds = (...args: readonly string[]): number =>
    Number(run(project, process.execPath, ['-r', './measured.js', ...args]).stderr)
  // In turn, since on a slow or busy machine a program that does nothing takes longer too.
  const rounds = Array.from({ length: 5 }, () =>
    [
      ['-e', '0'],
      [command, '--help'],
      [command, '--version']
    ].map((args) => microseconds(...args))
  )
  const [idle = NaN, ...needed] = [0, 1, 2].map((program) => Math.min(...rounds.map((round) => round[program] ?? NaN)))
  const allowed = Math.max(200_000, 4 * idle)
  for (const least of needed) assert.ok(least < allowed, `${needed.join(' and ')}, more than ${allowed}`)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  prints(run(project, command, ['--version']), `${version}\n`, '--version')
})

test('a page is drawn by what the package brings', () => {
  const planned = run(project, command, ['plan', 'vgg11', '--input', '1x3x64x64', '--report', 'page.html'])
  assert.is(planned.status, 0, planned.stderr)
  const page = readFileSync(at('page.html'), 'utf8')
  assert.match(page, /Leon Sorokin[^]*const addMemoryMap = /)
})

test('a part of the installation that is missing is a sentence', () => {
  writeFiles(project, { 'untyped/model.ts': typescriptModel() })
  refused(
    run(at('untyped'), command, ['plan', 'model.ts']),
    /^the module model\.ts is in TypeScript, which is not installed here: run npm install --save-dev typescript@6\.\n$/
  )
  writeFiles(project, { 'newest/node_modules/typescript/package.json': { version: '7.0.2' }, 'newest/model.ts': typescriptModel() })
  writeFiles(project, { 'newest/node_modules/typescript/index.js': '' })
  refused(
    run(at('newest'), command, ['plan', 'model.ts']),
    /TypeScript 7\.0\.2 cannot be asked for its types from JavaScript: run npm install --save-dev typescript@6\.\n$/
  )
})

/** What each command that needs the addon is told, of which nothing is there. */
const lacking: Readonly<Record<Exclude<CommandName, 'offload' | 'place'>, readonly string[]>> = {
  plan: [],
  explain: ['--report', 'none/page.html'],
  compare: ['--budgets', '50%'],
  train: ['--data', 'none'],
  predict: ['--weights', 'hf:nobody/nothing', '--image', 'none.png'],
  gradients: ['--weights', 'none.safetensors', '--batch', 'none.safetensors', '--out', 'out.safetensors'],
  bench: ['--trace', 'none/trace.json'],
  profile: ['--out', 'none/gpu.json'],
  chain: ['--out', 'none/chain.json']
}

test('without an addon each command says so, before all else that it lacks', () => {
  const [addon, away] = [at('node_modules', '@tilefold'), at('away')]
  renameSync(addon, away)
  try {
    const notInstalled =
      /^the native addon is not installed: run npm install \.\/tilefold-linux-\w+-[\d.]+\.tgz, or build it here with .*\.\n$/
    for (const [name, args] of Object.entries(lacking))
      refused(run(project, command, [...(name === 'chain' ? ['research'] : []), name, 'none.mjs', ...args]), notInstalled)
    refused(run(project, command, ['predict', 'none.mjs', ...lacking.predict, '--device', 'reference']), notInstalled)
    const planned = ['plan', 'vgg11', '--input', '1x3x64x64', '--device']
    for (const device of ['reference', 'node_modules/tilefold/devices/v100-16gb.json'])
      prints(run(project, command, [...planned, device]), /^vgg11, input 1x3x64x64/, `${device}, for which no addon is needed`)
  } finally {
    renameSync(away, addon)
  }
})

test('outside of its package, as a bundler puts it, it says so', () => {
  const [manifest, away] = [at('node_modules', 'tilefold', 'package.json'), at('manifest.json')]
  const planned =
    "require('./node_modules/tilefold/dist/src/promise').plan({ model: 'vgg11' }).catch(({ code, message }) => console.log(code, message))"
  writeFiles(project, { 'bundled.js': planned })
  renameSync(manifest, away)
  try {
    const said =
      /^missing Tilefold does not run from within a bundle, as in \/.*: leave the package tilefold out of it .* --external:tilefold .*\n$/
    prints(run(project, process.execPath, ['bundled.js']), said, 'a bundle')
  } finally {
    renameSync(away, manifest)
  }
})

test('a Node that is too old, and a system without a compiler, are a sentence', () => {
  const old = 'v18.20.8'
  writeFiles(project, {
    'old.js': `Object.defineProperty(process, 'version', { value: '${old}' })
      Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${old.slice(1)}' } })`
  })
  const builder = at('node_modules', '.bin', 'tilefold-build')
  for (const script of [command, builder])
    refused(
      run(project, process.execPath, ['-r', './old.js', script]),
      /^Tilefold needs Node [\d.]+ or newer, and this is v18\.20\.8: install one from https:\/\/nodejs\.org\n$/
    )
  writeFiles(project, {
    'old-library.js': `require('tilefold/promise').plan({ model: 'no model' }).catch(({ code, message }) => console.log(code, message))`
  })
  prints(
    run(project, process.execPath, ['-r', './old.js', 'old-library.js']),
    /^missing Tilefold needs Node [\d.]+ or newer, and this is v18\.20\.8: install one from https:\/\/nodejs\.org\n$/,
    'a program'
  )
  refused(
    run(project, process.execPath, [builder], { PATH: project }),
    /^the addon cannot be built without a C\+\+17 compiler, make, CMake, oneDNN 2\.6 to 3: .* apt install g\+\+ make cmake libdnnl-dev \(.*\n$/
  )
})

for (const { name, program } of oldestAndNewest)
  test(`programs, models and a training on ${name}`, () => {
    const runs = (folder: string, args: readonly string[], expected: string | RegExp): void =>
      prints(run(folder, program, args, quiet), expected, args.join(' '))
    writeFiles(project, { 'program.js': commonjsProgram, 'program.mjs': moduleProgram, 'model.mjs': javascriptModel })
    for (const script of ['program.js', 'program.mjs']) runs(project, [script], printed)
    for (const type of ['commonjs', 'module']) {
      const folder = at(`typed-${type}`)
      const settings = { compilerOptions: { module: 'nodenext', types: [] } }
      writeFiles(folder, { 'package.json': { type }, 'model.ts': typescriptModel(), 'wrong.ts': typescriptModel(33) })
      if (type === 'module') writeFiles(folder, { 'tsconfig.json': settings })
      if (name === oldestAndNewest[0]!.name) borrow(folder, ['typescript'])
      // All Nodes and both kinds of modules: test/systems/packages.test.ts.
      if (name === oldestAndNewest[0]!.name && type === 'module')
        refused(run(folder, program, [command, 'plan', 'wrong.ts'], quiet), /^wrong\.ts:3:\d+: 0: conv2d: the kernel 33x33 is larger than/)
      runs(folder, [command, 'plan', 'model.ts', '--out', 'made.plan.ts'], /^small, input 1x3x32x32/)
      runs(folder, [command, 'plan', 'model.ts', '--plan', 'made.plan.ts'], /^small, input 1x3x32x32/)
    }
    const data = join(root, 'examples', 'data', 'classes')
    // Pictures for TensorBoard are drawn by a package that the addon's brings.
    const shown = ['--tensorboard', 'events', '--steps', '2', '--seed', '1', '--json']
    const training = ['train', 'model.mjs', '--data', data, '--validation', data, ...shown]
    const { status, stdout, stderr } = run(project, program, [command, ...training], quiet)
    assert.is(status, 0, stderr)
    assert.is(JSON.parse(stdout).steps, 2)
    // Crops of tiles are freed by hand.
    for (const kind of ['a', 'b']) {
      mkdirSync(at('tiles', kind), { recursive: true })
      writeTiledTiff(at('tiles', kind, 'one.tif'), [{ height: 64, width: 64, pixels: new Uint8Array(3 * 64 * 64) }], {
        tile: 32,
        channels: 3
      })
    }
    const tiled = run(project, program, [command, 'train', 'model.mjs', '--data', 'tiles', '--steps', '2', '--json'], quiet)
    assert.is(tiled.status, 0, tiled.stderr)
  })

test('a model is found by its path in a realm of its own, as Jest runs tests', () => {
  const byPath = "require('tilefold/promise').plan({ model: 'model.mjs' }).then(({ segments }) => console.log(segments.length))"
  writeFiles(project, { 'model.mjs': javascriptModel, 'realm.js': realmProgram, 'by-path.js': byPath })
  prints(run(project, process.execPath, ['realm.js', './by-path.js'], quiet), '1\n', 'a realm')
})

test('a training and a failure of the system in such a realm', () => {
  const data = JSON.stringify(join(root, 'examples', 'data', 'classes'))
  const training = `const { train } = require('tilefold/promise')
    const tell = (save) => train({ model: require('./model.js'), data: ${data}, steps: 1, save }).then(({ steps }) => steps, ({ message }) => message)
    void tell().then(console.log).then(() => tell('none/weights.safetensors')).then(console.log)`
  writeFiles(project, { 'model.js': commonjsModel, 'realm.js': realmProgram, 'training.js': training })
  const said = '1\nnone/weights.safetensors: cannot be written (no such file or directory)\n'
  prints(run(project, process.execPath, ['realm.js', './training.js'], quiet), said, 'a training')
})

test('ts-node checks and runs ECMAScript modules', () => {
  const folder = at('ts-node-modules')
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, types: ['node'] }
  writeFiles(folder, {
    'package.json': { type: 'module' },
    'tsconfig.json': { compilerOptions, 'ts-node': { require: ['tilefold/ts-node'] } },
    'network.ts': typescriptModel(),
    'throwing.ts': throwingProgram,
    'wrong.ts': typescriptModel(33)
  })
  borrow(folder, ['typescript', 'ts-node', '@types'])
  const wrong = [
    'wrong.ts',
    /^wrong\.ts\(3,\d+\): error TS2322: .*"0: conv2d: the kernel 33x33 is larger than its padded input 32x32"/m
  ] as const
  for (const [index, { name, program }] of oldestAndNewest.entries())
    for (const [file, expected] of [
      ['throwing.ts', /^Error: small\n +at .*throwing\.ts:6:/m] as const,
      // On each Node: test/systems/packages.test.ts.
      ...(index === 0 ? [wrong] : [])
    ]) {
      const { status, stdout, stderr } = run(folder, program, ['node_modules/ts-node/dist/bin.js', file], quiet)
      assert.match(stderr, expected, name)
      assert.equal([stdout, status], ['', 1], name)
    }
})

test('TypeScript compiles what a strict project writes, our declarations included', () => {
  const folder = at('compiled')
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    strict: true,
    verbatimModuleSyntax: true,
    declaration: true,
    skipLibCheck: false,
    types: [],
    outDir: 'out',
    rootDir: '.'
  }
  writeFiles(folder, {
    'package.json': { type: 'module' },
    'tsconfig.json': { compilerOptions, files: ['own-fp-ts.ts', 'program.ts', 'exporting.ts'] },
    'own-fp-ts.ts': ownFpTsProgram,
    'program.ts': moduleProgram,
    'exporting.ts': exportingProgram
  })
  borrow(folder, ['fp-ts'])
  // Version 7 takes a quarter of the time; all others: test/systems/packages.test.ts.
  prints(run(folder, process.execPath, [join(root, 'node_modules', 'typescript-7', 'bin', 'tsc'), '-p', '.']), '', 'tsc')
  for (const { name, program } of oldestAndNewest) prints(run(folder, program, ['out/program.js'], quiet), printed, name)
})

test.run()
