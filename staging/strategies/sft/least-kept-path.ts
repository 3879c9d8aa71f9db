import type { Route } from './least-times'

/** A way for one segment, of which only this counts here. */
interface Way {
  readonly keptBytes: () => number
}

/** A path to a position, and the bytes that are kept until there. */
interface Path<A extends Way> {
  readonly keptBytes: number
  readonly last: { readonly way: A; readonly before: Path<A> } | undefined
}

const listWays = <A extends Way>({ last }: Path<A>): readonly A[] => (last === undefined ? [] : [...listWays(last.before), last.way])

/**
 * The path to the last position that keeps the fewest bytes of any, segment by segment; undefined
 * where there is none. `wayOf` gives what keeps least of what may follow so many bytes, and is not
 * asked where by what any keeps at least there is better already.
 */
export const leastKeptPath = <A extends Way>(
  { positions, from }: Pick<Route, 'positions' | 'from'>,
  leastKeptBytes: (from: number, to: number) => number,
  wayOf: (from: number, to: number, keptBytes: number) => A | undefined
): readonly A[] | undefined => {
  const paths = new Map<number, Path<A>>([[positions[0]!, { keptBytes: 0, last: undefined }]])
  for (const start of positions) {
    const before = paths.get(start)
    if (before === undefined) continue
    for (const to of from(start)) {
      const known = paths.get(to)?.keptBytes ?? Infinity
      if (before.keptBytes + leastKeptBytes(start, to) >= known) continue
      const way = wayOf(start, to, before.keptBytes)
      if (way === undefined) continue
      const keptBytes = before.keptBytes + way.keptBytes()
      if (keptBytes < known) paths.set(to, { keptBytes, last: { way, before } })
    }
  }
  const path = paths.get(positions.at(-1)!)
  return path && listWays(path)
}
