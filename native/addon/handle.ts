import { types } from 'node:util'
import * as t from 'io-ts'

/** Decodes what the addon alone can make and look into: a handle, in sentences called `name`. */
export const handleCodec = <A>(name: string): t.Type<A, A, unknown> => {
  const isHandle = (value: unknown): value is A => types.isExternal(value)
  return new t.Type<A, A, unknown>(
    name,
    isHandle,
    (value, context) => (isHandle(value) ? t.success(value) : t.failure(value, context)),
    t.identity
  )
}
