/** Numbers of tiles along batch, height and width. */
export interface Grid {
  readonly B: number
  readonly H: number
  readonly W: number
}

/** A half-open range of nodes that runs tile by tile. */
export interface Span {
  readonly from: number
  readonly to: number
}

export const untiled: Grid = { B: 1, H: 1, W: 1 }

export const tileCount = (grid: Grid): number => grid.B * grid.H * grid.W
