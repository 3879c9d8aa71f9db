import { isLeft } from 'fp-ts/Either'
import type * as t from 'io-ts'

/**
 * A value from outside, checked; `source` says where it comes from. Throws where it is not what was
 * expected.
 */
export const decodeOrThrow = <A>(codec: t.Type<A, unknown>, value: unknown, source: string): A => {
  const result = codec.decode(value)
  if (isLeft(result)) throw new Error(`${source} is not what was expected: ${JSON.stringify(value)?.slice(0, 200)}`)
  return result.right
}
