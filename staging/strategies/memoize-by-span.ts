import type { Span } from '../graph/span'
import { memoizeByNumber } from '../memoize'

/** Remembers a function's results by the ends of a span of at most `end` ops. */
export const memoizeBySpan = <A>(end: number, compute: (span: Span) => A): ((span: Span) => A) => {
  const known = memoizeByNumber((key) => compute({ from: Math.floor(key / (end + 1)), to: key % (end + 1) }))
  return ({ from, to }) => known(from * (end + 1) + to)
}
