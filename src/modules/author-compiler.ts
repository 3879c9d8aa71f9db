import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type TypeScript from 'typescript'
import { type Failure, inputFailure } from '../failure'
import type { TypeCheck } from './type-check'

interface InstalledCompiler {
  readonly path: string
  readonly version: string
}

/** TypeScript as it is installed for a file. */
const findCompiler = (file: string): readonly InstalledCompiler[] =>
  pipe(
    E.tryCatch(
      () => {
        const requireThere = createRequire(file)
        const { version } = requireThere('typescript/package.json') as { readonly version: string }
        return [{ version, path: requireThere.resolve('typescript') }]
      },
      () => undefined
    ),
    E.getOrElse((): readonly InstalledCompiler[] => [])
  )

/** The compiler of TypeScript 7 is a program of its own, and cannot be asked from JavaScript. */
const hasCompilerApi = ({ version }: InstalledCompiler): boolean => Number.parseInt(version, 10) < 7

/** The compiler of a module's author: beside the module, where the command is run, or beside us. */
export const authorCompiler = (name: string, path: string): E.Either<Failure, TypeCheck['compiler']> => {
  const found = [path, join(process.cwd(), 'model.js'), __filename].flatMap(findCompiler)
  const chosen = found.find(hasCompilerApi)
  if (chosen !== undefined) return E.right({ version: chosen.version, load: () => require(chosen.path) as typeof TypeScript })
  const [other] = found
  return E.left(
    inputFailure(
      `the module ${name} is in TypeScript, ` +
        (other === undefined
          ? 'which is not installed here: run npm install --save-dev typescript@6'
          : `and TypeScript ${other.version} cannot be asked for its types from JavaScript: run npm install --save-dev typescript@6`)
    )
  )
}
