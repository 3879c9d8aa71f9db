import type { Plan as PlanOf } from '../../dsl'
import type { PlanSegment, PlanSwapInterval } from '../../dsl/internal'

export type { PlanPlacement } from '../../dsl/internal'

/** A plan as staging and lowering have it: layers by their positions, timepoints by number. */
export type Plan = PlanOf<number>

/** Consecutive nodes [from, to) that run tile by tile; layers by their positions in the order. */
export type Segment = PlanSegment<number>

/** A tensor that waits on the host for a while, between timepoints that are told by number. */
export type SwapInterval = PlanSwapInterval<number>

/** What waits on the host, in the order in which tensors are made. */
export type SwapSchedule = readonly SwapInterval[]
