import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { preProcessFile } from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const root = join(__dirname, '..', '..')

const sourcesIn = (folder: string, names = /(?<!\.d)\.ts$/): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'build' ? [] : sourcesIn(path, names)
    return names.test(entry.name) ? [path] : []
  })

/** The files of ours that a file imports, for types too. */
const importsOf = (file: string): readonly string[] =>
  preProcessFile(readFileSync(file, 'utf8')).importedFiles.flatMap(({ fileName }) => {
    const path = resolve(dirname(file), fileName)
    const found = fileName.startsWith('.') ? [`${path}.ts`, join(path, 'index.ts')].find((candidate) => existsSync(candidate)) : undefined
    return found === undefined ? [] : [found]
  })

const nativeSources = join(root, 'native', 'src')

/** The files of ours that a C++ file includes. */
const includesOf = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^#include "(.+)"$/gm)].map(([, name]) => {
    const found = [dirname(file), nativeSources].map((folder) => resolve(folder, name!)).find((candidate) => existsSync(candidate))
    assert.ok(found !== undefined, `${file} includes ${name}, which is nowhere`)
    return found
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

test('no folder of the C++ includes itself through others', () => {
  const files = sourcesIn(nativeSources, /\.(cpp|hpp|cu|cuh)$/)
  assert.ok(files.length > 300, `only ${files.length} files were looked at`)
  // What is generated of the kernels is theirs.
  const folderOf = (file: string): string => relative(nativeSources, dirname(file)).replace('generated', 'kernels')
  const folders = new Map<string, Set<string>>()
  for (const file of files)
    for (const included of includesOf(file)) {
      const [from, to] = [folderOf(file), folderOf(included)]
      // The interface of devices stands below all folders, the list of devices above them.
      if (from !== to && from !== '' && to !== '') folders.set(from, (folders.get(from) ?? new Set()).add(to))
    }
  assert.ok(folders.size > 20, `only ${folders.size} folders include others`)
  assert.equal(circleAmong(new Map([...folders].map(([from, to]) => [from, [...to]]))), [])
})

test.run()
