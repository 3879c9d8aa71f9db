import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type * as Library from 'jiti'
import { cacheText, readCachedText } from '../files/cached-text'

type Loader = ReturnType<typeof Library.createJiti>
type Transform = NonNullable<Parameters<typeof Library.createJiti>[1]>['transform'] & {}

/** Keeps a text as the compiler transforms it, without checking it, in the user's cache. */
const keepTransformed = (library: Loader): Transform => {
  const { version } = require('jiti/package.json') as { readonly version: string }
  return (options) => {
    const { source, babel: _, ...rest } = options
    const name = ['transpiled', 'jiti', version, rest]
    const kept = readCachedText(name, source)
    if (kept !== undefined) return { code: kept }
    const code = library.transform(options)
    cacheText(name, source, code)
    return { code }
  }
}

const ownSettings = join(__dirname, '..', '..', 'tsconfig.json')

/** The nearest tsconfig.json of the user's, by whose `paths` modules in TypeScript are found. */
const findSettings = (path: string): string | false => {
  const folder = dirname(path)
  const settings = join(folder, 'tsconfig.json')
  if (existsSync(settings)) return settings !== ownSettings && settings
  return folder !== path && findSettings(folder)
}

const loaders = new Map<string | false, Loader>()

/** Loaded at first use: built-in models need none. */
const loaderFor = (tsconfigPaths: string | false): Loader => {
  const { createJiti } = require('jiti') as typeof Library
  const options = { fsCache: false, interopDefault: false, tsconfigPaths } as const
  const loader =
    loaders.get(tsconfigPaths) ?? createJiti(__filename, { ...options, transform: keepTransformed(createJiti(__filename, options)) })
  loaders.set(tsconfigPaths, loader)
  return loader
}

/**
 * All that a module exports, once it has run: CommonJS or an ECMAScript module, in JavaScript or in
 * TypeScript, whose types are not checked here.
 */
export const runModule = (path: string): Promise<unknown> => loaderFor(/\.[cm]?ts$/.test(path) && findSettings(path)).import(path)
