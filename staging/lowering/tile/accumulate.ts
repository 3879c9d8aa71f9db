import { tileIdentity } from '../ir/buffer-identity'
import type { Graph, Node } from '../../graph/graph'
import { findShard } from '../../graph/shard'
import type { Segment } from '../../plans/plan'
import { arenaOperand } from '../ir/builder'
import type { TensorShare } from '../../program/program-buffer'
import type { TileTensor } from '../ir/tile-tensor'
import { runForward, getNodeLowering } from '../../ops'
import { castTile, zeroTile } from '../scope/copies'
import type { OpStep } from '../scope/op-step'
import { contiguousSlice, tensorBytes } from '../scope/regions'
import { isMixedPrecision, type ModelScope, type TileScope } from '../scope/scope'
import type { Pass } from './bound-segment'

/** Tells whether an op adds to its output, which is zeroed first. */
export const accumulates = (node: Node): boolean => getNodeLowering(node).accumulates?.(node.args) === true

/**
 * Tells whether an op's output is complete only when all tiles of a segment, of all ranks, have
 * added to it.
 */
export const isSummedByTiles = (graph: Graph, node: Node, segment: Segment): boolean =>
  reducesSpatially(node) && (segment.grid.H > 1 || segment.grid.W > 1 || findShard(graph, segment) !== undefined)

/** Tells whether the tiles of an image make an op's output together. */
export const reducesSpatially = ({ access }: Node): boolean => access.H.kind === 'reduce'

/** Returns the tensor to which an op adds its output in the parameters' type. */
export const sumTensor = (
  { builder, parameterBytes }: Pick<ModelScope, 'builder' | 'parameterBytes'>,
  name: string,
  extents: TileTensor['extents'],
  share?: TensorShare
): TileTensor => ({
  address: arenaOperand({
    ...builder.buffer(tileIdentity('sums', name), tensorBytes('plain', extents, parameterBytes)),
    ...(share && { share })
  }),
  extents,
  layout: 'plain'
})

/**
 * Runs an op that adds to its output: what tiles add to together was zeroed before them, and is
 * cast after them.
 */
export const accumulate = (scope: TileScope, step: OpStep, pass: Pass): void => {
  const { builder, activationBytes, parameterBytes } = scope
  const { node, destination, destinationRegion, position } = step
  const together = scope.sums.get(position + 1)
  if (together !== undefined)
    return runForward(scope, { ...step, destination: contiguousSlice(together, destinationRegion, parameterBytes)! })
  if (!isMixedPrecision(scope)) {
    if (!pass.writes(position + 1)) zeroTile(builder, destination, activationBytes)
    return runForward(scope, step)
  }
  const sum = sumTensor(scope, node.name, destination.extents)
  zeroTile(builder, sum, parameterBytes)
  runForward(scope, { ...step, destination: sum })
  castTile(builder, sum, destination)
}
