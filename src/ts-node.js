'use strict'
// For ts-node, which requires it first (tsconfig.json): it checks types as ever, but only those
// that have changed since it last did, and those of ECMAScript modules too.
const { existsSync } = require('node:fs')
const { createRequire, register } = require('node:module')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { checker, settingsOf, textOf } = require('./modules/checked-program.js')

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

/**
 * The program that was started ends before it begins; what loads a module itself may catch what is
 * wrong with it.
 */
const report = (text, diagnostics, fileName) => {
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

const install = () => {
  const asBefore = service.compile
  const { compile } = transpiler()
  service.compile = compile
  const settings = settingsOf(service)
  const check = checker(settings)
  service.compile = (code, fileName, lineOffset) => {
    // What is typed in, or piped, is no file.
    if (!existsSync(fileName)) return asBefore(code, fileName, lineOffset)
    const mistakes = check(fileName)
    if (mistakes.length > 0) report(textOf(settings, mistakes), mistakes, fileName)
    return compile(code, fileName)
  }
  // A clone, whose sources `require` alone finds, is no package of ECMAScript modules.
  if (isClone) return
  register(pathToFileURL(join(__dirname, 'modules', 'ts-node-hooks.mjs')), { data: settings })
  // ts-node finds the lines of what it transpiled itself alone; Node, those of whatever has a map.
  delete Error.prepareStackTrace
  process.setSourceMapsEnabled(true)
}

if (service !== undefined && !service.options.swc && !service.options.transpiler) install()
