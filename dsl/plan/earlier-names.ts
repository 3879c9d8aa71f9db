import type { PlanPlacement, PlanSwapInterval } from './plan'
import type { PlanFigures, PlanFile, PlanFileSegment } from './plan-file'

/** Fields of a plan by the names that they had in earlier versions. */
export interface EarlierPlanFields {
  /** @deprecated It is called `swapSchedule`. */
  readonly residence?: readonly PlanSwapInterval[]
}

/** Fields of a segment by the names that they had in earlier versions. */
export interface EarlierSegmentFields {
  /** @deprecated It is called `hostTensors`. */
  readonly streams?: readonly string[]
  /** @deprecated It is called `prefetch`. */
  readonly loadsAhead?: true
  /** @deprecated It is called `rematerialize`. */
  readonly repeats?: true
}

/** Fields of a placement by the names that they had in earlier versions. */
export interface EarlierPlacementFields {
  /** @deprecated It is called `pageBytes`. */
  readonly chunkBytes: number
}

/**
 * Today's names of earlier fields of a plan, of its segments and of its placement, and today's
 * first words of tensors in its swap schedule.
 */
export const earlierNames: {
  readonly plan: Readonly<Record<keyof EarlierPlanFields, keyof PlanFile>>
  readonly segment: Readonly<Record<keyof EarlierSegmentFields, keyof PlanFileSegment>>
  readonly placement: Readonly<Record<keyof EarlierPlacementFields, keyof PlanPlacement>>
  readonly tensor: Readonly<Record<string, string>>
} = {
  plan: { residence: 'swapSchedule' },
  segment: { streams: 'hostTensors', loadsAhead: 'prefetch', repeats: 'rematerialize' },
  placement: { chunkBytes: 'pageBytes' },
  tensor: { winners: 'indices' }
}

/** A segment as a file may write it. */
export interface SegmentInFile extends PlanFileSegment, EarlierSegmentFields {}

/** A placement as a file may write it. */
export type PlacementInFile = PlanPlacement | (Omit<PlanPlacement, 'pageBytes'> & EarlierPlacementFields)

/**
 * A plan as a file may write it, with a strategy and figures that there may not be: for those there
 * are sentences.
 */
export interface PlanInFile extends Omit<PlanFile, 'strategy' | 'predicted' | 'segments' | 'placement'>, EarlierPlanFields {
  readonly strategy: string
  readonly predicted: PlanFigures & object
  readonly segments: readonly SegmentInFile[]
  readonly placement?: PlacementInFile
}
