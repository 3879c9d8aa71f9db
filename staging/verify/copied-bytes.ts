import type { Event, ProgramEvents, Store } from './events'

type Range = readonly [from: number, to: number]
type Space = Store['space']

/** Ranges of the spaces that copies of some events reach, in bytes of the space. */
const copiedRanges = (stores: readonly Store[], events: readonly Event[]): readonly (readonly [Space, Range])[] =>
  events.flatMap((event) =>
    event.kind === 'loop'
      ? copiedRanges(stores, event.body)
      : event.kind === 'access' && event.engine !== 'compute'
        ? event.accesses.map(({ store, range: [from, to] }) => {
            const { space, offset } = stores[store]!
            return [space, [offset + from, offset + to]] as const
          })
        : []
  )

const mergeRanges = (ranges: readonly Range[]): readonly Range[] => {
  const union: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = union[union.length - 1]
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to)
    else union.push([from, to])
  }
  return union
}

/**
 * Tells whether a range of a space, in bytes, meets what copies of these events reach: nothing else
 * can be in flight.
 */
export const copiedBytes = ({ stores }: ProgramEvents, events: readonly Event[]): ((space: Space, range: Range) => boolean) => {
  const copied = copiedRanges(stores, events)
  const of = (wanted: Space): readonly Range[] => mergeRanges(copied.flatMap(([space, range]) => (space === wanted ? [range] : [])))
  const spaces: Readonly<Record<Space, readonly Range[]>> = { arena: of('arena'), host: of('host'), stepIo: of('stepIo') }
  return (space, [from, to]) => spaces[space].some((range) => range[0] < to && from < range[1])
}
