import type { Plan as PlanOf, PlanGrid, PlanSegment, PlanSwapInterval } from '../../dsl'

export type { PlanPlacement } from '../../dsl'

/** A plan as staging and lowering have it: layers by their positions, timepoints by number. */
export type Plan = PlanOf<number>

/** Consecutive nodes [from, to) that run tile by tile; layers by their positions in the order. */
export type Segment = PlanSegment<number>

/** A tensor that waits on the host for a while, between timepoints that are told by number. */
export type SwapInterval = PlanSwapInterval<number>

/** What waits on the host, in the order in which tensors are made. */
export type SwapSchedule = readonly SwapInterval[]

/** Numbers of tiles along batch, height and width. */
export type Grid = PlanGrid

/** A half-open range [from, to) of nodes. */
export type Span = Pick<Segment, 'from' | 'to'>

/** The grid of a single tile. */
export const untiled: Grid = { B: 1, H: 1, W: 1 }

/** How many tiles a grid has in all. */
export const tileCount = (grid: Grid): number => grid.B * grid.H * grid.W
