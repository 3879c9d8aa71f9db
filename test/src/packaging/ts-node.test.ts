/**
 * Programs of users through the real ts-node, in this clone: checked before they run, and quickly
 * where nothing has changed.
 */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { inSystems } from '../../in-systems'
import { root } from '../command-line'

mkdirSync(join(root, 'out'), { recursive: true })
const folder = mkdtempSync(join(root, 'out', 'ts-node-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const at = (name: string): string => join(folder, name)
/** Of the test that runs. */
let cache = ''
test.before.each(() => void (cache = mkdtempSync(at('cache-'))))

const write = (name: string, text: string): string => {
  mkdirSync(join(at(name), '..'), { recursive: true })
  writeFileSync(at(name), text)
  return at(name)
}

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** ts-node's own program; V8 optimises the compiler later, as in commands: a fifth less time. */
const starting = ['-r', join(root, 'src', 'compile-late.js'), join(root, 'node_modules', '.bin', 'ts-node')]

const tsNode = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): Ended =>
  spawnSync(process.execPath, [...starting, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, TILEFOLD_KEPT: '', XDG_CACHE_HOME: cache, ...environment }
  })

const ran = ({ status, stdout, stderr }: Ended, printed: string): void => assert.equal([stderr, stdout, status], ['', `${printed}\n`, 0])
const refused = ({ status, stdout, stderr }: Ended, sentence: RegExp): void => {
  assert.match(stderr, sentence)
  assert.not.match(stderr, /^ +at /m)
  assert.equal([stdout, status], ['', 1])
}

/** What the checker left: it leaves new files whenever it runs. */
const traces = (): readonly string[] =>
  readdirSync(join(cache, 'tilefold', 'types'))
    .sort()
    .map((name) => `${name} ${statSync(join(cache, 'tilefold', 'types', name)).ino}`)

const network = (kernel: number): string => `
  import { conv2d, globalAvgPool, linear, model, relu } from 'tilefold/dsl'
  console.log(model({ name: 'small', input: [1, 3, 32, 32], layers: [conv2d({ out: 8, k: ${kernel} }), relu, globalAvgPool, linear({ out: 2 })] }).name)`

test('a network that is wrong ends with the sentence before it runs, one that is right runs, and is not checked again', () => {
  const program = write('network.ts', network(33))
  const sentence = /^network\.ts\(3,\d+\): error TS2322: .*Invalid<"0: conv2d: the kernel 33x33 is larger than its padded input 32x32">/
  refused(tsNode([program]), sentence)
  write('network.ts', network(3))
  ran(tsNode([program]), 'small')
  const left = traces()
  ran(tsNode([program]), 'small')
  assert.equal(traces(), left)
  if (!inSystems) return
  write('network.ts', network(33))
  refused(tsNode([program]), sentence)
})

test('whatever changes is noticed: a file that is imported, how it is found, and a file that was not there', () => {
  const program = write('program.ts', "import { size } from './size'\nconst twice: number = 2 * size\nconsole.log(twice)\n")
  write('size/index.ts', "export { size } from './inner'\n")
  write('size/inner.ts', 'export const size = 4\n')
  ran(tsNode([program]), '8')
  write('size/inner.ts', "export const size = '4'\n")
  refused(tsNode([program]), /^program\.ts\(2,27\): error TS2363/)
  write('size/inner.ts', 'export const size = 4\nexport const other: string = 5\n')
  refused(tsNode([program]), /^size\/inner\.ts\(2,14\): error TS2322/)
  write('size/inner.ts', 'export const size = 4\n')
  ran(tsNode([program]), '8')
  write('size.ts', "export const size = '5'\n")
  refused(tsNode([program]), /^program\.ts\(2,27\): error TS2363/)
  rmSync(at('size.ts'))
  ran(tsNode([program]), '8')
})

test('what is damaged in the cache, or of another program, is not believed, and a cache that cannot be written is done without', () => {
  const [one, other] = [write('one.ts', 'console.log(1)\n'), write('other.ts', 'console.log(2)\n')]
  ran(tsNode([one]), '1')
  const kept = join(cache, 'tilefold', 'types')
  const before = new Set(readdirSync(kept))
  ran(tsNode([other]), '2')
  const [ofOther] = readdirSync(kept).filter((name) => !before.has(name))
  write('other.ts', 'const two: string = 2\n')
  // Of one kind or the other; in the long tests of each, and other folders that cannot be written.
  for (const name of inSystems ? before : [...before].slice(0, 1)) {
    copyFileSync(join(kept, name), join(kept, ofOther!))
    refused(tsNode([other]), /^other\.ts\(1,7\): error TS2322/)
  }
  cpSync(cache, at('damaged'), { recursive: true })
  for (const kind of ['types', 'transpiled'])
    for (const name of readdirSync(join(at('damaged'), 'tilefold', kind))) {
      const path = join(at('damaged'), 'tilefold', kind, name)
      if (kind === 'types') truncateSync(path, Math.floor(statSync(path).size / 2))
      else writeFileSync(path, readFileSync(path, 'utf8').replace('console.log(1)', 'console.log(3)'))
    }
  ran(tsNode([one], { XDG_CACHE_HOME: at('damaged') }), '1')
  refused(tsNode([other], { XDG_CACHE_HOME: at('damaged') }), /^other\.ts/)
  for (const nowhere of inSystems ? ['/dev/null', '/proc/x'] : ['/dev/null']) ran(tsNode([one], { XDG_CACHE_HOME: nowhere }), '1')
  refused(tsNode([other], { XDG_CACHE_HOME: '/dev/null' }), /^other\.ts/)
})

test('who asks for no checks gets none, and who brings a project of their own gets its', () => {
  const program = write('loose.ts', 'const two: string = 2\nconsole.log(two)\n')
  for (const [args, environment] of [
    [['-T'], {}],
    [[], { TS_NODE_TRANSPILE_ONLY: 'true' }]
  ] as const)
    ran(tsNode([...args, program], environment), '2')
  const project = write('project/tsconfig.json', JSON.stringify({ compilerOptions: { target: 'es2022', module: 'node16', types: [] } }))
  const { status, stderr } = tsNode(['-P', project, program])
  assert.match(stderr, /Unable to compile TypeScript:\s*(?:\S*)loose\.ts/)
  assert.is(status, 1)
  refused(tsNode(['--type-check', program]), /^loose\.ts\(1,7\)/)
  ran(tsNode(['-e', 'console.log((1 as number) + 1)']), '2')
  assert.match(tsNode(['-e', 'const two: string = 2']).stderr, /Type 'number' is not assignable to type 'string'/)
  write('later.ts', "try { require('./loose') } catch (error) { console.log((error as Error).name) }\n")
  ran(tsNode([at('later.ts')]), 'TSError')
})

test.run()
