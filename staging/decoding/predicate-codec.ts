import * as t from 'io-ts'

/** A codec of the values that a predicate accepts; `expected` says in words what they are. */
export const predicateCodec = <A>(expected: string, accepts: (value: unknown) => boolean): t.Type<A> =>
  new t.Type<A>(
    expected,
    (value): value is A => accepts(value),
    (value, context) => (accepts(value) ? t.success(value as A) : t.failure(value, context)),
    t.identity
  )

/** Codec of one of some names, which its sentence lists. */
export const oneOfCodec = <N extends string>(...names: readonly N[]): t.Type<N> =>
  predicateCodec(`one of ${names.join(', ')}`, (value) => names.some((name) => name === value))
