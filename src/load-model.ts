import { existsSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { type Model, shapeRules } from '../dsl'
import { builtIn, type HeadOptions } from '../models'
import { type Failure, inputFailure } from './failure'
import { loadDefault } from './load-module'

const leaves = new Set([...Object.keys(shapeRules), 'checkpoint', 'tile'])

/** Whether a value is a layer as data, and so are those inside it: JavaScript and casts get past the compiler. */
const isLayer = (value: unknown): boolean => {
  const { op, args } = (value ?? {}) as { readonly op?: unknown; readonly args?: unknown }
  if (typeof op !== 'string' || typeof args !== 'object' || args === null) return false
  const { layer, layers, main, shortcut, branches } = args as Readonly<Record<string, unknown>>
  const areLayers = (list: unknown): boolean => Array.isArray(list) && list.every(isLayer)
  switch (op) {
    case 'named':
      return isLayer(layer)
    case 'seq':
      return areLayers(layers)
    case 'residual':
      return areLayers(main) && areLayers(shortcut)
    case 'parallel':
      return Array.isArray(branches) && branches.every(areLayers)
    default:
      return leaves.has(op)
  }
}

const Layers = t.refinement(t.array(t.any), (layers) => layers.every(isLayer), 'layers')
const ModelShape = t.intersection([t.type({ name: t.string, layers: Layers }), t.partial({ input: t.array(t.number) })])

const loadModule = (name: string): E.Either<Failure, Model> =>
  pipe(
    loadDefault(name),
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
