import * as E from 'fp-ts/Either'
import { type OptionTable, optionFlag } from './option'

/** A flag that is false was not given. */
const isGiven = (options: object, name: string): boolean => {
  const value: unknown = (options as Readonly<Record<string, unknown>>)[name]
  return value !== undefined && value !== false
}

/** The options, or a sentence on the first that stands without another that it needs. */
export const checkNeeds = <O extends object>(table: OptionTable, options: O): E.Either<string, O> => {
  for (const [name, { needs = [] }] of Object.entries(table)) {
    const lacking = isGiven(options, name) ? needs.find((other) => !isGiven(options, other)) : undefined
    if (lacking !== undefined) return E.left(`${optionFlag(name)} needs ${optionFlag(lacking)}: give both`)
  }
  return E.right(options)
}
