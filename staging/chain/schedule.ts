import type { Chain } from './chain'
import { backwardBytes, forwardBytes } from './memory'

/** Tells by stage whether its input x_i is offloaded to the host between F_i and B_i. */
export type OffloadSet = readonly boolean[]

/**
 * When memory on the device is free again (and, in backward, when it is taken): with the whole of
 * an activation, as in Problem 1, or byte by byte as the link moves them, as in the relaxation of
 * section 5, where the best set of Problem 2 is found.
 */
export type Release = 'whole' | 'bytes'

/**
 * Start times in milliseconds, by stage; those of transfers are undefined where nothing is
 * offloaded.
 */
export interface Schedule {
  readonly offload: OffloadSet
  readonly makespan: number
  readonly forward: readonly number[]
  readonly backward: readonly number[]
  readonly offloads: readonly (number | undefined)[]
  readonly prefetches: readonly (number | undefined)[]
}

/** A phase of a schedule: operations 0 ... L as early as possible, and transfers in that order. */
interface Phase {
  /** End of each operation. */
  readonly ends: readonly number[]
  /** End of each transfer, by stage. */
  readonly transferred: readonly (number | undefined)[]
  /** The time by which so many bytes were transferred; undefined where fewer are. */
  readonly timeOf: (bytes: number) => number | undefined
}

/** Transfers in the order in which the link makes them. */
const createLink = (millisecondsPerByte: number, release: Release) => {
  const sums: number[] = []
  const ends: number[] = []
  return {
    transfer: (bytes: number, ready: number): number => {
      const end = Math.max(ready, ends.at(-1) ?? 0) + bytes * millisecondsPerByte
      sums.push((sums.at(-1) ?? 0) + bytes)
      ends.push(end)
      return end
    },
    timeOf: (bytes: number): number | undefined => {
      let [low, high] = [0, sums.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if (sums[middle]! >= bytes) high = middle
        else low = middle + 1
      }
      if (low === sums.length) return undefined
      return release === 'whole' ? ends[low]! : ends[low]! - (sums[low]! - bytes) * millisecondsPerByte
    }
  }
}

/**
 * Operations in turn, each when the one before has ended and enough of the activations before its
 * own input has gone: `excess` bytes. An activation may be transferred once the operation before
 * its own has ended (`produced`: forward), or once its own has (in backward, seen from the end,
 * since B_i reads all of x_i).
 */
const phase = (
  chain: Chain,
  offload: OffloadSet,
  release: Release,
  times: readonly number[],
  excess: readonly number[],
  readyWhen: 'produced' | 'done'
): Phase | undefined => {
  const link = createLink(1000 / chain.beta, release)
  const ends: number[] = []
  const transferred: (number | undefined)[] = []
  let clock = 0
  for (const [i, time] of times.entries()) {
    const before = clock
    const free = excess[i]! > 0 ? link.timeOf(excess[i]!) : 0
    if (free === undefined) return undefined
    clock = Math.max(clock, free) + time
    ends.push(clock)
    transferred.push(offload[i] ? link.transfer(chain.stages[i]!.x, readyWhen === 'produced' ? before : clock) : undefined)
  }
  return { ends, transferred, timeOf: link.timeOf }
}

/**
 * The least time between F_L and B_L: the transfers of one phase that reach into the other must
 * leave it the link and the memory.
 */
const gapBetween = (forward: Phase, backward: Phase, forwardExcess: readonly number[], backwardExcess: readonly number[]): number => {
  const last = ({ transferred }: Phase): number => transferred.reduce<number>((latest, end) => Math.max(latest, end ?? 0), 0)
  const both = forward.ends.at(-1)! + backward.ends.at(-1)!
  let gap = Math.max(0, last(forward) + last(backward) - both)
  const wait = (excess: readonly number[], { ends }: Phase, other: Phase): void =>
    excess.forEach((bytes, i) => {
      if (bytes > 0) gap = Math.max(gap, ends[i]! + other.timeOf(bytes)! - both)
    })
  wait(forwardExcess, forward, backward)
  wait(backwardExcess, backward, forward)
  return gap
}

/**
 * The no-wait ordered schedule of an offload set (sections 3.2 and 4.1): offloads by increasing
 * stage, then prefetches by decreasing stage. Forward runs as early as possible from its beginning,
 * backward as late as possible from its end, which is the same seen backwards; the gap between them
 * is the least that keeps to link and memory. Undefined where some operation never fits into
 * `memory` bytes.
 */
export const scheduleInOrder = (chain: Chain, memory: number, offload: OffloadSet, release: Release = 'whole'): Schedule | undefined => {
  const forwardExcess = forwardBytes(chain).withAll.map((bytes) => bytes - memory)
  const backwardExcess = backwardBytes(chain).withAll.map((bytes) => bytes - memory)
  const [timesF, timesB] = [chain.stages.map(({ u_F }) => u_F), chain.stages.map(({ u_B }) => u_B)]
  const forward = phase(chain, offload, release, timesF, forwardExcess, 'produced')
  const backward = phase(chain, offload, release, timesB, backwardExcess, 'done')
  if (forward === undefined || backward === undefined) return undefined
  const makespan = forward.ends.at(-1)! + backward.ends.at(-1)! + gapBetween(forward, backward, forwardExcess, backwardExcess)
  const millisecondsPerByte = 1000 / chain.beta
  const startOf = (start: (end: number, i: number) => number) => (end: number | undefined, i: number) =>
    end === undefined ? undefined : start(end, i)
  return {
    offload,
    makespan,
    forward: forward.ends.map((end, i) => end - timesF[i]!),
    backward: backward.ends.map((end) => makespan - end),
    offloads: forward.transferred.map(startOf((end, i) => end - chain.stages[i]!.x * millisecondsPerByte)),
    prefetches: backward.transferred.map(startOf((end) => makespan - end))
  }
}
