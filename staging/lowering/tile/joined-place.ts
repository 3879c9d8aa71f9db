import { joinedOffset, joinedTensors } from '../../ops/joins'
import { offsetBy, zeroStrides, type UnplacedOperand } from '../ir/builder'
import { isSameRegion, regionExtents } from '../scope/regions'
import type { TilePass } from './tile-pass'

/**
 * The place of a tile of a tensor in the output, which is at `whole`, of the op that joins it to
 * others; undefined where the tile does not hold the same part of both, or kernels could not read
 * what begins there.
 */
export const joinedPlace = (
  { scope, body }: Pick<TilePass, 'scope' | 'body'>,
  join: number,
  whole: UnplacedOperand,
  tensor: number
): UnplacedOperand | undefined => {
  const { graph, device, activationBytes } = scope
  const region = body.held(tensor)
  if (!isSameRegion(region, body.held(join + 1))) return undefined
  const { operands, whole: output } = joinedTensors(scope, join)
  const tile = { ...output, extents: regionExtents(region, output.extents[1]) }
  const bytes = joinedOffset(operands, graph.nodes[join]!.inputs.indexOf(tensor), tile, activationBytes)
  return bytes % (device.viewAlignment ?? 1) === 0 ? offsetBy(whole, bytes, zeroStrides) : undefined
}
