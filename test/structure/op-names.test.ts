/**
 * What an op is, its record says (dsl/ops, staging/ops): other code names none, so that a new op is
 * no case of it.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import * as ts from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { opRecords } from '../../dsl/ops'

const root = join(__dirname, '..', '..')

/** Where ops are declared, row by row, or are something else of the same name. */
const declared: readonly string[] = [
  'dsl/ops/',
  'dsl/layers.ts',
  'staging/ops/',
  'src/model/layer-codecs.ts',
  // A layer of an expression, which has names of its own.
  'dsl/activations.ts',
  'dsl/expression/',
  'dsl/layer.ts',
  'dsl/flat/layer-text.ts',
  // Which op joins the branches of a block, and the losses that are appended.
  'dsl/flat/entries.ts',
  'dsl/flat/flat-layers.ts',
  'dsl/flat/repeated-name.ts',
  'dsl/typing/',
  // Papers whose methods are told types of ops.
  'staging/strategies/dymem.ts',
  'staging/strategies/lms-hybrid.ts'
]

/** Words of expressions, fields and access maps too: an op's where an `op` is compared. */
const words = ['add', 'mul', 'pad', 'resize']

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'build' ? [] : sourcesIn(path)
    return /(?<!\.d)\.ts$/.test(entry.name) ? [path] : []
  })

/** The names of ops in a source, with their lines. */
const namesIn = (text: string): readonly string[] => {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true)
  const within = (node: ts.Node): readonly string[] => {
    const own = ts.isStringLiteralLike(node) && Object.hasOwn(opRecords, node.text) ? [node] : []
    const asked = own.filter(
      ({ text, parent }) => !words.includes(text) || (ts.isBinaryExpression(parent) && /\bop\b/.test(parent.left.getText()))
    )
    return [
      ...asked.map((one) => `${source.getLineAndCharacterOfPosition(one.getStart()).line + 1} '${one.text}'`),
      ...node.getChildren().flatMap(within)
    ]
  }
  return within(source)
}

test('names of ops are found, in types too', () =>
  assert.equal(namesIn("const isOne = op === 'conv2d'\ntype A = B extends 'linear' ? 1 : 0 // 'relu'\nconst c = ['add', op === 'mul']"), [
    "1 'conv2d'",
    "2 'linear'",
    "3 'mul'"
  ]))

test('no op is named where its record can say what it is', () => {
  const files = ['dsl', 'staging', 'native', 'src'].flatMap((folder) => sourcesIn(join(root, folder)))
  assert.ok(files.length > 300, `only ${files.length} files were looked at`)
  const named = files
    .map((file) => relative(root, file))
    .filter((file) => !declared.some((place) => file.startsWith(place)))
    .flatMap((file) => namesIn(readFileSync(join(root, file), 'utf8')).map((name) => `${file}:${name}`))
  assert.equal(named, [])
})

test.run()
