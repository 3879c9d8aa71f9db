import type { Lowering } from '../lowering/lower'
import type { SegmentEstimate } from '../lowering/estimate'
import type { Segment } from '../plan'

/** What a strategy may ask while it decides. */
export interface Search {
  readonly lowering: Lowering
  /** Bytes of parameters and optimizer state. */
  readonly residentBytes: number
  readonly estimate: (segment: Segment) => SegmentEstimate | undefined
}

/**
 * A strategy fills in decisions only: the candidate segmentations that it believes to fit `budget` bytes, best first.
 * Staging lowers them in order and takes the first whose exact peak fits.
 */
export type Strategy = (search: Search, budget: number) => readonly (readonly Segment[])[]
