/** What commands write by `--json`. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { jsonPieces } from '../../../src/text/json-pieces'

test('the pieces are what JSON.stringify gives', () => {
  const images = Array.from({ length: 5000 }, (_, index) => ({ path: `${index}.png`, scores: [index, -0.5], class: undefined }))
  const values = [{}, { a: undefined }, { a: undefined, b: null, c: [], d: [undefined, 'é\n'], e: { f: [1] } }, { images, skipped: [] }]
  for (const value of values) assert.is([...jsonPieces(value)].join(''), JSON.stringify(value))
})

test('a list that is more than a string holds is written all the same', () => {
  const list = Array<string>(520).fill('x'.repeat(2 ** 20))
  assert.throws(() => JSON.stringify({ list }), /Invalid string length/)
  let written = 0
  for (const piece of jsonPieces({ list })) written += piece.length
  assert.is(written, '{"list":[]}'.length + 520 * (2 ** 20 + 3) - 1)
})

test.run()
