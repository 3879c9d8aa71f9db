import type { PlanGrid } from '../../dsl/internal'

/** Numbers of tiles along batch, height and width. */
export type Grid = PlanGrid

/** A half-open range [from, to) of nodes that runs tile by tile. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The grid of a single tile. */
export const untiled: Grid = { B: 1, H: 1, W: 1 }

/** How many tiles a grid has in all. */
export const tileCount = (grid: Grid): number => grid.B * grid.H * grid.W
