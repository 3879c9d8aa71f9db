import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'

const describe = (name: string, thing: string): string =>
  /^(string|number)$/.test(name)
    ? `a ${name}`
    : /^(Readonly)?Array</.test(name)
      ? 'a list'
      : /^(Readonly|\{)/.test(name)
        ? `as in a ${thing}`
        : name

const longestShown = 1000

/** A value inside a sentence: as JSON has it, where JSON has it. */
export const formatValue = (value: unknown): string => {
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`
  if (value === undefined || typeof value === 'number' || typeof value === 'bigint') return `${value}`
  const text =
    E.getOrElse((): string | undefined => undefined)(E.tryCatch(() => JSON.stringify(value), String)) ??
    (typeof value === 'object' ? 'an object' : `a ${typeof value}`)
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`
}

/** An intersection, or a union, puts the number of its part on the way, which is no key. */
const inParts = (type: t.Decoder<never, unknown>): boolean =>
  type instanceof t.IntersectionType || type instanceof t.UnionType || (type instanceof t.ReadonlyType && inParts(type.type))

/** Returns the path to a fault: "segments[2].grid.H"; empty where it is the whole. */
const contextPath = (context: t.Context): string =>
  context
    .slice(1)
    .filter((_, place) => !inParts(context[place]!.type))
    .reduce((text, { key }) => text + (/^\d+$/.test(key) ? `[${key}]` : `${text && '.'}${key}`), '')

/**
 * Decodes a value of JSON or a module as a `thing` ("plan"), or answers with words on the first
 * place that is wrong: "segments[2].grid.H is "4", not a number". Codecs are named by what they
 * accept, or fail with words of their own.
 */
export const decodeAs =
  <A>(thing: string, codec: t.Decoder<unknown, A>) =>
  (value: unknown): E.Either<string, A> =>
    pipe(
      codec.decode(value),
      E.mapLeft(([fault]) => {
        const context = fault?.context ?? []
        const path = contextPath(context)
        const expected = describe(context.at(-1)?.type.name ?? `a ${thing}`, thing)
        if (fault?.message !== undefined) return path === '' ? fault.message : `${path}: ${fault.message}`
        if (path === '') return `it holds no ${thing}`
        return fault?.value === undefined ? `${path} is missing` : `${path} is ${formatValue(fault.value)}, not ${expected}`
      })
    )
