'use strict'
// For ts-node, which requires it first (tsconfig.json): it checks types as ever, but only those
// that have changed since it last did.
const { existsSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')

const isClone = existsSync(join(__dirname, 'index.ts'))
if (isClone) require('./modules/from-source.js')

/** As ts-node itself keeps it for others. */
const service = process[Symbol.for('ts-node.register.instance')]

/** The ts-node that runs, as its project has it. */
const tsNode = () => {
  for (const from of [service.configFilePath ?? __filename, join(process.cwd(), 'tsconfig.json')])
    try {
      return createRequire(from)('ts-node')
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error
    }
  return require('ts-node')
}

/** ts-node without checks, and with what it transpiled before. */
const transpiler = () =>
  tsNode().create({
    ...service.options,
    project: service.configFilePath,
    typeCheck: false,
    transpileOnly: true,
    transpiler: require.resolve('./modules/transpile.js')
  })

const textOf = (diagnostics) => {
  const { formatDiagnostics, formatDiagnosticsWithColorAndContext, sys } = service.ts
  const host = { getCurrentDirectory: () => process.cwd(), getCanonicalFileName: (name) => name, getNewLine: () => sys.newLine }
  return (service.options.pretty ?? process.stdout.isTTY)
    ? formatDiagnosticsWithColorAndContext(diagnostics, host)
    : formatDiagnostics(diagnostics, host)
}

/**
 * The program that was started ends before it begins; what loads a module itself may catch what is
 * wrong with it.
 */
const report = (diagnostics, fileName) => {
  const text = textOf(diagnostics)
  if (service.options.logError) return console.error(text)
  if (require.cache[fileName]?.id !== '.')
    throw new (tsNode().TSError)(
      text,
      diagnostics.map(({ code }) => code),
      diagnostics
    )
  process.stderr.write(text)
  process.exit(1)
}

const checker = () => {
  const { isOwn, typeCheck } = require('./modules/type-check')
  const { ts, config, configFilePath, options } = service
  const checked = new Set()
  // What Tilefold's own files hold is their own tsconfig's matter.
  const checksAll = configFilePath === join(__dirname, '..', 'tsconfig.json')
  return (fileName) => {
    if (checked.has(fileName)) return
    const verdict = typeCheck({
      compiler: { version: ts.version, load: () => ts },
      entry: fileName,
      name: [config.options],
      declarations: config.fileNames.filter((name) => /\.d\.[cm]?ts$/.test(name)),
      options: () => config.options,
      isChecked: (path) => checksAll || !isOwn(path)
    })
    if (verdict._tag === 'Right') return verdict.right.forEach((path) => checked.add(path))
    const diagnostics = verdict.left.diagnostics.filter(({ code }) => !(options.ignoreDiagnostics ?? []).map(Number).includes(code))
    if (diagnostics.length > 0) report(diagnostics, fileName)
    checked.add(fileName)
  }
}

const install = () => {
  const asBefore = service.compile
  const { compile } = transpiler()
  service.compile = compile
  const check = service.transpileOnly ? () => undefined : checker()
  service.compile = (code, fileName, lineOffset) => {
    // What is typed in, or piped, is no file.
    if (!existsSync(fileName)) return asBefore(code, fileName, lineOffset)
    check(fileName)
    return compile(code, fileName)
  }
}

if (service !== undefined && !service.options.swc && !service.options.transpiler) install()
