import type { Offset } from './address'

/** Bytes between this rank and others, in the arena; strides are those from rank to rank. */
export interface AllToAll {
  readonly kind: 'allToAll'
  readonly engine: 'network'
  readonly ranks: number
  /** How far apart those ranks are: 1, one after the other; the ranks of a group, one of each. */
  readonly apart: number
  /** Bytes that go to each rank, and come from it. */
  readonly bytes: number
  readonly sendStride: number
  readonly receiveStride: number
  readonly send: Offset
  readonly receive: Offset
}

/** This rank's of as many slices as there are ranks, which is copied elsewhere in the arena. */
export interface OwnSlice {
  readonly kind: 'ownSlice'
  readonly engine: 'compute'
  readonly ranks: number
  /** Bytes of a slice. */
  readonly bytes: number
  /** Where the slices begin: one after the other, by rank. */
  readonly from: Offset
  readonly to: Offset
}

/** Bytes that go to a rank, or come from it, in the arena. */
export interface Message {
  readonly rank: number
  readonly bytes: number
  readonly at: Offset
}

/** Bytes between this rank and others, each of which has as many of them as it says. */
export interface Exchange {
  readonly kind: 'exchange'
  readonly engine: 'network'
  /** In all, of which it need not name each. */
  readonly ranks: number
  /** By rank. */
  readonly sends: readonly Message[]
  readonly receives: readonly Message[]
}
