/** What the compiler finds in a model or a plan, as the one sentence that a command says. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { plan } from '../../../src/commands/plan'
import { root } from '../command-line'

mkdirSync(join(root, 'out'), { recursive: true })
const folder = mkdtempSync(join(root, 'out', 'type-mistakes-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, text: string): string => {
  mkdirSync(join(folder, name, '..'), { recursive: true })
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** Without the way to the file. */
const said = async (options: Parameters<typeof plan>[0]): Promise<string> => {
  const answer = await plan({ threads: 1, ...options })()
  return E.isLeft(answer) ? answer.left.message.replace(/^\S*\//, '') : 'right'
}

const network = (layers: string): string => `
import { conv2d, globalAvgPool, linear, model, relu, tile } from 'tilefold/dsl'
export default model({ name: 'm', input: [1, 3, 32, 32], layers: [${layers}] })
`

test("of several mistakes, what tells most is said: the DSL's own sentence, or what was likely meant", async () => {
  for (const [layers, sentence] of [
    ['conv2d({ out: 8, k: 3 }), relu, tile({ h: 4 }), globalAvgPool', /^m\.ts:3:\d+: tile has no option h; did you mean H\?$/],
    ['conv2d({ out: 8, k: 35 }), relu, globalAvgPool', /^m\.ts:3:\d+: 0: conv2d: the kernel 35x35 is larger than its padded input 32x32$/],
    ["globalAvgPool, linear({ out: 'two' })", /^m\.ts:3:\d+: .*string.*number/]
  ] as const)
    assert.match(await said({ model: write('m.ts', network(layers)) }), sentence)
})

test('a plan that lacks a field says which, and no types', async () => {
  const made = `{ model: 'm', layers: [], order: [], strategy: 'auto', device: { name: 'cpu', precision: 'float32', threads: 1 },
    objective: 'train with sgd', graph: '', budget: null, peak: 1, segments: [], predicted: {} }`
  const model = write('right.ts', network('conv2d({ out: 8, k: 3 }), globalAvgPool, linear({ out: 2 })'))
  const file = write(
    'p.plan.ts',
    `import { planFor } from 'tilefold/dsl'\nimport model from './right'\nexport default planFor(model)(${made})\n`
  )
  const sentence = await said({ model, plan: file })
  assert.match(sentence, /^p\.plan\.ts:3:\d+: .*\binput\b.* (is )?missing/)
  assert.ok(sentence.length < 160, sentence)
})

test('what paths of tsconfig.json name is found when a module is checked and when it is run', async () => {
  write(
    'paths/tsconfig.json',
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions: { paths: { '@/*': ['./nowhere/*', './parts/*'] } } })
  )
  write('paths/parts/width.ts', 'export const width = 8')
  const model = write(
    'paths/m.ts',
    `import { width } from '@/width'
export default { name: 'm', input: [1, 3, 32, 32], layers: [{ op: 'conv2d', args: { out: width, k: 3 } }, { op: 'relu', args: {} }] }
`
  )
  assert.is(await said({ model }), 'right')
})

test('a project that turns strictness off is told so', async () => {
  write('loose/tsconfig.json', JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions: { strict: false } }))
  const model = write('loose/m.ts', network('conv2d({ out: 8, k: 3 }), globalAvgPool, linear({ out: 2 })'))
  assert.match(await said({ model }), /strict/)
})

test.run()
