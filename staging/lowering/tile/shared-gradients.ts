import type { TileTensor } from '../ir/tile-tensor'
import { wholePart } from '../scope/regions'
import { copyPart, freshTile } from '../scope/copies'
import type { BackwardTile } from './bound-gradients'

const isSamePlace = ({ address: one }: TileTensor, { address: other }: TileTensor): boolean =>
  one.space === 'arena' && other.space === 'arena' ? one.buffer === other.buffer : one === other

/**
 * Tells whether a gradient is that of another tensor too, whose op is still to come: a sum passes
 * its own on to all that it adds. Nobody may then write over it.
 */
export const isShared = ({ received, waiting }: BackwardTile, gradient: TileTensor, tensor: number): boolean =>
  [...received].some(([other, held]) => other !== tensor && isSamePlace(held, gradient)) ||
  [...waiting.values()].some((held) => isSamePlace(held, gradient))

/**
 * The gradient of a tensor, for writing: a copy where others still read it, or what is `added` to
 * it is the same.
 */
export const forWriting = (tile: BackwardTile, gradient: TileTensor, tensor: number, added?: TileTensor): TileTensor => {
  const isAddedToItself = added !== undefined && isSamePlace(gradient, added)
  if (!isAddedToItself && !isShared(tile, gradient, tensor)) return gradient
  const { scope } = tile
  const copy = freshTile(scope, { kind: 'gradient-sum' }, gradient.extents, gradient.layout)
  copyPart(scope.builder, wholePart(gradient), wholePart(copy), 0, scope.activationBytes)
  return copy
}
