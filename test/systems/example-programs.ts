/** Programs and models of a user who has only the packages. */

const layers = (kernel = 3): string => `conv2d({ out: 8, k: ${kernel} }), relu, globalAvgPool, linear({ out: 2 })`

/** A model as the default export of TypeScript; a kernel over 32 is a type error. */
export const typescriptModel = (kernel = 3): string => `import { conv2d, globalAvgPool, linear, model, relu } from 'tilefold/dsl'
const head = [${layers(kernel)}] as const
export default model({ name: 'small', input: [1, 3, 32, 32], layers: [...head] })
`

export const javascriptModel = typescriptModel().replace(' as const', '')

export const commonjsModel = `const { conv2d, globalAvgPool, linear, model, relu } = require('tilefold/dsl')
module.exports = model({ name: 'small', input: [1, 3, 32, 32], layers: [${layers()}] })
`

const body = `
const made = dsl.model({ name: 'small', input: [1, 3, 32, 32], layers: [dsl.conv2d({ out: 8, k: 3 }), dsl.relu, dsl.globalAvgPool, dsl.linear({ out: 2 })] })
const main = async () => {
  const either = await tilefold.plan({ model: made })()
  const report = await promise.plan({ model: made })
  const refused = await promise.plan({ model: made, budget: 10 }).catch((error) => error)
  const { name } = models.vgg11({ classes: 2, head: 'gap' })
  const isShared = (await import('tilefold/dsl')).conv2d === dsl.conv2d
  console.log(either._tag, report.segments.length, refused instanceof promise.FailureError && refused.code, name, isShared)
}
void main()
`

/** What each of the following programs prints. */
export const printed = 'Right 1 budget vgg11 true\n'

export const commonjsProgram = `const tilefold = require('tilefold')
const promise = require('tilefold/promise')
const models = require('tilefold/models')
const dsl = require('tilefold/dsl')
${body}`

export const moduleProgram = `import * as tilefold from 'tilefold'
import * as promise from 'tilefold/promise'
import * as models from 'tilefold/models'
import * as dsl from 'tilefold/dsl'
${body}`

/** TypeScript that says what it becomes, as verbatimModuleSyntax wants it in CommonJS. */
export const requiringProgram = moduleProgram.replace(/import \* as (\w+) from ('.*')/g, 'import $1 = require($2)')

/** Imports a model in TypeScript by the name that it has once compiled, and throws at line 6. */
export const throwingProgram = `import network from './network.js'
interface Named {
  readonly name: string
}
const { name }: Named = network
throw new Error(name)
`

/** What a published library exports: its declarations name our types. */
export const exportingProgram = `import type { TrainOptions, TrainReport } from 'tilefold'
import { plan, train } from 'tilefold/promise'
import { conv2d, model, named, relu, residual, seq } from 'tilefold/dsl'
import { resnet18 } from 'tilefold/models'
export const block = seq('block', [conv2d({ out: 4, k: 3 }), relu])
export const joined = residual([named('inner', conv2d({ out: 3, k: 3, p: 1 }))])
export const network = model({ name: 'small', input: [1, 3, 32, 32], layers: [block, relu] })
export const wrapped = (options: TrainOptions): Promise<TrainReport> => train(options)
export const answer = plan({ model: network })
export const builtIn = resnet18({ classes: 2, head: 'gap' })
`

/**
 * TypeScript with an fp-ts of its own, of the version that we bundle. Compiled first, as which of
 * the two TypeScript meets first decides whether it mistakes one for the other.
 */
export const ownFpTsProgram = `import { relu } from 'tilefold/dsl'
import * as TE from 'fp-ts/TaskEither'
import { plan } from 'tilefold'
export const layer = relu
export const segments = TE.map((report: { readonly segments: readonly unknown[] }) => report.segments.length)(plan({ model: 'vgg11' }))
`

/**
 * Runs a program and all that it requires in another realm than Node's, as Jest does with a test:
 * promises and errors of Node's and of the addon are not of its classes.
 */
export const realmProgram = `const { readFileSync } = require('node:fs')
const { createRequire, isBuiltin } = require('node:module')
const { dirname } = require('node:path')
const { compileFunction, createContext } = require('node:vm')

// Of the language itself Jest shares these two.
const shared = ['Uint8Array', 'ArrayBuffer', 'Buffer', 'process', 'console', 'performance', 'AbortController', 'AbortSignal', 'URL', 'fetch',
  'TextDecoder', 'TextEncoder', 'setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'queueMicrotask']
const realm = createContext(Object.fromEntries(shared.map((name) => [name, globalThis[name]])))
const modules = new Map()
const load = (path) => {
  if (isBuiltin(path) || !/\\.c?js$/.test(path)) return require(path)
  if (modules.has(path)) return modules.get(path).exports
  const module = { exports: {} }
  modules.set(path, module)
  const { resolve } = createRequire(path)
  const own = Object.assign((name) => load(resolve(name)), { resolve })
  const names = ['exports', 'require', 'module', '__filename', '__dirname']
  compileFunction(readFileSync(path, 'utf8'), names, { filename: path, parsingContext: realm })(module.exports, own, module, path, dirname(path))
  return module.exports
}
load(require.resolve(process.argv[2]))
`
