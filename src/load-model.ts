import { existsSync } from 'node:fs'
import { dirname, extname, join, relative, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type TypeScript from 'typescript'
import { type Model, shapeRules } from '../dsl'
import { builtIn, type HeadOptions } from '../models'
import { type Failure, inputFailure, reasonOf } from './failure'

const leaves = new Set([...Object.keys(shapeRules), 'checkpoint', 'tile'])

/** Whether a value is a layer as data, and so are those inside it: JavaScript and casts get past the compiler. */
const isLayer = (value: unknown): boolean => {
  const { op, args } = (value ?? {}) as { readonly op?: unknown; readonly args?: unknown }
  if (typeof op !== 'string' || typeof args !== 'object' || args === null) return false
  const { layer, layers } = args as { readonly layer?: unknown; readonly layers?: unknown }
  return op === 'named' ? isLayer(layer) : op === 'seq' ? Array.isArray(layers) && layers.every(isLayer) : leaves.has(op)
}

const Layers = t.refinement(t.array(t.any), (layers) => layers.every(isLayer), 'layers')
const ModelShape = t.intersection([t.type({ name: t.string, layers: Layers }), t.partial({ input: t.array(t.number) })])

/** The nearest tsconfig.json of the user's, or ours: a model deserves its author's own strictness. A name left unused is no mistake. */
const compilerOptions = (typescript: typeof TypeScript, path: string): TypeScript.CompilerOptions => {
  const own = typescript.findConfigFile(dirname(path), typescript.sys.fileExists) ?? join(__dirname, '..', 'tsconfig.json')
  const { config } = typescript.readConfigFile(own, typescript.sys.readFile) as { readonly config?: unknown }
  const host = { ...typescript.sys, readDirectory: () => [] }
  const { options } = typescript.parseJsonConfigFileContent(config ?? {}, host, dirname(own), {}, own)
  return { ...options, noEmit: true, skipLibCheck: true, noUnusedLocals: false, noUnusedParameters: false }
}

/** Tilefold's own files and packages are not checked again for every model. */
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

const loadModule = (name: string): E.Either<Failure, Model> =>
  pipe(
    E.right<Failure, string>(resolve(name)),
    E.chain((path) => (extname(path) === '.ts' ? typeCheck(path) : E.right(path))),
    E.chain((path) =>
      E.tryCatch(
        () => (require(path) as { readonly default?: unknown }).default,
        (thrown) => inputFailure(`the module ${name} cannot be loaded: ${reasonOf(thrown)}`)
      )
    ),
    E.chain((exported) =>
      ModelShape.is(exported)
        ? E.right(exported as Model)
        : E.left(inputFailure(`the default export of ${name} is not a model: write export default model({ name, layers })`))
    )
  )

/**
 * A built-in name, or a TypeScript (or JavaScript) module whose default export is a model. A TypeScript module is type-checked
 * first, so that what the DSL's types refuse is the compiler's sentence here.
 */
export const loadModel = (name: string, options: HeadOptions): E.Either<Failure, Model> => {
  const known = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined
  if (known !== undefined) return E.right(known(options))
  if (/\.[cm]?[jt]s$/.test(name) && existsSync(name)) return loadModule(name)
  return E.left(
    inputFailure(`there is no model ${name}: give ${Object.keys(builtIn).join(', ')}, or the path of a TypeScript module that exists`)
  )
}
