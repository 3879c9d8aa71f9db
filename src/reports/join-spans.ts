interface Span {
  readonly from: number
  readonly to: number
}

/** Spans of a lane that begin within the same `width` of time, one after the other, as one. */
const joinWithin = <A extends Span>(
  sorted: readonly A[],
  width: number,
  laneOf: (span: A) => number,
  join: (spans: readonly [A, ...A[]]) => A
): readonly A[] => {
  const groups: [A, ...A[]][] = []
  for (const span of sorted) {
    const group = groups.at(-1)
    const isNear =
      group !== undefined && laneOf(group[0]) === laneOf(span) && Math.floor(group[0].from / width) === Math.floor(span.from / width)
    if (isNear) group.push(span)
    else groups.push([span])
  }
  return groups.map((group) => (group.length === 1 ? group[0] : join(group)))
}

/** Spans as they are drawn, and how much time one of them may stand for; 0 where each is itself. */
export interface JoinedSpans<A> {
  readonly spans: readonly A[]
  readonly width: number
}

/**
 * At most `most` spans, or one a lane: those of a lane that begin within the same time are drawn as
 * one, the shortest time that does. They come back by lane and time.
 */
export const joinSpans = <A extends Span>(
  spans: readonly A[],
  most: number,
  laneOf: (span: A) => number,
  join: (spans: readonly [A, ...A[]]) => A
): JoinedSpans<A> => {
  if (spans.length <= most) return { spans, width: 0 }
  const sorted = [...spans].sort((a, b) => laneOf(a) - laneOf(b) || a.from - b.from)
  const duration = sorted.reduce((last, { to }) => Math.max(last, to), 1)
  const lanes = new Set(spans.map(laneOf)).size
  for (let width = duration / Math.max(most, 1); ; width *= 1.5) {
    const joined = joinWithin(sorted, width, laneOf, join)
    if (joined.length <= Math.max(most, lanes)) return { spans: joined, width }
  }
}
