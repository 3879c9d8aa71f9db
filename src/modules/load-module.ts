import { realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type TypeScript from 'typescript'
import { type Failure, inputFailure, reasonOf } from '../failure'
import { type TypeCheck, isOwn, typeCheck } from './type-check'
import { typeErrorText } from './type-error-text'

/**
 * The value that a module exports: its default, or where a CommonJS one has none, module.exports.
 */
const exportOf = (loaded: unknown): unknown => {
  if (typeof loaded !== 'object' || loaded === null) return loaded
  if ('default' in loaded) return loaded.default
  return '__esModule' in loaded || Object.keys(loaded).length === 0 ? undefined : loaded
}

const isModuleSyntax = (thrown: unknown): boolean =>
  (thrown instanceof SyntaxError && /\b(import|export)\b/.test(thrown.message)) ||
  /^ERR_(REQUIRE_(ESM|ASYNC_MODULE)|UNKNOWN_FILE_EXTENSION)$/.test(String((thrown as { readonly code?: unknown } | null)?.code))

const loadFailure =
  (name: string) =>
  (thrown: unknown): Failure =>
    inputFailure(
      `the module ${name} cannot be loaded: ` +
        (isModuleSyntax(thrown)
          ? 'it is an ECMAScript module in JavaScript; write it in TypeScript, or as a CommonJS module with require and module.exports'
          : reasonOf(thrown))
    )

/**
 * The nearest tsconfig.json of the user's, or ours: a module deserves its author's own strictness.
 * A name left unused is no mistake.
 */
const optionsFor =
  (path: string): TypeCheck['options'] =>
  (typescript, system) => {
    const own = typescript.findConfigFile(dirname(path), system.fileExists) ?? join(__dirname, '..', '..', 'tsconfig.json')
    const { config } = typescript.readConfigFile(own, system.readFile) as { readonly config?: unknown }
    const host = { ...system, readDirectory: () => [] }
    const { options } = typescript.parseJsonConfigFileContent(config ?? {}, host, dirname(own), {}, own)
    return { ...options, skipLibCheck: true, noUnusedLocals: false, noUnusedParameters: false }
  }

/** Only modules in TypeScript need it: what is compiled runs where there is none. */
const compiler = (): TypeCheck['compiler'] => ({
  version: (require('typescript/package.json') as { readonly version: string }).version,
  load: () => require('typescript') as typeof TypeScript
})

/**
 * Type-checks a module and the author's own files that it imports: its path, or one sentence of the
 * compiler.
 */
const checkTypes = (name: string, path: string): E.Either<Failure, string> =>
  pipe(
    E.tryCatch(compiler, loadFailure(name)),
    E.chain((found) =>
      pipe(
        typeCheck({ compiler: found, entry: path, name: ['module'], options: optionsFor(path), isChecked: (file) => !isOwn(file) }),
        E.mapLeft((mistakes) => inputFailure(typeErrorText(mistakes, path)))
      )
    ),
    E.map(() => path)
  )

/**
 * The default export of a module, which is code that is run. One in TypeScript is type-checked
 * first, so that what the DSL's types refuse is the compiler's sentence here.
 */
export const loadDefault = (name: string): E.Either<Failure, unknown> =>
  pipe(
    E.tryCatch(() => realpathSync(resolve(name)), loadFailure(name)),
    E.chain((path) => (/\.[cm]?ts$/.test(path) ? checkTypes(name, path) : E.right(path))),
    E.chain((path) => E.tryCatch(() => exportOf(require(path)), loadFailure(name)))
  )
