import { types } from 'node:util'
import * as t from 'io-ts'

/** Decodes what a predicate tells; in sentences it is called `name`. */
const predicateCodec = <A>(name: string, is: (value: unknown) => value is A): t.Type<A, A, unknown> =>
  new t.Type<A, A, unknown>(name, is, (value, context) => (is(value) ? t.success(value) : t.failure(value, context)), t.identity)

/** Calls of the addon answer `{ value }` or `{ error }`; decode them with `decodeAnswer`. */
type Call = (...values: readonly unknown[]) => unknown
/** Codec of a function of the addon; its answers have codecs of their own. */
export const call = predicateCodec('function', (value): value is Call => typeof value === 'function')

/** Decodes what the addon alone can make and look into: a handle, in sentences called `name`. */
export const handleCodec = <A>(name: string): t.Type<A, A, unknown> => predicateCodec(name, (value): value is A => types.isExternal(value))

/** Codec of a Uint8Array; `name` says in failures what its bytes are. */
export const bytesCodec = (name: string): t.Type<Uint8Array, Uint8Array, unknown> =>
  predicateCodec(name, (value): value is Uint8Array => value instanceof Uint8Array)

/** Codec of an ArrayBuffer; one that threads share is none. */
export const arrayBuffer = predicateCodec('ArrayBuffer', (value): value is ArrayBuffer => value instanceof ArrayBuffer)

/** Codec of a Float64Array, in which the addon takes and gives numbers. */
export const float64Array = predicateCodec('Float64Array', (value): value is Float64Array => value instanceof Float64Array)

/** Codec of a promise of anything; what it is kept with is decoded later. */
export const promise = predicateCodec('promise', (value): value is Promise<unknown> => value instanceof Promise)
