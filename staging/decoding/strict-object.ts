import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { suggestion } from './close-name'

type OptionalName<O> = { [K in keyof O]-?: {} extends Pick<O, K> ? K : never }[keyof O]

/** A codec of each field that must be there: the compiler holds fields and codecs equal. */
export type RequiredCodecs<O> = { readonly [K in Exclude<keyof O, OptionalName<O>>]: t.Type<O[K]> }
/** A codec of each field that may be left out. */
export type OptionalCodecs<O> = { readonly [K in OptionalName<O>]-?: t.Type<Exclude<O[K], undefined>> }

/**
 * A codec of objects with these fields and no others: `thing` and `field` are words for a sentence
 * that names the one that was likely meant, "train has no option stepss; did you mean steps?". Each
 * field is read once, and what comes out is a copy, its fields in the order given; `undefined`
 * counts as left out.
 */
export const strictObject = <O extends object>(
  thing: string,
  field: string,
  required: RequiredCodecs<O>,
  optional: OptionalCodecs<O>
): t.Type<O> => {
  const codecs: Readonly<Record<string, t.Mixed>> = { ...required, ...optional }
  const names = Object.keys(codecs)
  const validate: t.Validate<unknown, O> = (value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return t.failure(value, context)
    const given = value as Readonly<Record<string, unknown>>
    const own = Object.keys(given)
    const unknown = own.find((name) => !Object.hasOwn(codecs, name))
    if (unknown !== undefined)
      return t.failure(value, context, `${thing} has no ${field} ${JSON.stringify(unknown).slice(1, -1)}${suggestion(unknown, names)}`)
    const copy: Record<string, unknown> = {}
    for (const name of [...own, ...names.filter((one) => !Object.hasOwn(given, one))]) {
      const [codec, held] = [codecs[name]!, given[name]]
      const inside = t.appendContext(context, name, codec, held)
      if (held === undefined && Object.hasOwn(required, name)) return t.failure(held, inside)
      if (held === undefined) continue
      const decoded = codec.validate(held, inside)
      if (E.isLeft(decoded)) return decoded
      copy[name] = decoded.right
    }
    return t.success(copy as O)
  }
  return new t.Type<O>(thing, (value): value is O => E.isRight(validate(value, [])), validate, t.identity)
}
