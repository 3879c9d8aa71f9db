'use strict'
// Which test files are quick: they reach neither the addon nor other processes, and are none of
// those that take long by themselves.
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join, resolve } = require('node:path')
const { preProcessFile } = require('typescript')

const root = join(__dirname, '..')

/** They plan large networks, or ask the compiler of the types of all models. */
const long = [
  'test/dsl/editor.test.ts',
  'test/dsl/models.test.ts',
  'test/dsl/rejected.test.ts',
  'test/staging/auto.test.ts',
  'test/staging/placement.test.ts',
  'test/staging/plan-optimum.test.ts',
  'test/staging/swapping.test.ts'
]

const imported = new Map()

const importsOf = (file) => {
  if (!imported.has(file))
    imported.set(
      file,
      preProcessFile(readFileSync(file, 'utf8')).importedFiles.map(({ fileName }) => {
        const path = resolve(dirname(file), fileName)
        return fileName.startsWith('.') ? [`${path}.ts`, join(path, 'index.ts'), path].find(existsSync) : fileName
      })
    )
  return imported.get(file)
}

const reaches = (file, isWanted, seen = new Set()) => {
  if (seen.has(file)) return false
  seen.add(file)
  return importsOf(file).some((path) => isWanted(path) || (path?.endsWith('.ts') && path.startsWith(root) && reaches(path, isWanted, seen)))
}

const leavesTheProcess = (path) => path === join(root, 'native', 'addon', 'addon.ts') || path === 'node:child_process'

exports.isUnit = (file) => !long.includes(file) && !reaches(join(root, file), leavesTheProcess)
