import * as E from 'fp-ts/Either'
import type { ParameterGroup } from '../../staging'

const fields: ReadonlyMap<string, 'rate' | 'weightDecay'> = new Map([
  ['rate', 'rate'],
  ['decay', 'weightDecay']
])

const notAGroup = (text: string): string =>
  `"${text}" is not a group of parameters: write PREFIX:rate=FACTOR, PREFIX:decay=VALUE or both, such as classifier:rate=10,decay=0`

/**
 * `PREFIX:rate=0.1,decay=0`: times the learning rate, and the weight decay; otherwise a sentence.
 */
export const parseGroup = (text: string): E.Either<string, ParameterGroup> => {
  const [, prefix, list] = /^([^:]*):(.+)$/.exec(text) ?? []
  if (prefix === undefined || list === undefined) return E.left(notAGroup(text))
  const entries = list.split(',').map((part) => {
    const [name = '', value = ''] = part.split('=')
    return [fields.get(name.trim()), value.trim() === '' ? NaN : Number(value)] as const
  })
  return entries.every(([field, value]) => field !== undefined && value >= 0 && Number.isFinite(value))
    ? E.right({ prefix, ...Object.fromEntries(entries) })
    : E.left(notAGroup(text))
}
