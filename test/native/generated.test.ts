import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { generateFiles, generatedFolder } from '../../native/generate'

test('the C++ of what staging declares of kernels is as "npm run generate" writes it', () => {
  for (const [name, text] of Object.entries(generateFiles)) assert.is(readFileSync(join(generatedFolder, name), 'utf8'), text, name)
})

test.run()
