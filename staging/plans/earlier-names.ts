import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { earlierNames } from '../../dsl/internal'

/** A plan by today's names of its fields. */
export interface RenamedPlan {
  readonly plan: unknown
  /** The earlier names that it had, with those of today: "residence (now swapSchedule)". */
  readonly renamed: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object by today's names; fails where a field stands under both of its names. */
const renameFields = (thing: string, names: Readonly<Record<string, string>>, value: unknown): E.Either<string, RenamedPlan> => {
  if (!isFields(value)) return E.right({ plan: value, renamed: [] })
  const earlier = Object.keys(value).filter((name) => Object.hasOwn(names, name) && value[name] !== undefined)
  const twice = earlier.find((name) => value[names[name]!] !== undefined)
  if (twice !== undefined) return E.left(`${thing} has both ${names[twice]} and ${twice}, which is its earlier name; leave ${twice} out`)
  return E.right({
    plan: Object.fromEntries(Object.entries(value).map(([name, held]) => [earlier.includes(name) ? names[name] : name, held])),
    renamed: earlier.map((name) => `${name} (now ${names[name]})`)
  })
}

/** A row of a swap schedule, its tensor by today's name. */
const renameTensor = (value: unknown): RenamedPlan => {
  const [, first = '', layer] = isFields(value) && typeof value.tensor === 'string' ? (/^(\w+)( of .*)$/.exec(value.tensor) ?? []) : []
  const now = Object.hasOwn(earlierNames.tensor, first) ? earlierNames.tensor[first] : undefined
  return isFields(value) && now !== undefined
    ? { plan: { ...value, tensor: now + layer }, renamed: [`${first} (now ${now})`] }
    : { plan: value, renamed: [] }
}

/**
 * A plan in which the earlier names of fields and tensors are replaced by those of today; all else
 * is as it was.
 */
export const renameEarlierFields = (value: unknown): E.Either<string, RenamedPlan> =>
  pipe(
    renameFields('a plan', earlierNames.plan, value),
    E.chain(({ plan, renamed }) => {
      if (!isFields(plan)) return E.right({ plan, renamed })
      const { segments, placement, swapSchedule } = plan
      const rows = Array.isArray(swapSchedule) ? swapSchedule.map(renameTensor) : []
      return pipe(
        E.Do,
        E.bind('segments', () =>
          Array.isArray(segments)
            ? E.traverseArray((one: unknown) => renameFields('a segment', earlierNames.segment, one))(segments)
            : E.right([])
        ),
        E.bind('placement', () => renameFields('a placement', earlierNames.placement, placement)),
        E.map((parts) => ({
          plan: {
            ...plan,
            ...(Array.isArray(swapSchedule) && { swapSchedule: rows.map((one) => one.plan) }),
            ...(Array.isArray(segments) && { segments: parts.segments.map((one) => one.plan) }),
            ...(Object.hasOwn(plan, 'placement') && { placement: parts.placement.plan })
          },
          renamed: [...new Set([renamed, ...[...rows, ...parts.segments, parts.placement].map((one) => one.renamed)].flat())]
        }))
      )
    })
  )
