/** What a person sees who calls a benchmark wrongly: one sentence and status 1. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const folder = join(__dirname, '..', '..', 'bench')

const refusal = (script: string, ...args: readonly string[]): string => {
  const call = ['-r', join(__dirname, '..', 'transpile.js'), join(folder, `${script}.ts`), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, call, { encoding: 'utf8', timeout: 60_000 })
  assert.equal([status, stdout], [1, ''], stderr)
  return stderr
}

test('an option that a script does not have is one sentence', () =>
  assert.is(refusal('hard-placements', '--nonsense'), "Error: Unknown option '--nonsense'\n"))

test('what is no number is refused, and never counts as one', () => {
  assert.is(refusal('hard-placements', '--buffers', '50,x'), 'Error: --buffers: x is not a whole number above 0\n')
  assert.is(refusal('chains', '--slots', '5,6'), 'Error: --slots: 5,6 is more than one number\n')
})

test('names that are not known are refused, beside those that are', () => {
  assert.match(refusal('placement', '--networks', 'vgg16,nonet'), /^Error: --networks: nonet is none of alexnet, [^\n]+\n$/)
})

test('only a budget that is too small is said not to fit', () =>
  assert.match(
    refusal('ranks', '--models', 'resnet18', '--size', '64', '--networks', 'foo'),
    /^Error: network: "foo" is not a network[^\n]+\n$/
  ))

test('all scripts read the command line in this way', () =>
  assert.equal(
    readdirSync(folder).filter((name) => name.endsWith('.ts') && /parseArgs|process\.argv/.test(readFileSync(join(folder, name), 'utf8'))),
    ['options.ts', 'planning-cell.ts']
  ))

test.run()
