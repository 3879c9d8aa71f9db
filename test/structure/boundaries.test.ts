/**
 * The linter sees to the tables of folders in docs/architecture.md: what may not be imported is an
 * error, what may is none.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ESLint } from 'eslint'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { root } from '../src/command-line'

/** What the table says that each folder may import of ours. */
const mayImport = new Map(
  [...readFileSync(join(root, 'docs', 'architecture.md'), 'utf8').matchAll(/^\| `(\w+)` +\|[^|]*\|([^|]*)\|$/gm)].map(
    ([, folder, imports]) => [folder!, [...imports!.matchAll(/`(\w+)`/g)].map(([, imported]) => imported!)] as const
  )
)

/** What the table of the folders of src says that each may import of them. */
const srcMayImport = new Map(
  [...readFileSync(join(root, 'docs', 'architecture.md'), 'utf8').matchAll(/^\| `([\w-]+)\/` +\|[^|]*\|([^|]*)\|$/gm)].map(
    ([, folder, imports]) => [folder!, [...imports!.matchAll(/`([\w-]+)\/`/g)].map(([, imported]) => imported!)] as const
  )
)
/** A module of each folder of src that has some; src/packaging is of scripts. */
const srcModules = new Map(
  readdirSync(join(root, 'src'), { withFileTypes: true }).flatMap((one) => {
    const file = one.isDirectory() && readdirSync(join(root, 'src', one.name)).find((name) => /(?<!\.d)\.ts$/.test(name))
    return file ? [[one.name, `../${one.name}/${file.replace(/\.ts$/, '')}`]] : []
  })
)
const srcFolders = [...srcModules.keys()]

/** What the table of the folders of staging says that each may import, from the lowest up. */
const stagingMayImport = new Map(
  [...readFileSync(join(root, 'docs', 'architecture.md'), 'utf8').matchAll(/^\| `staging\/([\w/-]+)` +\|[^|]*\|([^|]*)\|$/gm)].map(
    ([, folder, imports]) => [folder!, [...imports!.matchAll(/`([\w/-]+)`/g)].map(([, imported]) => imported!)] as const
  )
)
const stagingFolders = [...stagingMayImport.keys()]
const modulesOf = (folder: string): readonly string[] =>
  readdirSync(join(root, 'staging', folder)).flatMap((name) => (name.endsWith('.ts') ? [name.replace('.ts', '')] : []))
const foldersWithin = (folder: string): readonly string[] =>
  readdirSync(join(root, 'staging', folder), { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [join(folder, one.name)] : []))
/** From a file of a folder of staging to a module of another one. */
const fromStaging = (folder: string, target: string): string =>
  `./${relative(join(root, 'staging', folder), join(root, 'staging', target))}`

/** A module of each folder that has no index. */
const modules: { readonly [F in string]?: string } = { examples: 'own-model', bench: 'median', test: 'property-runs' }

/** Files, beside one in each folder: deeper ones, and packages. */
const deeper: readonly (readonly [file: string, imported: string, allowed: boolean])[] = [
  ['staging/new.ts', '../src/failure', false],
  ['staging/strategies/new.ts', '../../native', false],
  ['src/commands/new.ts', '../../test/dsl/compile', false],
  ['staging/strategies/new.ts', '../../dsl', true],
  ['src/commands/new.ts', '../../native', true],
  ['dsl/new.ts', 'fp-ts/function', true],
  ['staging/strategies/sft/new.ts', '../../stage', false],
  ['staging/new.ts', './strategies', true],
  ['test/staging/new.ts', '../../staging/lowering/cost/timeline', true]
]

const cases = [
  ...[...mayImport].flatMap(([folder, imports]) =>
    [...mayImport.keys()]
      .filter((other) => other !== folder)
      .map((other) => [`${folder}/new.ts`, `../${join(other, modules[other] ?? '')}`, imports.includes(other)] as const)
  ),
  ...deeper,
  ...stagingFolders.flatMap((folder) => [
    ...stagingFolders
      .filter((other) => other !== folder)
      .map(
        (other) =>
          [
            `staging/${folder}/new.ts`,
            fromStaging(folder, join(other, modulesOf(other)[0]!)),
            stagingMayImport.get(folder)!.includes(other)
          ] as const
      ),
    [`staging/${folder}/new.ts`, fromStaging(folder, 'stage'), false] as const,
    [`staging/${folder}/new.ts`, fromStaging(folder, 'memoize'), true] as const
  ]),
  ...[...srcMayImport].flatMap(([folder, imports]) => [
    ...srcFolders
      .filter((other) => other !== folder)
      .map((other) => [`src/${folder}/new.ts`, srcModules.get(other)!, imports.includes(other)] as const),
    [`src/${folder}/new.ts`, '../cli', false] as const
  ])
]

test('the table has every folder with code', () =>
  assert.equal([...mayImport.keys()], ['dsl', 'models', 'staging', 'native', 'src', 'examples', 'bench', 'test']))

test('the table of the folders of src has every one', () => assert.equal([...srcMayImport.keys()].sort(), [...srcFolders].sort()))

test('the table of the folders of staging has every one, and none imports one below it', () => {
  const folders = [...foldersWithin('').filter((folder) => folder !== 'lowering'), ...foldersWithin('lowering'), 'lowering']
  assert.equal([...stagingFolders].sort(), folders.sort())
  stagingFolders.forEach((folder, place) =>
    stagingMayImport
      .get(folder)!
      .forEach((imported) => assert.ok(stagingFolders.indexOf(imported) < place, `${folder} imports ${imported}`))
  )
})

test('imports across the folders', async () => {
  const eslint = new ESLint({ cwd: root })
  for (const [file, imported, allowed] of cases) {
    const [result] = await eslint.lintText(`import * as imported from '${imported}'\nexport const used = imported\n`, { filePath: file })
    const rules = result!.messages.map(({ ruleId }) => ruleId)
    assert.equal(rules, allowed ? [] : ['boundaries/dependencies'], `${file} imports ${imported}`)
  }
})

test.run()
