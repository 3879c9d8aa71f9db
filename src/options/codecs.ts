import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { predicateCodec } from '../../staging/decoding/predicate-codec'
import type { Failure } from '../failure'
import { maxElements } from './limits'

/** A codec by a decoder, which says in its own words what is wrong. */
export const decoderCodec = <A>(expected: string, decode: (value: unknown) => E.Either<string, A>): t.Type<A> =>
  new t.Type<A>(
    expected,
    (value): value is A => E.isRight(decode(value)),
    (value, context) => {
      const decoded = decode(value)
      return E.isLeft(decoded) ? t.failure(value, context, decoded.left) : t.success(decoded.right)
    },
    t.identity
  )

/** A codec by a function whose failure's sentence stands by itself. */
export const failureCodec = <A>(expected: string, decode: (value: unknown) => E.Either<Failure, A>): t.Type<A> =>
  new t.Type<A>(
    expected,
    (value): value is A => E.isRight(decode(value)),
    (value) => {
      const decoded = decode(value)
      return E.isLeft(decoded) ? t.failure(value, [], decoded.left.message) : t.success(decoded.right)
    },
    t.identity
  )

/** A value by a codec, or its text, which is parsed to the same. */
export const textOrCodec = <A>(expected: string, parse: (text: string) => E.Either<string, A>, other: t.Decoder<unknown, A>): t.Type<A> =>
  new t.Type<A>(
    expected,
    (value): value is A => E.isRight(other.decode(value)),
    (value, context) => {
      if (typeof value !== 'string') return other.validate(value, context)
      const parsed = parse(value)
      return E.isLeft(parsed) ? t.failure(value, context, parsed.left) : t.success(parsed.right)
    },
    t.identity
  )

/**
 * A codec that is made when it is first used: a table of options should load nothing that not every
 * command needs.
 */
export const lazyCodec = <A>(expected: string, make: () => t.Type<A>): t.Type<A> =>
  new t.Type<A>(
    expected,
    (value): value is A => make().is(value),
    (value, context) => make().validate(value, context),
    t.identity
  )

/**
 * Objects and lists by one codec, all else by another: unlike a union's, its sentence is about what
 * was meant.
 */
export const objectOrCodec = <A extends object, B>(expected: string, object: t.Type<A>, other: t.Type<B>): t.Type<A | B> =>
  new t.Type<A | B>(
    expected,
    (value): value is A | B => object.is(value) || other.is(value),
    (value, context) => (typeof value === 'object' && value !== null ? object : other).validate(value, context),
    t.identity
  )

const largest = Number.MAX_SAFE_INTEGER

/** Codec of whole numbers within bounds, both included. */
export const wholeNumberCodec = (least: number, most = largest): t.Type<number> =>
  predicateCodec(
    `a whole number from ${least} ${most === largest ? 'upwards' : `to ${most}`}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
  )

/** Codec of finite numbers above 0. */
export const positiveCodec = predicateCodec<number>('a number above zero', (value) => Number.isFinite(value) && Number(value) > 0)

/** Codec of finite numbers from 0 upwards. */
export const fromZeroCodec = predicateCodec<number>('a number from 0 upwards', (value) => Number.isFinite(value) && Number(value) >= 0)

/** Codec of true and false. */
export const flagCodec = predicateCodec<boolean>('true or false', t.boolean.is)

/** Codec of texts, the empty one included. */
export const textCodec = predicateCodec<string>('a text', t.string.is)

/** Codec of paths: texts that are not empty. */
export const pathCodec = predicateCodec<string>('a path', (value) => t.string.is(value) && value !== '')

/** Codec of functions, whose parameters nothing can check. */
export const callbackCodec = <F extends (...given: never[]) => unknown>(): t.Type<F> =>
  predicateCodec('a function', (value) => typeof value === 'function')

/**
 * A codec of abort signals by the members that are used: one of another realm is no instance of
 * AbortSignal.
 */
export const abortSignalCodec = predicateCodec<AbortSignal>('an AbortSignal', (value) => {
  const { aborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>
  return typeof aborted === 'boolean' && typeof addEventListener === 'function'
})

const isExtent = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

/** Codec of so many extents of a tensor, of at most 2^40 elements. */
export const extentsCodec = (count: number): t.Type<readonly number[]> =>
  predicateCodec(
    `${count} whole numbers above zero whose product is at most 2^40`,
    (value) =>
      Array.isArray(value) &&
      value.length === count &&
      // Spread: holes are extents too.
      [...(value as readonly unknown[])].every(isExtent) &&
      value.reduce((product: number, extent) => product * extent, 1) <= maxElements
  )

/** A list that is not too long. */
export const boundedListCodec = <A>(decoder: t.Decoder<unknown, A>, least = 0, most = Infinity): t.Type<readonly A[]> => {
  const item = decoder as t.Type<A>
  const items = t.readonlyArray(item)
  const fits = (value: unknown): boolean => Array.isArray(value) && value.length >= least && value.length <= most
  const count = most === Infinity ? `at least ${least}` : least === most ? least : `${least} to ${most}`
  const name = least === 0 ? `a list of ${item.name}` : `a list of ${count} items, each ${item.name}`
  return new t.Type<readonly A[]>(
    name,
    (value): value is readonly A[] => fits(value) && items.is(value),
    (value, context) => (fits(value) ? items.validate(value, context) : t.failure(value, context)),
    t.identity
  )
}

/** Refuses a list in which a name stands twice, in words that name it. */
export const refuseRepeats = <N extends string>(names: readonly N[]): E.Either<string, readonly N[]> => {
  const twice = names.find((name, place) => names.indexOf(name) < place)
  return twice === undefined ? E.right(names) : E.left(`"${twice}" stands there twice`)
}

/** A codec of lists of names of which none stands there twice. */
export const withoutRepeats = <N extends string>(names: t.Type<readonly N[]>): t.Type<readonly N[]> =>
  names.pipe(
    decoderCodec<readonly N[]>(names.name, (value) => refuseRepeats(value as readonly N[])),
    names.name
  )

type Kinds<A extends { readonly kind: string }> = { readonly [K in A['kind']]: t.Type<Extract<A, { readonly kind: K }>> }

/** An object that says by its `kind` what else it holds. */
export const byKindCodec = <A extends { readonly kind: string }>(expected: string, codecs: Kinds<A>): t.Type<A> => {
  const kinds: Readonly<Record<string, t.Mixed>> = codecs
  const codecOf = (value: unknown): t.Mixed | undefined => {
    const kind: unknown = (value as { readonly kind?: unknown } | null | undefined)?.kind
    return typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  }
  return new t.Type<A>(
    expected,
    (value): value is A => codecOf(value)?.is(value) ?? false,
    (value, context) => codecOf(value)?.validate(value, context) ?? t.failure(value, context),
    t.identity
  )
}
