/**
 * Extents of a tensor as batch, channels, height, width; flat tensors have height and width 1, a
 * scalar is all ones.
 */
export type Extents = readonly [batch: number, channels: number, height: number, width: number]

/** Elements of a tensor of any number of extents. */
export const elementCount = (extents: readonly number[]): number => extents.reduce((product, extent) => product * extent, 1)
