import type { TileTensor } from '../ir/tile-tensor'
import { tensorBytes, wholePart } from '../scope/regions'
import { copyPart, freshTile } from '../scope/copies'
import type { BackwardTile } from './bound-gradients'

/** Whether two gradients have bytes in common: some are parts of one buffer. */
export const overlaps = ({ scope }: Pick<BackwardTile, 'scope'>, one: TileTensor, other: TileTensor): boolean => {
  if (one.address.space !== 'arena' || other.address.space !== 'arena') return one.address === other.address
  if (one.address.buffer !== other.address.buffer) return false
  const { strides } = other.address
  // What advances alike from tile to tile stays as far apart.
  if (one.address.strides.some((bytes, axis) => bytes !== strides[axis])) return true
  const endOf = (tile: TileTensor, base: number): number => base + tensorBytes(tile.layout, tile.extents, scope.activationBytes)
  return one.address.base < endOf(other, other.address.base) && other.address.base < endOf(one, one.address.base)
}

/**
 * Tells whether a gradient is that of another tensor too, whose op is still to come: a sum passes
 * its own on to all that it adds. Nobody may then write over it.
 */
export const isShared = (tile: BackwardTile, gradient: TileTensor, tensor: number): boolean =>
  [...tile.received].some(([other, held]) => other !== tensor && overlaps(tile, held, gradient)) ||
  [...tile.waiting.values()].some((held) => overlaps(tile, held, gradient))

/**
 * The gradient of a tensor, for writing: a copy where others still read it, or what is `added` to
 * it is the same.
 */
export const forWriting = (tile: BackwardTile, gradient: TileTensor, tensor: number, added?: TileTensor): TileTensor => {
  const isAddedToItself = added !== undefined && overlaps(tile, gradient, added)
  if (!isAddedToItself && !isShared(tile, gradient, tensor)) return gradient
  const { scope } = tile
  const copy = freshTile(scope, { kind: 'gradient-sum' }, gradient.extents, gradient.layout)
  copyPart(scope.builder, wholePart(gradient), wholePart(copy), 0, scope.activationBytes)
  return copy
}
