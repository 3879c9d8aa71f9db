'use strict'
// What ts-node does with the types of a program: it checks them as ever, but only those that have
// changed since it last did. For CommonJS and, in a thread of Node's, for ECMAScript modules.
const { join } = require('node:path')

/** What a running ts-node was told, as plain data. */
const settingsOf = ({ compilerPath, config, configFilePath, options, transpileOnly, ts }) => ({
  compilerPath,
  version: ts.version,
  compilerOptions: config.options,
  declarations: config.fileNames.filter((name) => /\.d\.[cm]?ts$/.test(name)),
  ignored: (options.ignoreDiagnostics ?? []).map(Number),
  // What Tilefold's own files hold is their own tsconfig's matter.
  checksOwn: configFilePath === join(__dirname, '..', '..', 'tsconfig.json'),
  checksNothing: Boolean(transpileOnly),
  isPretty: options.pretty ?? Boolean(process.stdout.isTTY)
})

const compilerOf = ({ compilerPath, version }) => ({ version, load: () => require(compilerPath) })

const textOf = ({ compilerPath, isPretty }, diagnostics) => {
  const { formatDiagnostics, formatDiagnosticsWithColorAndContext, sys } = require(compilerPath)
  const host = { getCurrentDirectory: () => process.cwd(), getCanonicalFileName: (name) => name, getNewLine: () => sys.newLine }
  return isPretty ? formatDiagnosticsWithColorAndContext(diagnostics, host) : formatDiagnostics(diagnostics, host)
}

/** Answers for a file with the compiler's diagnostics, of those that it imports too. */
const checker = (settings) => {
  if (settings.checksNothing) return () => []
  const { isOwn, typeCheck } = require('./type-check')
  const checked = new Set()
  return (fileName) => {
    if (checked.has(fileName)) return []
    const verdict = typeCheck({
      compiler: compilerOf(settings),
      entry: fileName,
      name: [settings.compilerOptions],
      declarations: settings.declarations,
      options: () => settings.compilerOptions,
      // And of whoever runs one of them.
      isChecked: (path) => !isOwn(path) || (settings.checksOwn && isOwn(fileName))
    })
    if (verdict._tag === 'Right') verdict.right.forEach((path) => checked.add(path))
    return verdict._tag === 'Right' ? [] : verdict.left.diagnostics.filter(({ code }) => !settings.ignored.includes(code))
  }
}

module.exports = { checker, compilerOf, settingsOf, textOf }
