import { findShard } from '../graph/shard'
import { untiled } from '../graph/span'
import type { Segment } from '../plans/plan'
import type { Search, Segmentation } from './strategy'

/** The most ops of a segment that is looked at: halos grow with each. */
const longest = 40

/** Segments that each are slower than shorter ones after which no longer one is looked at. */
const mostSlower = 4

const kept = (from: number, to: number): Segment => ({ from, to, grid: untiled, recompute: false, reorder: 'once' })

/** A way to the beginning of an op: segments, and what they take. */
interface Way {
  readonly segments: Segmentation
  readonly nanoseconds: number
}

/**
 * Everything kept, where ranks share rows: segments that end where that is faster than to compute
 * the halos of more ops, or where ops need what all ranks have (the shortest way over segments, as
 * a chain's schedule). Ops without rows for all ranks run between them.
 */
export const keptInRows = ({ graph, estimate }: Search): Segmentation => {
  const { nodes } = graph
  const hasRows = nodes.map((_, position) => findShard(graph, { from: position, to: position + 1 }) !== undefined)
  const ends = (from: number): readonly number[] => {
    if (hasRows[from] !== true) {
      const next = hasRows.indexOf(true, from)
      return [next === -1 ? nodes.length : next]
    }
    const last = Math.min(nodes.length, from + longest)
    const inRows = Array.from({ length: last - from }, (_, index) => from + index + 1)
    return inRows.filter((to) => to === from + 1 || findShard(graph, { from, to }) !== undefined)
  }
  const ways: (Way | undefined)[] = [{ segments: [], nanoseconds: 0 }]
  for (let from = 0; from < nodes.length; from++) {
    const way = ways[from]
    if (way === undefined) continue
    let slower = 0
    for (const to of ends(from)) {
      if (slower === mostSlower) break
      const segment = kept(from, to)
      const nanoseconds = estimate(segment)?.nanoseconds()
      if (nanoseconds === undefined) continue
      const before = ways[to]
      if (before === undefined || way.nanoseconds + nanoseconds < before.nanoseconds)
        ways[to] = { segments: [...way.segments, segment], nanoseconds: way.nanoseconds + nanoseconds }
      else slower++
    }
  }
  return ways[nodes.length]?.segments ?? [kept(0, nodes.length)]
}
