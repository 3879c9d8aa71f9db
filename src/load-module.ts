import { dirname, extname, join, relative, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type TypeScript from 'typescript'
import { type Failure, inputFailure, reasonOf } from './failure'

/** The nearest tsconfig.json of the user's, or ours: a module deserves its author's own strictness. A name left unused is no mistake. */
const compilerOptions = (typescript: typeof TypeScript, path: string): TypeScript.CompilerOptions => {
  const own = typescript.findConfigFile(dirname(path), typescript.sys.fileExists) ?? join(__dirname, '..', 'tsconfig.json')
  const { config } = typescript.readConfigFile(own, typescript.sys.readFile) as { readonly config?: unknown }
  const host = { ...typescript.sys, readDirectory: () => [] }
  const { options } = typescript.parseJsonConfigFileContent(config ?? {}, host, dirname(own), {}, own)
  return { ...options, noEmit: true, skipLibCheck: true, noUnusedLocals: false, noUnusedParameters: false }
}

/** Tilefold's own files and packages are not checked again for every module. */
const isForeign = (fileName: string): boolean =>
  !/[\\/]node_modules[\\/]/.test(fileName) && !ownFolders.some((folder) => fileName.startsWith(folder))
const ownFolders = ['dsl', 'models'].map((folder) => join(__dirname, '..', folder, '/'))

/** What the compiler says of a module and of the author's own files that it imports, as one sentence. */
const typeCheck = (path: string): E.Either<Failure, string> => {
  const typescript = require('typescript') as typeof TypeScript
  const program = typescript.createProgram([path], compilerOptions(typescript, path))
  const faults = program
    .getSourceFiles()
    .filter(({ fileName, isDeclarationFile }) => !isDeclarationFile && isForeign(fileName))
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
  const [first] = faults
  if (first === undefined) return E.right(path)
  const place = first.file?.getLineAndCharacterOfPosition(first.start ?? 0)
  const where =
    first.file === undefined || place === undefined
      ? path
      : `${relative('.', first.file.fileName)}:${place.line + 1}:${place.character + 1}`
  const whole = typescript.flattenDiagnosticMessageText(first.messageText, ' ').replace(/\s+/g, ' ')
  // The DSL's own sentences stand inside the compiler's, as Bad<"...">.
  const text = /Bad<"((?:[^"\\]|\\.)*)">/.exec(whole)?.[1] ?? whole
  const rest = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  return E.left(inputFailure(`${where}: ${text.replace(/\.$/, '')}${rest}`))
}

/**
 * The default export of a module. One in TypeScript is type-checked first, so that what the DSL's types refuse is the compiler's
 * sentence here.
 */
export const loadDefault = (name: string): E.Either<Failure, unknown> =>
  pipe(
    E.right<Failure, string>(resolve(name)),
    E.chain((path) => (extname(path) === '.ts' ? typeCheck(path) : E.right(path))),
    E.chain((path) =>
      E.tryCatch(
        () => (require(path) as { readonly default?: unknown }).default,
        (thrown) => inputFailure(`the module ${name} cannot be loaded: ${reasonOf(thrown)}`)
      )
    )
  )
