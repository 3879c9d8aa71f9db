'use strict'
// Loads TypeScript as ts-node does, but each file is transpiled once for all processes of a run: node -r ./test/transpile.js FILE.
const { createHash } = require('node:crypto')
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

/** Where it is kept; absent: nowhere. */
const folder = process.env.TILEFOLD_TRANSPILED

const transpile = (source, fileName) => {
  const { ModuleKind, ScriptTarget, transpileModule } = require('typescript')
  const compilerOptions = { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022, esModuleInterop: true, inlineSourceMap: true }
  return transpileModule(source, { compilerOptions, fileName }).outputText
}

const transpiled = (file) => {
  const source = readFileSync(file, 'utf8')
  if (folder === undefined) return transpile(source, file)
  const known = join(folder, `${createHash('sha256').update(file).update(source).digest('hex')}.js`)
  try {
    return readFileSync(known, 'utf8')
  } catch {
    const code = transpile(source, file)
    mkdirSync(folder, { recursive: true })
    // Whole at once: others read meanwhile.
    writeFileSync(`${known}.${process.pid}`, code)
    renameSync(`${known}.${process.pid}`, known)
    return code
  }
}

process.setSourceMapsEnabled(true)
require.extensions['.ts'] = (module, file) => module._compile(transpiled(file), file)
