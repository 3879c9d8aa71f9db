import { firstWhere } from './first-where'
import { fastestKept } from './sft'
import { wholeGraph } from './plain'
import { peakOccupancy } from './swap-intervals'
import type { PlanGroup, ScheduledSegmentation, Search, Segmentation } from './strategy'

/** Numbers of bytes for a segment by itself: a part of what plain keeps, and parts of that. */
const ownRatio = 1.5
const ownCount = 8

/** Numbers of bytes for a segment and what is kept beside it, likewise. */
const keptRatio = 1.05
const keptCount = 72

/** Parts of so many bytes beside others, from few to many. */
const ladder = (beside: number, bytes: number, ratio: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => beside + bytes / ratio ** (count - 1 - index))

/**
 * Segments that are computed again as seldom as the link allows: the fastest that fit a number of
 * bytes each by itself, and with what they keep one that is larger than the device's, so that the
 * rest waits on the host. That larger number is raised until what is moved more takes longer than
 * what is computed again less.
 */
export const keepOrMove = (search: Search, scheduledOf: (segments: Segmentation) => ScheduledSegmentation): readonly PlanGroup[] => {
  const { graph, device, persistentBytes, timeline } = search
  const mostBytes = peakOccupancy(timeline(wholeGraph(graph)), []) - persistentBytes
  const kept = ladder(persistentBytes, mostBytes, keptRatio, keptCount)
  const { toDevice, toHost } = device.linkBytesPerSecond
  const rungOf = (bytes: number): number => {
    const found = kept.findIndex((one) => one >= bytes)
    return found === -1 ? keptCount - 1 : found
  }
  /** What `findLast` found last, by bytes on the device: it is seldom far from that next time. */
  const lasts = new Map<number, number>()
  /** Likewise nanoseconds of a step then: with segments of fewer bytes it seldom takes less. */
  const leastTimes = new Map<number, number>()
  const groupsOf = (own: number): readonly PlanGroup[] => {
    const known = new Map<number, { readonly limit: number; readonly scheduled: ScheduledSegmentation | undefined }>()
    const scheduledAt = (rung: number, limit: number): ScheduledSegmentation | undefined => {
      const before = known.get(rung)
      if (before !== undefined && (before.scheduled !== undefined || before.limit >= limit)) return before.scheduled
      const [segments] = fastestKept(search).within(kept[rung]!, limit, own)
      const scheduled = segments && scheduledOf(segments)
      known.set(rung, { limit, scheduled })
      return scheduled
    }
    /** Where a step of what keeps more and more begins to take longer. */
    const findLast = (first: number, end: number, limit: number, deviceBytes: number): number => {
      const takesLongerAfter = (rung: number): boolean => {
        const [one, more] = [scheduledAt(rung, limit), scheduledAt(rung + 1, limit)]
        return one !== undefined && more !== undefined && more.leastNanoseconds(deviceBytes) >= one.leastNanoseconds(deviceBytes)
      }
      let last = Math.min(lasts.get(deviceBytes) ?? firstWhere(first, end, takesLongerAfter), end)
      while (last > first && takesLongerAfter(last - 1)) last--
      while (last < end && !takesLongerAfter(last)) last++
      lasts.set(deviceBytes, last)
      return last
    }
    return [...kept.keys()].reverse().map((rung) => ({
      target: own,
      scheduled: (slowest, deviceBytes) => {
        // What keeps no more than the device holds need not move, and no more passes in that time.
        const [first, end] = [rungOf(deviceBytes), rungOf(deviceBytes + slowest / (1e9 / toDevice + 1e9 / toHost))]
        if (own > deviceBytes || rung < first || rung > end || leastTimes.get(deviceBytes)! >= slowest) return []
        const last = findLast(first, end, slowest, deviceBytes)
        const least = scheduledAt(last, slowest)?.leastNanoseconds(deviceBytes) ?? slowest
        // Too little may be able to leave while a segment needs nearly all.
        if (least < Infinity) leastTimes.set(deviceBytes, least)
        const one = rung > last || least >= slowest ? undefined : scheduledAt(rung, slowest)
        return one === undefined ? [] : [one]
      }
    }))
  }
  return ladder(persistentBytes, mostBytes / ownRatio, ownRatio, ownCount).flatMap(groupsOf)
}
