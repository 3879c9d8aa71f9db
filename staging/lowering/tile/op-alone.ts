import { tileIdentity } from '../ir/buffer-identity'
import type { Builder } from '../ir/builder'
import type { TileTensor } from '../ir/tile-tensor'
import { extentsOfTensor, isLoss } from '../../graph/graph'
import { noOperand } from '../ir/builder'
import { freshTile } from '../scope/copies'
import type { OpStep } from '../scope/op-step'
import { regionExtents } from '../scope/regions'
import { emitStepBackward } from './backward'
import type { BackwardTile, BoundGradients } from './bound-gradients'
import { createStep, runStep } from './forward'
import { joinedPlace } from './joined-place'
import { directOutput, inPlaceConsumerIn } from './output-buffers'
import { parameterTargets } from './parameter-gradients'
import type { ForwardTile } from './forward-tile'
import type { TilePass } from './tile-pass'

/** Stands for a tile that other ops make: of that an op by itself asks only how large it is. */
const standIn = ({ scope, body }: Pick<TilePass, 'scope' | 'body'>, tensor: number): TileTensor =>
  freshTile(
    scope,
    tileIdentity('output', scope.graph.nodes[Math.max(tensor, 1) - 1]!.name),
    regionExtents(body.held(tensor), extentsOfTensor(scope.graph, tensor)[1]),
    scope.layouts[tensor]!
  )

/** The tile as the op at a position finds it: all before it have run. */
const tileBefore = (tilePass: TilePass, position: number): ForwardTile => {
  const { scope, bound, body, pass } = tilePass
  const { from } = bound.segment
  const { graph } = scope
  const node = graph.nodes[position]!
  const isThere = (tensor: number): boolean => tensor > from || graph.readers[tensor]!.some((reader) => from <= reader && reader < position)
  const place = isLoss(node.op) ? noOperand : (directOutput(tilePass, position) ?? standIn(tilePass, position + 1)).address
  const tileOf = (tensor: number): TileTensor => {
    const tile = standIn(tilePass, tensor)
    if (inPlaceConsumerIn(bound, body, pass, tensor) === position) return { ...tile, address: place }
    const joined = pass.joinOf(tensor) === position ? joinedPlace(tilePass, position, place, tensor) : undefined
    return joined === undefined ? tile : { ...tile, address: joined }
  }
  return {
    ...tilePass,
    outputBuffers: new Map([[position + 1, place]]),
    tiles: new Map(node.inputs.filter(isThere).map((tensor) => [tensor, tileOf(tensor)]))
  }
}

/**
 * Emits what the op at a position launches in one tile's forward, as if the others were there: for
 * its time, since what it reads and writes is at no place.
 */
export const emitForwardAlone = (tilePass: TilePass, position: number): void => {
  const tile = tileBefore(tilePass, position)
  const step = createStep(tile, position)
  if (tile.pass.runs(position)) runStep(tile, step)
}

const quiet = (builder: Builder): Builder => ({ ...builder, launch: () => undefined, load: () => undefined })

/** The op's step of the forward before a tile's backward. */
const makeStep = (tilePass: TilePass, position: number): OpStep =>
  createStep(tileBefore({ ...tilePass, scope: { ...tilePass.scope, builder: quiet(tilePass.scope.builder) } }, position), position)

/**
 * Emits what the op at a position launches in one tile's backward, for its time alone: what it
 * reads and writes is in memory or nowhere.
 */
export const emitBackwardAlone = (tilePass: TilePass, gradients: BoundGradients, position: number): void => {
  const { scope, bound, body } = tilePass
  const { graph, requiresGrad } = scope
  if (!requiresGrad[position + 1]!) return
  const { from, to } = bound.segment
  const node = graph.nodes[position]!
  /** Whether an op behind this one has contributed to the gradient of a tensor. */
  const hasContribution = (tensor: number): boolean =>
    requiresGrad[tensor]! &&
    graph.readers[tensor]!.some(
      (reader) => position < reader && reader < to && requiresGrad[reader + 1]! && gradients.pendingOf(reader) === undefined
    )
  const received = [position + 1, ...node.inputs].filter((tensor) => tensor > from && hasContribution(tensor))
  const tile: BackwardTile = {
    ...{ scope, bound, body, gradients },
    targetOf: parameterTargets(scope, gradients),
    received: new Map(received.map((tensor) => [tensor, standIn(tilePass, tensor)])),
    waiting: new Map(),
    given: new Set(node.inputs.filter((tensor) => tensor <= from && hasContribution(tensor)))
  }
  emitStepBackward(tile, makeStep(tilePass, position))
}
