import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as J from 'fp-ts/Json'
import * as O from 'fp-ts/Option'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'

const manifestCodec = t.type({ type: t.string })

/** The type that the nearest package.json names, if it names one. */
const packageType = (folder: string): O.Option<string> =>
  pipe(
    O.tryCatch(() => readFileSync(join(folder, 'package.json'), 'utf8')),
    O.match(
      () => (dirname(folder) === folder ? O.none : packageType(dirname(folder))),
      (text) =>
        pipe(
          J.parse(text),
          E.chainW(manifestCodec.decode),
          O.fromEither,
          O.map(({ type }) => type)
        )
    )
  )

/**
 * Tells whether Node takes a TypeScript file, by its absolute path, for an ECMAScript module: by
 * its ending, or by its package.
 */
export const isModule = (path: string): boolean =>
  path.endsWith('.mts') || (path.endsWith('.ts') && O.toUndefined(packageType(dirname(path))) === 'module')
