interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Spans joined with their next neighbour in the same lane, across the shortest gaps first, until at
 * most `most` are left, or one a lane. They come back by lane and time; `join` makes one of two.
 */
export const joinNearest = <A extends Span>(
  spans: readonly A[],
  most: number,
  laneOf: (span: A) => number,
  join: (before: A, after: A) => A
): readonly A[] => {
  if (spans.length <= most) return spans
  const sorted = [...spans].sort((a, b) => laneOf(a) - laneOf(b) || a.from - b.from)
  const gapBefore = (at: number): number =>
    at === 0 || laneOf(sorted[at - 1]!) !== laneOf(sorted[at]!) ? Infinity : sorted[at]!.from - sorted[at - 1]!.to
  const places = sorted.map((_, at) => at).sort((a, b) => gapBefore(a) - gapBefore(b))
  const joined = new Set(places.slice(0, spans.length - most).filter((at) => gapBefore(at) !== Infinity))
  const result: A[] = []
  for (const [at, span] of sorted.entries())
    if (joined.has(at)) result.push(join(result.pop()!, span))
    else result.push(span)
  return result
}
