/** docs/command-line.md is what the tables of options say. */
import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commandLineDocument, commandLinePath } from '../../src/cli/document'
import { commandTable, researchTable } from '../../src/option-tables/command-table'

test('the document of the command line is the one that npm run generate writes', () => {
  assert.is(readFileSync(commandLinePath, 'utf8'), commandLineDocument())
})

test('every command has one argument, and every option of the command line a line of help', () => {
  for (const [name, { options }] of Object.entries({ ...commandTable, ...researchTable })) {
    assert.is(Object.values(options).filter((option) => 'isArgument' in option).length, 1, name)
    for (const [option, { kind, help, ...row }] of Object.entries(options))
      assert.ok(help !== '' || !('written' in kind) || 'isHidden' in row, `${name} ${option}`)
  }
})

test.run()
