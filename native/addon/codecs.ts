import { types } from 'node:util'
import type * as t from 'io-ts'
import { predicateCodec } from '../../staging/decoding/predicate-codec'

// By `types`, since Jest runs a test in a realm of its own, whose classes are not the addon's.

/** Calls of the addon answer `{ value }` or `{ error }`; decode them with `decodeAnswer`. */
type Call = (...values: readonly unknown[]) => unknown
/** Codec of a function of the addon; its answers have codecs of their own. */
export const call = predicateCodec<Call>('function', (value) => typeof value === 'function')

/** Decodes what the addon alone can make and look into: a handle, in sentences called `name`. */
export const handleCodec = <A>(name: string): t.Type<A> => predicateCodec(name, types.isExternal)

/** Codec of a Uint8Array; `name` says in failures what its bytes are. */
export const bytesCodec = (name: string): t.Type<Uint8Array> => predicateCodec(name, types.isUint8Array)

/** Codec of an ArrayBuffer; one that threads share is none. */
export const arrayBuffer = predicateCodec<ArrayBuffer>('ArrayBuffer', types.isArrayBuffer)

/** Codec of a Float64Array, in which the addon takes and gives numbers. */
export const float64Array = predicateCodec<Float64Array>('Float64Array', types.isFloat64Array)

/** Codec of a promise of anything; what it is kept with is decoded later. */
export const promise = predicateCodec<Promise<unknown>>('promise', types.isPromise)
