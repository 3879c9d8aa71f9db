import { existsSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Model } from '../../dsl'
import { builtIn, type HeadOptions } from '../../models'
import { type Outcome, inputFailure, errorReason } from '../failure'
import { loadDefault } from '../modules/load-module'
import { decodeModel, noModel } from './model-codec'

const example = 'write export default model({ name, layers })'

const loadModule = (name: string): Outcome<Model> =>
  pipe(
    loadDefault(name),
    TE.chainEitherK((exported) =>
      pipe(
        E.tryCatch(() => decodeModel(exported), errorReason),
        E.flatten,
        E.mapLeft((fault) => inputFailure(`the default export of ${name} is not a model: ${fault === noModel ? example : fault}`))
      )
    )
  )

/** Whether a name is that of a built-in model. */
export const isBuiltIn = (name: string): boolean => Object.hasOwn(builtIn, name)

/**
 * A built-in name, or a TypeScript (or JavaScript) module whose default export is a model. A
 * TypeScript module is type-checked first, so that what the DSL's types refuse is the compiler's
 * sentence here.
 */
export const loadModel = (name: string, options: HeadOptions): Outcome<Model> => {
  const known = isBuiltIn(name) ? builtIn[name] : undefined
  if (known !== undefined) return TE.right(known(options))
  if (/\.[cm]?[jt]s$/.test(name) && existsSync(name)) return loadModule(name)
  return TE.left(
    inputFailure(`there is no model ${name}: give ${Object.keys(builtIn).join(', ')}, or the path of a TypeScript module that exists`)
  )
}
