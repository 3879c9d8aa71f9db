import { memoizePerObject } from '../memoize'

/** A buffer to place: live in program order from `from` up to, not including, `to`. */
export interface Lifetime {
  readonly bytes: number
  readonly from: number
  readonly to: number
}

/** Where buffers lie, in the order of their lifetimes, and the bytes that this takes. */
export interface Placement {
  /**
   * Offset of each lifetime in bytes, a multiple of the alignment; in a space of virtual addresses
   * where there are `pages`.
   */
  readonly offsets: readonly number[]
  /** Highest byte in use, plus one; with `pages`, of the memory behind the addresses. */
  readonly peakBytes: number
  /** True if no placement can be lower, the padding of the last buffer aside. */
  readonly optimal: boolean
  /**
   * Pages of memory that each buffer's addresses are mapped to, in order; with virtual addressing
   * only.
   */
  readonly pages?: readonly (readonly PageRun[])[]
}

/** Pages of memory that follow each other, numbered from 0. */
export interface PageRun {
  readonly first: number
  readonly count: number
}

/** What an allocator must keep to, and how long it may take. */
export interface PlacementOptions {
  /** Alignment in bytes: every offset is a multiple of it. */
  readonly alignment: number
  /**
   * Bytes that are enough: `static` looks for nothing lower. No allocator fails for exceeding it.
   */
  readonly capacity?: number
  /** Positions that `static` may try; its time is in proportion to them times the buffers. */
  readonly stepLimit?: number
  /** Bytes of a page of memory under `virtual`, m_c of Hayakawa 2020. */
  readonly pageBytes?: number
}

/** Gives every buffer its bytes for its lifetime. Deterministic; never fails. */
export type Allocator = (lifetimes: readonly Lifetime[], options: PlacementOptions) => Placement

/**
 * Alignment of a Program's buffers in bytes: cache lines, and the widest vectors that kernels load.
 */
export const alignment = 64

/** The least multiple of `granule`, in bytes, that holds so many bytes. */
export const alignUp = (bytes: number, granule = alignment): number => Math.ceil(bytes / granule) * granule

/** What is live at one time. */
interface Live {
  readonly bytes: number
  readonly time: number
}

const findMaxLive = (lifetimes: readonly Lifetime[], granule: number): Live => {
  const by = (time: (one: Lifetime) => number): readonly Lifetime[] => [...lifetimes].sort((a, b) => time(a) - time(b))
  const [born, dead] = [by(({ from }) => from), by(({ to }) => to)]
  let [live, ended] = [0, 0]
  let most = { bytes: 0, time: 0 }
  for (const { bytes, from } of born) {
    for (; ended < dead.length && dead[ended]!.to <= from; ended++) live -= alignUp(dead[ended]!.bytes, granule)
    live += alignUp(bytes, granule)
    if (live > most.bytes) most = { bytes: live, time: from }
  }
  return most
}

const knownLive = memoizePerObject((_: readonly Lifetime[], granule: number) => granule, findMaxLive)

/** Most bytes live at once, and when: no placement can be lower. Remembered for each list. */
export const maxLive = (lifetimes: readonly Lifetime[], granule = alignment): Live => knownLive(lifetimes, granule)

/** Offsets as a placement; one that needs no more than what is live at once is optimal. */
export const makePlacement = (lifetimes: readonly Lifetime[], offsets: readonly number[], granule: number): Placement => {
  const peakBytes = lifetimes.reduce((peak, { bytes }, index) => Math.max(peak, offsets[index]! + bytes), 0)
  return { offsets, peakBytes, optimal: peakBytes <= maxLive(lifetimes, granule).bytes }
}
