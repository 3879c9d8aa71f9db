'use strict'
const { cacheText, readCachedText } = require('../files/cached-text.js')

/**
 * What a compiler makes of a file, without checking it: made once for a text, and kept in the
 * user's cache.
 */
const transpiled = ({ version, load }, source, fileName, compilerOptions) => {
  const name = ['transpiled', version, compilerOptions, fileName]
  const kept = readCachedText(name, source)
  if (kept !== undefined) return JSON.parse(kept)
  const { outputText, sourceMapText, diagnostics } = load().transpileModule(source, { compilerOptions, fileName, reportDiagnostics: true })
  if (diagnostics.length === 0) cacheText(name, source, JSON.stringify({ outputText, sourceMapText }))
  return { outputText, sourceMapText, diagnostics }
}

/** For ts-node, as its `transpiler`. */
const create = ({ service, nodeModuleEmitKind }) => {
  const typescript = require(service.projectLocalResolveHelper('typescript', true))
  const compiler = { version: typescript.version, load: () => typescript }
  const { ModuleKind } = typescript
  const forNode = { nodecjs: ModuleKind.Node16, nodeesm: ModuleKind.ESNext }[nodeModuleEmitKind]
  // One file by itself may lie anywhere.
  const compilerOptions = { ...service.config.options, rootDir: '/', ...(forNode === undefined ? {} : { module: forNode }) }
  return { transpile: (source, { fileName }) => transpiled(compiler, source, fileName, compilerOptions) }
}

module.exports = { create, transpiled }
