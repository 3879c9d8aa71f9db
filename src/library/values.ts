import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import { accepting, byKind, decoding, objectOr, oneOf, positive, textOr, whole } from '../codecs'
import { type Failure, inputFailure } from '../failure'
import { type Size, parseRate, parseSize, parseSizeOrZero } from '../sizes'
import { exactly } from '../../staging/decoding/exactly'

/** A device of this machine, or the path of a file that describes one. */
export const isDeviceText = (text: string): boolean => ['cpu', 'cuda', 'reference'].includes(text) || text.endsWith('.json')

const share = accepting<number>('a number above zero, at most 10000', (value) => positive.is(value) && value <= 1e4)

const sizeObject = (least: number): t.Type<Size> =>
  byKind<Size>('a size', {
    bytes: exactly<Extract<Size, { readonly kind: 'bytes' }>>('a size', 'field', { kind: oneOf('bytes'), bytes: whole(least) }, {}),
    ofPlain: exactly<Extract<Size, { readonly kind: 'ofPlain' }>>('a size', 'field', { kind: oneOf('ofPlain'), fraction: share }, {})
  })

const sizeBy = (parse: typeof parseSize, least: number): t.Type<number | string | Size> =>
  objectOr<Size, number | string>(
    'a size such as 256MiB, 20% or a number of bytes',
    sizeObject(least),
    decoding('a size', (value) =>
      typeof value === 'number' || typeof value === 'string'
        ? E.map(() => value)(parse(`${value}`))
        : E.left('give a size such as 256MiB, 20% or a number of bytes')
    )
  )

export const size = sizeBy(parseSize, 1)
export const sizeOrZero = sizeBy(parseSizeOrZero, 0)

export const rate = textOr<number>('a rate such as 2GB/s, or bytes per second from 1 upwards', parseRate, whole(1))

/** A value, or its text as the command line takes it. */
export const orText = <A>(name: string, value: A | string, parse: (text: string) => E.Either<string, A>): E.Either<Failure, A> =>
  typeof value === 'string'
    ? pipe(
        parse(value),
        E.mapLeft((fault) => inputFailure(`${name}: ${fault}`))
      )
    : E.right(value)

/** The same for an option that may be left out. */
export const orTextIfPresent = <A>(
  name: string,
  value: A | string | undefined,
  parse: (text: string) => E.Either<string, A>
): E.Either<Failure, A | undefined> => (value === undefined ? E.right(undefined) : orText<A>(name, value, parse))

/** Options that are there, and nothing for those that are not. */
export const present = <O extends object>(options: O): { [K in keyof O]?: Exclude<O[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof O]?: Exclude<O[K], undefined> }
