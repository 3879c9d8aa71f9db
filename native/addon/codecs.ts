import { types } from 'node:util'
import * as t from 'io-ts'

/** Decodes what a predicate tells; in sentences it is called `name`. */
const predicateCodec = <A>(name: string, is: (value: unknown) => value is A): t.Type<A, A, unknown> =>
  new t.Type<A, A, unknown>(name, is, (value, context) => (is(value) ? t.success(value) : t.failure(value, context)), t.identity)

/** Calls of the addon answer `{ value }` or `{ error }`; decode them with `decodeAnswer`. */
type Call = (...values: readonly unknown[]) => unknown
export const call = predicateCodec('function', (value): value is Call => typeof value === 'function')

/** Decodes what the addon alone can make and look into: a handle, in sentences called `name`. */
export const handleCodec = <A>(name: string): t.Type<A, A, unknown> => predicateCodec(name, (value): value is A => types.isExternal(value))

export const bytesCodec = (name: string): t.Type<Uint8Array, Uint8Array, unknown> =>
  predicateCodec(name, (value): value is Uint8Array => value instanceof Uint8Array)

export const arrayBuffer = predicateCodec('ArrayBuffer', (value): value is ArrayBuffer => value instanceof ArrayBuffer)

export const float64Array = predicateCodec('Float64Array', (value): value is Float64Array => value instanceof Float64Array)

export const promise = predicateCodec('promise', (value): value is Promise<unknown> => value instanceof Promise)
