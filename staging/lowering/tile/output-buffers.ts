import { tileIdentity } from '../ir/buffer-identity'
import { isLoss, type Node } from '../../graph/graph'
import { noOperand, type UnplacedOperand } from '../ir/builder'
import type { Body, Region, TileTensor } from '../ir/tile-tensor'
import { freshTile } from '../scope/copies'
import { isSameRegion, regionExtents, contiguousSlice, alignedSlice } from '../scope/regions'
import type { TileScope } from '../scope/scope'
import type { BoundSegment, Pass } from './bound-segment'
import type { TilePass } from './tile-pass'
import { reducesSpatially } from './accumulate'
import { joinedPlace } from './joined-place'

/** The op that overwrites a tile of a tensor: one that reads just what is held of it. */
export const inPlaceConsumerIn = ({ segment }: BoundSegment, body: Body, pass: Pass, tensor: number): number | undefined => {
  const consumer = pass.inPlaceConsumerOf(tensor)
  return consumer !== undefined && isSameRegion(body.held(tensor), body.read(consumer - segment.from, tensor)) ? consumer : undefined
}

/**
 * Returns the view of a tile's output, and of its gradient, in place: all tiles of a sum add to it
 * and read its gradient there.
 */
export const viewOfOutput = (scope: TileScope, node: Node, whole: TileTensor, region: Region): TileTensor | undefined =>
  reducesSpatially(node) ? contiguousSlice(whole, region, scope.activationBytes) : alignedSlice(scope, whole, region)

/** The place of an op's output in the whole tensor, where the tile can write it there. */
export const directOutput = ({ scope, bound, body, pass }: TilePass, position: number): TileTensor | undefined => {
  const tensor = position + 1
  const whole = pass.writes(tensor) ? bound.boundaries.get(tensor)?.tensor : undefined
  if (whole === undefined) return undefined
  const region = body.held(tensor)
  return isSameRegion(region, body.owned(tensor)) ? viewOfOutput(scope, scope.graph.nodes[position]!, whole, region) : undefined
}

/**
 * Allocates the output of each op of a tile: a whole tensor itself where that can be, else a
 * buffer, shared by ops that work in place, or with what it is joined to.
 */
export const createOutputBuffers = (tile: TilePass): ReadonlyMap<number, UnplacedOperand> => {
  const { scope, bound, body, pass } = tile
  const { graph, layouts } = scope
  const { segment } = bound
  const outputBuffers = new Map<number, UnplacedOperand>()
  for (let position = segment.to - 1; position >= segment.from; position--) {
    const [node, tensor] = [graph.nodes[position]!, position + 1]
    const direct = directOutput(tile, position)
    const consumer = inPlaceConsumerIn(bound, body, pass, tensor)
    const join = pass.joinOf(tensor)
    const joined = join === undefined ? undefined : joinedPlace(tile, join, outputBuffers.get(join + 1)!, tensor)
    if (direct !== undefined) outputBuffers.set(tensor, direct.address)
    else if (isLoss(node.op)) outputBuffers.set(tensor, noOperand)
    else if (consumer !== undefined) outputBuffers.set(tensor, outputBuffers.get(consumer + 1)!)
    else if (joined !== undefined) outputBuffers.set(tensor, joined)
    else
      outputBuffers.set(
        tensor,
        freshTile(scope, tileIdentity('output', node.name), regionExtents(body.held(tensor), node.output[1]), layouts[tensor]!).address
      )
  }
  return outputBuffers
}
