import { realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, errorReason, isError } from '../failure'
import { authorCompiler } from './author-compiler'
import { runModule } from './run-module'
import { type TypeCheck, isOwn, typeCheck } from './type-check'
import { typeErrorText } from './type-error-text'

const unwrapDefault = (loaded: unknown): unknown =>
  typeof loaded === 'object' && loaded !== null && 'default' in loaded ? unwrapDefault(loaded.default) : loaded

/** Whether this is the exports by name of a module that has no default. */
const isNamespace = (value: object): boolean => '__esModule' in value || Object.prototype.toString.call(value) === '[object Module]'

/**
 * The value that a module exports: its default, or where a CommonJS one has none, module.exports.
 */
const defaultExport = (loaded: unknown): unknown => {
  const value = unwrapDefault(loaded)
  const isNothing = typeof value === 'object' && value !== null && (Object.keys(value).length === 0 || isNamespace(value))
  return isNothing ? undefined : value
}

/** Returns the file that a module could not read, other than itself. */
const findReadFile = (name: string, thrown: unknown): string | undefined => {
  const { path } = (isError(thrown) ? thrown : {}) as NodeJS.ErrnoException
  return path === resolve(name) ? undefined : path
}

/**
 * Returns the reason of what was thrown in a module or, with its place, on reading it or another
 * file.
 */
const loadReason = (name: string, thrown: unknown): string => {
  const [, fault, place] = /^ParseError: (.*?)\s*\n\s*(.*?)\s*$/.exec(isError(thrown) ? thrown.message : '') ?? []
  if (fault !== undefined) return `${place}: ${fault}`
  const file = findReadFile(name, thrown)
  return file === undefined ? errorReason(thrown) : `${file}: ${errorReason(thrown)}`
}

const loadFailure =
  (name: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`the module ${name} cannot be loaded: ${loadReason(name, thrown)}`)

/** Compiler options where an author has no tsconfig.json: modules as what runs them takes them. */
const usualOptions = {
  target: 'es2022',
  module: 'preserve',
  moduleResolution: 'bundler',
  strict: true,
  esModuleInterop: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true
}

/**
 * The nearest tsconfig.json of the user's, or ours: a module deserves its author's own strictness.
 * A name left unused is no mistake, and how imports are written is no matter of what loads them.
 */
const optionsFor =
  (path: string): TypeCheck['options'] =>
  (typescript, system) => {
    const own = typescript.findConfigFile(dirname(path), system.fileExists) ?? join(__dirname, '..', '..', 'tsconfig.json')
    // Of a file that is not there, TypeScript 5 reads an empty configuration.
    const { config } = system.fileExists(own)
      ? (typescript.readConfigFile(own, system.readFile) as { readonly config?: unknown })
      : { config: { compilerOptions: usualOptions } }
    const host = { ...system, readDirectory: () => [] }
    const { options } = typescript.parseJsonConfigFileContent(config ?? {}, host, dirname(own), {}, own)
    return { ...options, skipLibCheck: true, noUnusedLocals: false, noUnusedParameters: false, verbatimModuleSyntax: false }
  }

/**
 * Type-checks a module and the author's own files that it imports: its path, or one sentence of the
 * compiler.
 */
const checkTypes = (name: string, path: string): E.Either<Failure, string> =>
  pipe(
    authorCompiler(name, path),
    E.chain((compiler) =>
      pipe(
        typeCheck({ compiler, entry: path, name: ['module'], options: optionsFor(path), isChecked: (file) => !isOwn(file) }),
        E.mapLeft((mistakes) => inputFailure(typeErrorText(mistakes, path)))
      )
    ),
    E.map(() => path)
  )

/**
 * The default export of a module, which is code that is run: CommonJS or an ECMAScript module. One
 * in TypeScript is type-checked first, so that what the DSL's types refuse is the compiler's
 * sentence here.
 */
export const loadDefault = (name: string): Outcome<unknown> =>
  pipe(
    E.tryCatch(() => realpathSync(resolve(name)), loadFailure(name)),
    E.chain((path) => (/\.[cm]?ts$/.test(path) ? checkTypes(name, path) : E.right(path))),
    TE.fromEither,
    TE.chain((path) => TE.tryCatch(async () => defaultExport(await runModule(path)), loadFailure(name)))
  )
