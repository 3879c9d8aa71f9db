import { dirname, join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as J from 'fp-ts/Json'
import { pipe } from 'fp-ts/function'
import type TypeScript from 'typescript'
import { type FileQueries, fileQueriesCodec, haveSameAnswers, recordQueries } from './file-queries'
import { type Name, cacheText, readCachedText } from '../files/cached-text'

/** A file to check, and how to check it. */
export interface TypeCheck {
  readonly compiler: { readonly version: string; readonly load: () => typeof TypeScript }
  /** Absolute, and where it really is. */
  readonly entry: string
  /** Declarations that hold everywhere, though nothing imports them. */
  readonly declarations?: readonly string[]
  /** All that `options` depends on besides files that it asks for. */
  readonly name: Name
  readonly options: (typescript: typeof TypeScript, system: TypeScript.System) => TypeScript.CompilerOptions
  /** Tells whether a file that the entry imports is checked itself. */
  readonly isChecked: (path: string) => boolean
}

/** The errors that the compiler found. */
export interface TypeErrors {
  readonly options: TypeScript.CompilerOptions
  /** The compiler's diagnostics, at least one. */
  readonly diagnostics: readonly TypeScript.Diagnostic[]
}

const ownFolders = ['dsl', 'models', 'staging', 'native', 'src'].map((folder) => join(__dirname, '..', '..', folder, '/'))

/** Tells whether a file is a part of Tilefold. */
export const isOwn = (path: string): boolean => ownFolders.some((folder) => path.startsWith(folder))

const stateFile = '/state.tsbuildinfo'

/** The name of what the compiler remembers of earlier programs with the same part of Tilefold. */
const stateName = ({ compiler }: TypeCheck, options: TypeScript.CompilerOptions, program: TypeScript.Program): Name => {
  const own = program.getSourceFiles().flatMap(({ fileName }) => (isOwn(fileName) ? [fileName] : []))
  return ['types', 'state', compiler.version, options, own]
}

/**
 * The compiler's answer, of which only what depends on changes since the last one is found out
 * anew.
 */
const inspect = (check: TypeCheck, folder: string): E.Either<TypeErrors, FileQueries> => {
  const typescript = check.compiler.load()
  const { system, asked } = recordQueries(typescript.sys, folder)
  const given = check.options(typescript, system)
  const options = { ...given, composite: false, noEmit: true, incremental: true, tsBuildInfoFile: stateFile }
  const host = typescript.createIncrementalCompilerHost(options, system)
  const program = typescript.createProgram([check.entry, ...(check.declarations ?? [])], options, host)
  const state = stateName(check, options, program)
  const before = typescript.readBuilderProgram(options, {
    ...host,
    readFile: (path) => (path === stateFile ? readCachedText(state, '') : undefined)
  })
  const builder = typescript.createEmitAndSemanticDiagnosticsBuilderProgram(program, host, before)
  const isChecked = (file: TypeScript.SourceFile): boolean =>
    !file.isDeclarationFile &&
    (file.fileName === check.entry || (!/[\\/]node_modules[\\/]/.test(file.fileName) && check.isChecked(file.fileName)))
  while (builder.getSemanticDiagnosticsOfNextAffectedFile(undefined, (file) => !isChecked(file)) !== undefined);
  const diagnostics = program
    .getSourceFiles()
    .filter(isChecked)
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...builder.getSemanticDiagnostics(file)])
  builder.emit(undefined, (_path, text) => cacheText(state, '', text))
  return diagnostics.length === 0 ? E.right(asked) : E.left({ options, diagnostics })
}

const decodeQueries = (text: string): E.Either<unknown, FileQueries> => pipe(J.parse(text), E.chainW(fileQueriesCodec.decode))

/**
 * Asks the compiler about a file and those that it imports. Answers with all the files that it
 * read, and without the compiler where nothing that it looked at has changed since it found them
 * right.
 */
export const typeCheck = (check: TypeCheck): E.Either<TypeErrors, ReadonlySet<string>> => {
  const name = ['types', 'right', check.compiler.version, check.name, check.entry]
  return pipe(
    decodeQueries(readCachedText(name, '') ?? ''),
    E.filterOrElseW(
      (asked) => check.entry in asked.contents && haveSameAnswers(asked),
      () => undefined
    ),
    E.orElse(() =>
      pipe(
        inspect(check, dirname(check.entry)),
        E.map((asked) => {
          cacheText(name, '', JSON.stringify(asked))
          return asked
        })
      )
    ),
    E.map(({ contents }) => new Set(Object.keys(contents)))
  )
}
