import { type Chain, lowerBound } from '../staging/chain'
import type { Timeline } from '../staging/lowering/cost/timeline'
import { dymemSwapIntervals } from '../staging/strategies/dymem'
import { type StageInterval, estimateNanoseconds, peakOccupancy, targets } from '../staging/strategies/swap-intervals'
import { lmsSchedules } from '../staging/strategies/lms'
import { shares, windowSwapIntervals } from '../staging/strategies/window'

/** A step of a chain as strategies that swap see it: F_0 .. F_L, then B_L .. B_0. */
const buildTimeline = ({ stages, output }: Chain): Timeline => {
  const last = 2 * stages.length - 1
  const forward = stages.map(({ u_F, ex_F }, i) => ({ milliseconds: u_F, bytes: ex_F + (i === stages.length - 1 ? output.x : 0) }))
  const backward = stages.map(({ u_B, ex_B, y }, i) => {
    const next = stages[i + 1]
    return { milliseconds: u_B, bytes: ex_B + y + (next?.y ?? output.y + output.x) }
  })
  return {
    stages: [...forward, ...backward.reverse()].map(({ milliseconds, bytes }, timepoint) => ({
      timepoint,
      bytes,
      liveBytes: bytes,
      hostBytes: 0,
      nanoseconds: 1e6 * milliseconds,
      busyNanoseconds: 1e6 * milliseconds
    })),
    backwardStart: stages.length,
    persistentBytes: 0,
    refusedKernel: undefined,
    tensors: stages.map(({ name, x }, i) => ({
      name,
      identity: { kind: 'output', node: name, form: 'tile' },
      bytes: x,
      movedBytes: x,
      from: Math.max(0, i - 1),
      written: i - 1,
      forward: i,
      backward: last - i,
      nanosecondsBefore: 0,
      reads: [last - i, ...(i === 0 ? [] : [last - i + 1])].map((stage) => ({ stage, nanosecondsBefore: 0 })),
      to: Math.min(last, last - i + 1)
    }))
  }
}

/** Each strategy's schedules for all memories; every stage counts as a convolution. */
const schedulesBy: Readonly<Record<string, (timeline: Timeline) => readonly (readonly StageInterval[])[]>> = {
  window: (timeline) =>
    targets(timeline, 32).flatMap((target) => shares.map((share) => windowSwapIntervals(timeline, target, share * target))),
  lms: (timeline) => lmsSchedules(timeline).map((schedule) => schedule()),
  dymem: (timeline) => {
    const graph = { nodes: Array.from({ length: timeline.backwardStart }, () => ({ op: 'conv2d' as const })) }
    return targets(timeline, 48).map((target) => dymemSwapIntervals(graph, timeline, target))
  }
}

/** The ways to swap of Hayakawa 2020, Imai 2019 and Yang 2020 (docs/papers.md), by name. */
export const swapStrategies = Object.keys(schedulesBy)

/**
 * Makespan over the bound of the fastest of a strategy's schedules that fits, by memory in bytes;
 * undefined where none does. Here a link works in both directions at once, which is of use only
 * around the turn.
 */
export const relativeMakespans = (chain: Chain, strategy: string): ((memory: number) => number | undefined) => {
  const timeline = buildTimeline(chain)
  const link = { toDevice: chain.beta, toHost: chain.beta }
  const rated = schedulesBy[strategy]!(timeline).map((intervals) => ({
    peak: peakOccupancy(timeline, intervals),
    milliseconds: estimateNanoseconds(timeline, intervals, { linkBytesPerSecond: link }) / 1e6
  }))
  return (memory) => {
    const fitting = rated.filter(({ peak }) => peak <= memory)
    if (fitting.length === 0) return undefined
    return Math.min(...fitting.map(({ milliseconds }) => milliseconds)) / lowerBound(chain, memory)
  }
}
