import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { compiled } from '../../src/modules/load-typescript'
import { type Ended, root, runScript, type tilefold } from './command-line'
import { commandServer } from './command-server'
import { temporaryFolder } from './temporary-folder'

const sourceFiles = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'build' || entry.name === 'node_modules' ? [] : sourceFiles(path)
    return /(?<!\.d)\.ts$|\.js$/.test(entry.name) ? [path] : []
  })

/** A small model that needs no compiler, beside the compiled command. */
const smallModel = `const { conv2d, dropout, globalAvgPool, linear, maxPool2d, model, relu } = require('./dsl')
const layers = [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), globalAvgPool, dropout({ rate: 0.2 }), linear({ out: 2 })]
exports.default = model({ name: 'small', input: [2, 3, 16, 16], layers })
`

/** A network of few kernels, where each takes a fifth of a second to be measured. */
const tinyModel = `const { globalAvgPool, linear, model } = require('./dsl')
exports.default = model({ name: 'tiny', input: [1, 3, 8, 8], layers: [globalAvgPool, linear({ out: 2 })] })
`

export interface CompiledCommand {
  /** Arguments of node that come before the command's own. */
  readonly script: string
  /** Parameters 0.weight [4, 3, 3, 3], 0.bias [4], 5.weight [2, 4], 5.bias [2]; input 2x3x16x16. */
  readonly model: string
  /** A network of few kernels, beside it. */
  readonly tinyModel: string
  /** small-model.ts in JavaScript. */
  readonly smallModel: string
  /**
   * Runs the command; from its sources where an argument is a TypeScript module, which imports
   * them.
   */
  readonly run: typeof tilefold
  /**
   * Runs commands in a process that runs those of this file one after the other, another one for
   * those with a TypeScript module; undefined where a run ended its process.
   */
  readonly runsInTurn: (args: readonly (readonly string[])[]) => Promise<readonly (Ended | undefined)[]>
  /**
   * Runs one that must not end its process; by itself with a TypeScript module, which may have
   * changed.
   */
  readonly runInTurn: (args: readonly string[]) => Promise<Ended>
}

const compile = (folder: string): void => {
  const sources = ['dsl', 'staging', 'native', 'models', 'src'].flatMap((name) => sourceFiles(join(root, name)))
  for (const file of [...sources, join(__dirname, 'small-model.ts')]) {
    const target = join(folder, relative(root, file).replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, file.endsWith('.js') ? readFileSync(file) : compiled(file).outputText)
  }
  // As the package's own start does.
  const cli = join(folder, 'src', 'cli.js')
  writeFileSync(cli, `"use strict"\nrequire('./compile-late.js')\n${readFileSync(cli, 'utf8')}`)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  symlinkSync(join(root, 'native', 'build'), join(folder, 'native', 'build'))
  writeFileSync(join(folder, 'small.js'), smallModel)
  writeFileSync(join(folder, 'tiny.js'), tinyModel)
  const exports = {
    '.': './src/index.js',
    './dsl': './dsl/index.js',
    './models': './models/index.js',
    './promise': './src/promise.js',
    './package.json': './package.json'
  }
  const { version, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<Record<string, unknown>>
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'tilefold', version, engines, exports }))
}

const sourceCli = join(root, 'src', 'cli.ts')
const transpiling = ['-r', join(root, 'test', 'transpile.js')]

const namesTypeScript = (args: readonly string[]): boolean => args.some((arg) => arg.endsWith('.ts'))

/**
 * The command line in JavaScript, compiled once for all test files of a run: it starts ten times as
 * fast as through ts-node.
 */
export const compiledCommand = (): CompiledCommand => {
  const folder = process.env['TILEFOLD_COMPILED'] ?? join(temporaryFolder(), 'code')
  if (!existsSync(folder)) {
    const own = `${folder}.${process.pid}`
    compile(own)
    try {
      renameSync(own, folder)
    } catch (error) {
      // Another test file, which runs beside this one, was first.
      if (!existsSync(folder)) throw error
      rmSync(own, { recursive: true })
    }
  }
  const script = join(folder, 'src', 'cli.js')
  const run = (args: readonly string[], onStart?: (child: ChildProcess) => void): Promise<Ended> =>
    runScript([...(namesTypeScript(args) ? [...transpiling, sourceCli] : [script]), ...args], onStart)
  const servers = { typed: commandServer(sourceCli, transpiling), plain: commandServer(script) }
  const inTurn = (args: readonly string[]) => servers[namesTypeScript(args) ? 'typed' : 'plain'](args)
  const runsInTurn: CompiledCommand['runsInTurn'] = (all) => Promise.all(all.map(inTurn))
  const runInTurn = async (args: readonly string[]): Promise<Ended> => {
    const ended = await (namesTypeScript(args) ? run(args) : inTurn(args))
    if (ended === undefined) throw new Error(`this ended its process: ${args.join(' ')}`)
    return ended
  }
  const at = (...names: readonly string[]): string => join(folder, ...names)
  const models = { model: at('small.js'), tinyModel: at('tiny.js'), smallModel: at('test', 'src', 'small-model.js') }
  return { script, ...models, run, runsInTurn, runInTurn }
}
