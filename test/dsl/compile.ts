import { dirname, join } from 'node:path'
import * as ts from 'typescript'

export const root = join(__dirname, '../..')

const { compilerOptions } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config as { compilerOptions: object }
export const options = ts.convertCompilerOptionsFromJson(compilerOptions, root).options

export interface Mistake {
  readonly file: string
  readonly line: number
  readonly message: string
}

export interface Compilation {
  readonly program: ts.Program
  readonly mistakes: readonly Mistake[]
  readonly instantiations: number
  /** Processor time of checking, and of parsing what was not parsed before, in seconds. */
  readonly seconds: number
}

/** Of files that do not change, by compiler options and path: parsed once a process. */
const parsed = new Map<string, ts.SourceFile | undefined>()

/**
 * Compiles files of the tree as one program; `texts` are files that exist for this program only,
 * `changes` other compiler options. Mistakes are of these files, and where `checksAll` of all that
 * they import.
 */
export const compile = (
  paths: readonly string[],
  texts: Readonly<Record<string, string>> = {},
  changes: ts.CompilerOptions = {},
  checksAll = true
): Compilation => {
  const virtual = new Map(Object.entries(texts).map(([path, text]) => [join(root, path), text]))
  const chosen = { ...options, ...changes }
  const host = ts.createCompilerHost(chosen)
  const sourceFile: typeof host.getSourceFile = (path, languageVersion) => {
    const key = `${JSON.stringify(changes)} ${path}`
    if (!parsed.has(key)) parsed.set(key, host.getSourceFile(path, languageVersion))
    return parsed.get(key)
  }
  const start = process.cpuUsage()
  const program = ts.createProgram([...paths.map((path) => join(root, path)), ...virtual.keys()], chosen, {
    ...host,
    fileExists: (path) => virtual.has(path) || host.fileExists(path),
    readFile: (path) => virtual.get(path) ?? host.readFile(path),
    directoryExists: (path) => [...virtual.keys()].some((file) => dirname(file) === path) || host.directoryExists!(path),
    getSourceFile: (path, languageVersion) => {
      const text = virtual.get(path)
      return text === undefined ? sourceFile(path, languageVersion) : ts.createSourceFile(path, text, languageVersion, true)
    }
  })
  const asked = [...paths.map((path) => join(root, path)), ...virtual.keys()].map((path) => program.getSourceFile(path))
  const diagnostics = checksAll ? ts.getPreEmitDiagnostics(program) : asked.flatMap((file) => ts.getPreEmitDiagnostics(program, file))
  const { user, system } = process.cpuUsage(start)
  return {
    program,
    mistakes: diagnostics.map(({ file, start: position = 0, messageText }) => ({
      file: file?.fileName.slice(root.length + 1) ?? '',
      line: file === undefined ? 0 : file.getLineAndCharacterOfPosition(position).line + 1,
      message: ts.flattenDiagnosticMessageText(messageText, '\n')
    })),
    instantiations: program.getInstantiationCount(),
    seconds: (user + system) / 1e6
  }
}

/** The exported type aliases of a file, as the compiler prints them. */
export const exportedTypes = (program: ts.Program, path: string): ReadonlyMap<string, string> => {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(join(root, path))!
  return new Map(
    file.statements.filter(ts.isTypeAliasDeclaration).map((declaration) => {
      const type = checker.getTypeAtLocation(declaration)
      return [
        declaration.name.text,
        checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias)
      ]
    })
  )
}
