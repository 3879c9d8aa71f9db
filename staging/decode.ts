import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'

const described = (name: string, thing: string): string =>
  /^(string|number)$/.test(name) ? `a ${name}` : /^(Array|Readonly|\{)/.test(name) ? `as in a ${thing}` : name

/**
 * What JSON or a module holds as a `thing` ("plan"), or words on the first place that is wrong: "segments[2].grid.H is "4", not a number".
 * Codecs are named by what they accept.
 */
export const decodeAs =
  <A>(thing: string, codec: t.Decoder<unknown, A>) =>
  (value: unknown): E.Either<string, A> =>
    pipe(
      codec.decode(value),
      E.mapLeft(([fault]) => {
        const context = fault?.context ?? []
        // An intersection, or a union, puts the number of its part on the way, which is no key.
        const inParts = (type: t.Decoder<never, unknown>): boolean => type instanceof t.IntersectionType || type instanceof t.UnionType
        const keys = context.slice(1).filter((_, place) => !inParts(context[place]!.type))
        const path = keys.reduce((text, { key }) => text + (/^\d+$/.test(key) ? `[${key}]` : `${text && '.'}${key}`), '')
        const expected = described(context.at(-1)?.type.name ?? `a ${thing}`, thing)
        if (path === '') return `it holds no ${thing}`
        return fault?.value === undefined ? `${path} is missing` : `${path} is ${JSON.stringify(fault.value)}, not ${expected}`
      })
    )
