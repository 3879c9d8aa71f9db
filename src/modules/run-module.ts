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

let loader: Loader | undefined

/** Loaded at first use: built-in models need none. */
const makeLoader = (): Loader => {
  if (loader !== undefined) return loader
  const { createJiti } = require('jiti') as typeof Library
  const options = { fsCache: false, interopDefault: false } as const
  return (loader = createJiti(__filename, { ...options, transform: keepTransformed(createJiti(__filename, options)) }))
}

/**
 * All that a module exports, once it has run: CommonJS or an ECMAScript module, in JavaScript or in
 * TypeScript, whose types are not checked here.
 */
export const runModule = (path: string): Promise<unknown> => makeLoader().import(path)
