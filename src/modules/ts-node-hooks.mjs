// ECMAScript modules in TypeScript under ts-node, which by itself leaves them to Node: checked and
// transpiled as what `require` loads is. Node runs this in a thread of its own.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const { checker, compilerOf, textOf } = require('./checked-program.js')
const { isModule } = require('./module-kind')
const { transpiled } = require('./transpile.js')

const isTypeScript = (url) => /^file:[^?#]*\.[cm]?ts$/.test(url) && !url.includes('/node_modules/')

/** What is wrong, in the compiler's words alone: Node prints the stack of what is thrown. */
const typeError = (text, path) => Object.assign(new Error(text), { stack: `${text}    at ${path}` })

/** As numbers, since the compiler that names them (ESNext, Bundler) may not be needed. */
const emitted = {
  ...{ module: 99, moduleResolution: 100 },
  ...{ sourceMap: false, inlineSourceMap: true, inlineSources: true, rootDir: '/', sourceRoot: 'file:///' }
}

let compile

export const initialize = (settings) => {
  const check = checker(settings)
  const compiler = compilerOf(settings)
  compile = (source, path) => {
    const mistakes = check(path)
    if (mistakes.length > 0) throw typeError(textOf(settings, mistakes), path)
    const { outputText, diagnostics } = transpiled(compiler, source, path, { ...settings.compilerOptions, ...emitted })
    if (diagnostics?.length > 0) throw typeError(textOf(settings, diagnostics), path)
    return outputText
  }
}

/** As it is written, or as TypeScript has it: what is imported as ./a.js may be ./a.ts. */
export const resolve = async (specifier, context, next) => {
  try {
    return await next(specifier, context)
  } catch (error) {
    const source = specifier.replace(/\.([cm]?)js$/, '.$1ts')
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || source === specifier || !isTypeScript(context.parentURL ?? '')) throw error
    return next(source, context).catch(() => Promise.reject(error))
  }
}

export const load = async (url, context, next) => {
  if (!isTypeScript(url)) return next(url, context)
  const path = fileURLToPath(url)
  // Without a source, `require` loads it, as ts-node has it.
  if (!isModule(path)) return { format: 'commonjs', source: null, shortCircuit: true }
  return { format: 'module', source: compile(readFileSync(path, 'utf8'), path), shortCircuit: true }
}
