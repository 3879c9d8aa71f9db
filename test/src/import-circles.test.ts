import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { preProcessFile } from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const root = join(__dirname, '..', '..')

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'build' ? [] : sourcesIn(path)
    return /(?<!\.d)\.ts$/.test(entry.name) ? [path] : []
  })

/** The files of ours that a file imports, for types too. */
const importsOf = (file: string): readonly string[] =>
  preProcessFile(readFileSync(file, 'utf8')).importedFiles.flatMap(({ fileName }) => {
    const path = resolve(dirname(file), fileName)
    const found = fileName.startsWith('.') ? [`${path}.ts`, join(path, 'index.ts')].find((candidate) => existsSync(candidate)) : undefined
    return found === undefined ? [] : [found]
  })

/**
 * The first circle that is met from any of the files on, each file before the one that it imports.
 */
const circleAmong = (imports: ReadonlyMap<string, readonly string[]>): readonly string[] => {
  const done = new Set<string>()
  const from = (file: string, above: readonly string[]): readonly string[] => {
    if (above.includes(file)) return [...above.slice(above.indexOf(file)), file]
    if (done.has(file)) return []
    for (const imported of imports.get(file) ?? []) {
      const circle = from(imported, [...above, file])
      if (circle.length > 0) return circle
    }
    done.add(file)
    return []
  }
  for (const file of imports.keys()) {
    const circle = from(file, [])
    if (circle.length > 0) return circle
  }
  return []
}

test('no file imports itself through others, not even for types', () => {
  const files = ['dsl', 'models', 'staging', 'native', 'src', 'bench', 'examples', 'test'].flatMap((folder) =>
    sourcesIn(join(root, folder))
  )
  assert.ok(files.length > 500, `only ${files.length} files were looked at`)
  const imports = new Map(files.map((file) => [file, importsOf(file)] as const))
  assert.ok([...imports.values()].flat().length > 2 * files.length, 'imports were not found')
  assert.equal(
    circleAmong(imports).map((file) => relative(root, file)),
    []
  )
  assert.equal(
    circleAmong(
      new Map([
        ['a', ['b']],
        ['b', ['c', 'd']],
        ['c', []],
        ['d', ['b']]
      ])
    ),
    ['b', 'd', 'b']
  )
})

test.run()
