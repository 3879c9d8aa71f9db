import type { Node, Statistics } from '../graph/graph'
import type { NormalisationNode } from '../graph/statistics'
import { arenaOperand, offsetBy, type UnplacedOperand } from '../lowering/ir/builder'
import type { Region } from '../lowering/ir/tile-tensor'
import type { OpStep } from '../lowering/scope/op-step'
import type { ModelScope } from '../lowering/scope/scope'

/** Bytes of a float64. */
export const doubleBytes = 8

/**
 * Bytes of a group's moments: count, mean and sum of squared differences from it, in double
 * precision.
 */
export const momentBytes = 24

/** Bytes of a channel's sums for the gradients of a normalisation: two in double precision. */
export const sumBytes = 16

/** Images that have statistics, and sums, of their own; 1 where all share them. */
export const statisticsCount = ({ statistics, input }: NormalisationNode): number => (statistics.perImage === 1 ? input[0] : 1)

/** Bytes of a channel's maximum, and of its place. */
export const maximumBytes = 16

/** Returns the address of the maxima of a tile's images. */
export const maximaAt = (
  { moments }: Pick<ModelScope, 'moments'>,
  { node: { input }, position, sourceRegion: { from, advance } }: OpStep
): UnplacedOperand => {
  const bytesPerImage = input[1] * maximumBytes
  return offsetBy(arenaOperand(moments.get(position)!), from[0] * bytesPerImage, [advance[0] * bytesPerImage, 0, 0])
}

/** Bytes of a class's overlap in an image: three sums in double precision. */
export const overlapBytes = 24

/** Returns the address of the overlaps of a tile's images. */
export const overlapsAt = (
  { moments }: Pick<ModelScope, 'moments'>,
  { input }: Pick<Node, 'input'>,
  position: number,
  { from, advance }: Region
): UnplacedOperand => {
  const bytesPerImage = input[1] * overlapBytes
  return offsetBy(arenaOperand(moments.get(position)!), from[0] * bytesPerImage, [advance[0] * bytesPerImage, 0, 0])
}

/** Rows of statistics of a tile's images: all of them, unless images have their own. */
export const rowsOfTile = (
  base: UnplacedOperand,
  { perImage }: Statistics,
  { from, advance }: Region,
  bytesPerImage: number
): UnplacedOperand => (perImage === 1 ? offsetBy(base, from[0] * bytesPerImage, [advance[0] * bytesPerImage, 0, 0]) : base)

/** Returns the address of a tile's moments. */
export const momentsAt = (
  { moments }: Pick<ModelScope, 'moments'>,
  { statistics }: NormalisationNode,
  position: number,
  region: Region
): UnplacedOperand => rowsOfTile(arenaOperand(moments.get(position)!), statistics, region, statistics.groups * momentBytes)
