import { replay } from './online'
import type { Allocator, PageRun } from './placement'

/** The smallest page that CUDA maps on most GPUs, in bytes. */
export const minCudaPage = 2 ** 21

/** In ascending order, with neighbours joined. */
const joinRuns = (runs: readonly PageRun[]): readonly PageRun[] =>
  [...runs]
    .sort((a, b) => a.first - b.first)
    .reduce<PageRun[]>((before, run) => {
      const last = before[before.length - 1]
      if (last === undefined || last.first + last.count < run.first) before.push(run)
      else before[before.length - 1] = { first: last.first, count: last.count + run.count }
      return before
    }, [])

/** Free pages are the ones below `used` that nothing is mapped to. */
const createPagePool = () => {
  let free: readonly PageRun[] = []
  let used = 0
  return {
    used: () => used,
    /** The lowest free pages, then new ones. */
    take: (wanted: number): readonly PageRun[] => {
      const taken: PageRun[] = []
      let missing = wanted
      for (const { first, count } of free) {
        if (missing === 0) break
        taken.push({ first, count: Math.min(count, missing) })
        missing -= taken[taken.length - 1]!.count
      }
      const last = taken[taken.length - 1]
      const parted = free[taken.length - 1]
      free = free.slice(taken.length)
      if (last !== undefined && parted !== undefined && parted.count > last.count)
        free = [{ first: last.first + last.count, count: parted.count - last.count }, ...free]
      if (missing > 0) {
        taken.push({ first: used, count: missing })
        used += missing
      }
      return joinRuns(taken)
    },
    give: (runs: readonly PageRun[]): void => {
      free = joinRuns([...free, ...runs])
    }
  }
}

/**
 * Virtual addressing (Hayakawa 2020, section 4): a buffer of m_r bytes takes k = ceil(m_r / m_c)
 * pages of m_c bytes wherever they lie, mapped to consecutive addresses of its own, so nothing is
 * lost but the rest of its last page. A dead buffer's pages serve the next ones; the lowest free
 * ones are taken, so that the peak is the most pages in use at once.
 */
export const virtual: Allocator = (lifetimes, { pageBytes = minCudaPage }) => {
  const counts = lifetimes.map(({ bytes }) => Math.ceil(bytes / pageBytes))
  const offsets: number[] = []
  let addresses = 0
  for (const count of counts) {
    offsets.push(addresses)
    addresses += count * pageBytes
  }
  const memory = createPagePool()
  const pages: (readonly PageRun[])[] = lifetimes.map(() => [])
  replay(lifetimes, {
    allocate: (index) => void (pages[index] = memory.take(counts[index]!)),
    free: (index) => memory.give(pages[index]!)
  })
  return { offsets, peakBytes: memory.used() * pageBytes, optimal: false, pages }
}
