/**
 * What is packed here works in projects that know nothing of this clone: on each Node with the
 * newest TypeScript, and with each TypeScript on one Node; as CommonJS and as ECMAScript modules.
 * Compilers come from the registry.
 */
import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { join } from 'node:path'
import {
  commonjsModel,
  commonjsProgram,
  exportingProgram,
  javascriptModel,
  moduleProgram,
  ownFpTsProgram,
  printed,
  requiringProgram,
  throwingProgram,
  typescriptModel
} from './example-programs'
import { type Ended, type NodeProgram, borrow, installed, nodes, prints, run, writeFiles } from './strange-project'

const { project } = installed()
const command = join(project, 'node_modules', '.bin', 'tilefold')
const machines = nodes()
const at = (...names: readonly string[]): string => join(project, ...names)

test('Node 20, 22 and 24 are here', () => assert.is(machines.length, 3, machines.map(({ name }) => name).join()))

test('tilefold-build builds the addon in a project that has none', () => {
  const { project: bare } = installed('no addon')
  const inBare = (name: string): string => join(bare, 'node_modules', '.bin', name)
  const planned = (): Ended => run(bare, inBare('tilefold'), ['plan', 'vgg11', '--input', '1x3x64x64', '--threads', '1'])
  assert.match(planned().stderr, /^the native addon is not installed: .* npx tilefold-build /)
  const { stderr } = run(bare, inBare('tilefold-build'), [])
  assert.is(
    stderr,
    'the addon cannot be built without the packages cmake-js and node-addon-api: run npm install cmake-js@8 node-addon-api@8\n'
  )
  borrow(bare, ['cmake-js', 'node-addon-api'])
  const built = run(bare, inBare('tilefold-build'), ['--CDTILEFOLD_CUDA=OFF'])
  assert.match(built.stdout, /the addon is built\n$/, built.stderr)
  prints(planned(), /^vgg11, input 1x3x64x64/, 'the addon that was built')
  // An option of nothing that is in the package, so that nothing is built again.
  const again = run(bare, inBare('tilefold-build'), ['--CDTILEFOLD_EMULATED=OFF'])
  assert.match(again.stdout, /the addon is built\n$/, again.stderr)
  const settings = readFileSync(join(bare, 'node_modules', 'tilefold', 'native', 'build', 'CMakeCache.txt'), 'utf8')
  for (const option of ['CUDA', 'EMULATED']) assert.match(settings, new RegExp(`^TILEFOLD_${option}:BOOL=OFF$`, 'm'))
})

const newest = '6'
const typescripts = ['5.5', '5', newest] as const
const pairs = machines.flatMap((machine, index) =>
  typescripts.filter((typescript) => index === 0 || typescript === newest).map((typescript) => ({ machine, typescript }))
)
const tools = (typescript: string): string => at(`typescript-${typescript}`)
const bin = (typescript: string, name: string): string => {
  const packageOf: Readonly<Record<string, string>> = {
    tsc: 'typescript/bin/tsc',
    'ts-node': 'ts-node/dist/bin.js',
    tsx: 'tsx/dist/cli.mjs'
  }
  return join(tools(typescript), 'node_modules', packageOf[name]!)
}

for (const typescript of typescripts) {
  const folder = tools(typescript)
  writeFiles(folder, { 'package.json': { private: true } })
  const wanted = [`typescript@${typescript}`, 'ts-node@10', 'tsx', '@types/node@20']
  const { status, stderr } = run(folder, 'npm', ['install', '--no-audit', '--no-fund', ...wanted])
  assert.is(status, 0, `npm install ${wanted.join(' ')}\n${stderr}`)
  borrow(folder, ['fp-ts'])
}

/** Node prints warnings of its own on what is new in it. */
const quiet = { NODE_NO_WARNINGS: '1' }

const runs = ({ name, program }: NodeProgram, folder: string, args: readonly string[], expected: string | RegExp): void =>
  prints(run(folder, program, args, quiet), expected, `${name} ${args.join(' ')}`)

for (const machine of machines) {
  test(`plain JavaScript on ${machine.name}`, () => {
    const folder = at('plain')
    writeFiles(folder, { 'program.js': commonjsProgram, 'program.cjs': commonjsProgram, 'program.mjs': moduleProgram })
    for (const name of ['program.js', 'program.cjs', 'program.mjs']) runs(machine, folder, [name], printed)
    writeFiles(at('modules'), { 'package.json': { type: 'module' }, 'program.js': moduleProgram })
    runs(machine, at('modules'), ['program.js'], printed)
  })
}

for (const { machine, typescript } of pairs)
  test(`models and plans by the command line on ${machine.name} with TypeScript ${typescript}`, () => {
    const node = { compilerOptions: { module: 'nodenext', strict: true, types: [] } }
    const models: readonly (readonly [string, object, string, object?])[] = [
      ['model.ts', {}, typescriptModel()],
      ['model.ts', {}, typescriptModel(), node],
      ['model.cts', {}, typescriptModel()],
      ['model.mts', {}, typescriptModel()],
      ['model.js', {}, commonjsModel],
      ['model.js', {}, javascriptModel],
      ['model.cjs', {}, commonjsModel],
      ['model.mjs', {}, javascriptModel],
      ['model.ts', { type: 'module' }, typescriptModel()],
      ['model.ts', { type: 'module' }, typescriptModel(), node],
      ['model.mts', { type: 'module' }, typescriptModel(), node],
      ['model.js', { type: 'module' }, javascriptModel],
      ['model.cts', { type: 'module' }, typescriptModel()]
    ]
    models.forEach(([name, manifest, text, settings], index) => {
      const folder = join(tools(typescript), `models-${machine.name.replace(/\W/g, '')}-${index}`)
      writeFiles(folder, { 'package.json': manifest, [name]: text, ...(settings && { 'tsconfig.json': settings }) })
      const say = `${name} ${JSON.stringify(manifest)}`
      if (/ts$/.test(name)) {
        const wrong = name.replace('model', 'wrong')
        writeFiles(folder, { [wrong]: typescriptModel(33) })
        const { status, stderr } = run(folder, machine.program, [command, 'plan', wrong], quiet)
        assert.match(stderr, /^\S*wrong\.[cm]?ts:3:\d+: 0: conv2d: the kernel 33x33 is larger than its padded input 32x32\.\n$/, say)
        assert.is(status, 2)
      }
      runs(machine, folder, [command, 'plan', name, '--threads', '1'], /^small, input 1x3x32x32/)
      if (!/\.[cm]?ts$/.test(name)) return
      runs(machine, folder, [command, 'plan', name, '--threads', '1', '--out', 'made.plan.ts'], /^small/)
      runs(machine, folder, [command, 'plan', name, '--threads', '1', '--plan', 'made.plan.ts'], /^small/)
    })
  })

for (const typescript of typescripts) {
  const isOld = typescript !== newest
  const settings: readonly (readonly [string, object, string])[] = [
    ['commonjs', { module: 'commonjs' }, 'commonjs'],
    ['node16', { module: 'node16' }, 'commonjs'],
    ['nodenext', { module: 'nodenext' }, 'commonjs'],
    ['node16', { module: 'node16' }, 'module'],
    ['nodenext', { module: 'nodenext' }, 'module'],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }, 'module'],
    ['preserve', { module: 'preserve', noEmit: true, emitDeclarationOnly: false }, 'module']
  ]
  const strictness = {
    target: 'es2022',
    strict: true,
    skipLibCheck: false,
    declaration: true,
    esModuleInterop: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true
  }
  settings.forEach(([name, options, type], index) => {
    // Our declarations need Node's types in one setting as little as in another.
    for (const types of name === 'nodenext' ? [[], ['node']] : [['node']])
      test(`TypeScript ${typescript} compiles with module ${name} in a ${type} package, ${types.length === 0 ? 'without' : 'with'} Node's types`, () => {
        const folder = join(tools(typescript), `compiled-${index}-${types.length}`)
        writeFiles(folder, {
          'package.json': { type },
          'tsconfig.json': {
            compilerOptions: { ...strictness, ...options, types, rootDir: 'src', outDir: 'out' },
            files: ['src/own-fp-ts.ts', 'src/program.ts', 'src/exporting.ts']
          },
          'src/own-fp-ts.ts': ownFpTsProgram,
          'src/program.ts': moduleProgram.replace('console.log', types.length === 0 ? 'globalThis.console?.log' : 'console.log'),
          'src/exporting.ts': exportingProgram
        })
        prints(run(folder, process.execPath, [bin(typescript, 'tsc'), '-p', '.'], quiet), '', `${name} ${type}`)
        if (name === 'preserve') return
        runs(machines[0]!, folder, ['out/program.js'], printed)
      })
  })

  test(`a project of tsc --init with TypeScript ${typescript} compiles`, () => {
    for (const type of ['module', 'commonjs']) {
      const folder = join(tools(typescript), `init-${type}`)
      writeFiles(folder, {
        'package.json': { type },
        'program.ts': type === 'module' ? moduleProgram : requiringProgram,
        ...(type === 'module' && { 'exporting.ts': exportingProgram })
      })
      prints(run(folder, process.execPath, [bin(typescript, 'tsc'), '--init']), /tsconfig\.json/, 'tsc --init')
      const more = ['--verbatimModuleSyntax', '--declaration', '--strict', '--skipLibCheck', 'false', '--types', 'node', '--outDir', 'out']
      const modern = isOld ? ['--module', 'nodenext', '--target', 'es2022'] : []
      prints(run(folder, process.execPath, [bin(typescript, 'tsc'), '-p', '.', ...more, ...modern]), '', type)
      runs(machines[0]!, folder, ['out/program.js'], printed)
    }
  })
}

for (const { machine, typescript } of pairs) {
  test(`ts-node with TypeScript ${typescript} on ${machine.name}`, () => {
    const folder = join(tools(typescript), 'ts-node')
    const compilerOptions = { module: 'node16', moduleResolution: 'node16', target: 'es2022', strict: true, types: ['node'] }
    writeFiles(folder, {
      'package.json': {},
      'tsconfig.json': { compilerOptions },
      'quick/tsconfig.json': { compilerOptions, 'ts-node': { require: ['tilefold/ts-node'] } },
      'program.ts': moduleProgram,
      'quick/program.ts': moduleProgram,
      'wrong.ts': typescriptModel(33),
      'quick/wrong.ts': typescriptModel(33)
    })
    for (const place of ['', 'quick/']) {
      runs(machine, folder, [bin(typescript, 'ts-node'), `${place}program.ts`], printed)
      const { status, stderr } = run(folder, machine.program, [bin(typescript, 'ts-node'), `${place}wrong.ts`], quiet)
      assert.match(stderr, /the kernel 33x33 is larger than its padded input 32x32/)
      assert.is(status, 1)
    }
  })

  test(`ts-node with TypeScript ${typescript} on ${machine.name}, in a package of ECMAScript modules`, () => {
    const folder = join(tools(typescript), 'ts-node-modules')
    const compilerOptions = { module: 'nodenext', moduleResolution: 'nodenext', target: 'es2022', strict: true, types: ['node'] }
    writeFiles(folder, {
      'package.json': { type: 'module' },
      'tsconfig.json': { compilerOptions, 'ts-node': { require: ['tilefold/ts-node'] } },
      'program.ts': moduleProgram,
      'program.mts': moduleProgram,
      'network.ts': typescriptModel(),
      'throwing.ts': throwingProgram,
      'wrong.ts': typescriptModel(33),
      'importing.ts': "import wrong from './wrong.js'\nconsole.log(wrong.name)\n"
    })
    for (const name of ['program.ts', 'program.mts']) runs(machine, folder, [bin(typescript, 'ts-node'), name], printed)
    const fails = (name: string): string => {
      const { status, stdout, stderr } = run(folder, machine.program, [bin(typescript, 'ts-node'), name], quiet)
      assert.equal([stdout, status], ['', 1], stderr)
      return stderr
    }
    assert.match(fails('throwing.ts'), /^Error: small\n +at .*throwing\.ts:6:/m)
    for (const name of ['wrong.ts', 'importing.ts']) {
      const said = fails(name)
      assert.match(said, /^wrong\.ts\(3,\d+\): error TS2322: .*"0: conv2d: the kernel 33x33 is larger than its padded input 32x32"/m)
    }
  })

  test(`tsx beside TypeScript ${typescript} on ${machine.name}`, () => {
    const folder = join(tools(typescript), 'tsx')
    const byPath =
      "import { plan } from 'tilefold/promise'\nvoid plan({ model: 'model.ts' }).then((report) => console.log(report.segments.length))\n"
    writeFiles(folder, {
      'package.json': {},
      'program.ts': moduleProgram,
      'program.mts': moduleProgram,
      'by-path.ts': byPath,
      'model.ts': typescriptModel()
    })
    for (const name of ['program.ts', 'program.mts']) runs(machine, folder, [bin(typescript, 'tsx'), name], printed)
    runs(machine, folder, [bin(typescript, 'tsx'), 'by-path.ts'], '1\n')
  })
}

test.run()
