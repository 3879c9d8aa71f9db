/** The linter sees to README's table of imports, and to the layers of lowering: what may not be imported is an error, what may is none. */
import { ESLint } from 'eslint'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { root } from './command-line'

const cases: readonly (readonly [file: string, imported: string, allowed: boolean])[] = [
  ['dsl/new.ts', '../staging', false],
  ['staging/new.ts', '../src/failure', false],
  ['staging/strategies/new.ts', '../../native', false],
  ['native/new.ts', '../models', false],
  ['models/new.ts', '../staging', false],
  ['src/commands/new.ts', '../../test/dsl/compile', false],
  ['staging/strategies/new.ts', '../../dsl', true],
  ['native/new.ts', '../staging/program', true],
  ['src/commands/new.ts', '../../native', true],
  ['test/native/new.ts', '../../src', true],
  ['dsl/new.ts', 'fp-ts/function', true],
  ['staging/lowering/scope/new.ts', '../ops', false],
  ['staging/lowering/ops/new.ts', '../tile/pass', false],
  ['staging/lowering/tile/new.ts', '../segment/bind', false],
  ['staging/lowering/segment/new.ts', '../step/step', false],
  ['staging/lowering/step/new.ts', '../cost/estimate', false],
  ['staging/lowering/cost/new.ts', '../step/step', true],
  ['staging/lowering/ops/new.ts', '../scope/scope', true],
  ['staging/lowering/ops/new.ts', '../../program', true],
  ['staging/strategies/new.ts', '../lowering/cost/estimate', true],
  ['test/staging/new.ts', '../../staging/lowering/cost/timeline', true]
]

test('imports across the folders', async () => {
  const eslint = new ESLint({ cwd: root })
  for (const [file, imported, allowed] of cases) {
    const [result] = await eslint.lintText(`import * as imported from '${imported}'\nexport const used = imported\n`, { filePath: file })
    const rules = result!.messages.map(({ ruleId }) => ruleId)
    assert.equal(rules, allowed ? [] : ['boundaries/dependencies'], `${file} imports ${imported}`)
  }
})

test.run()
