import { tileCount } from '../../graph/span'
import type { TileTensor } from '../ir/tile-tensor'
import { getNodeLowering, runBackward } from '../../ops'
import type { OpStep } from '../scope/op-step'
import type { BackwardTile, BoundGradients } from './bound-gradients'
import { flushRows } from './host-gradients'
import { contribute, createInputGradient, inGradientLayout, readRegion } from './input-gradients'
import { outputGradient } from './output-gradient'
import { parameterTargets } from './parameter-gradients'
import { emitReduction } from './reduction-backward'
import type { TilePass } from './tile-pass'

/** The gradient of each input is that of the output. */
const passGradientOn = (tile: BackwardTile, step: OpStep, destination: TileTensor): void => {
  // The first operand may take the tile itself, so it comes last.
  for (const [operand, tensor] of [...step.node.inputs.entries()].reverse())
    if (tile.scope.requiresGrad[tensor]!)
      contribute(tile, tensor, readRegion(tile, step, tensor), inGradientLayout(tile, step, operand, destination), operand === 0)
}

/** The gradients of a step's inputs and parameters, made by the op's own backward. */
const differentiate = (tile: BackwardTile, step: OpStep, destination: TileTensor | undefined): void => {
  const { scope, gradients, targetOf } = tile
  const { node, parameters } = step
  const sources = node.inputs.map((tensor, operand) =>
    scope.requiresGrad[tensor]! ? createInputGradient(tile, step, operand, destination) : undefined
  )
  const [weight, bias] = [targetOf(parameters, 'weight'), targetOf(parameters, 'bias')]
  runBackward(scope, step, {
    destination,
    sources,
    source: sources[0],
    weight: weight.address,
    bias: bias.address,
    backwardWeights: () => gradients.backwardWeights(parameters!.weight!)
  })
  weight.add()
  bias.add()
  if (parameters !== undefined) gradients.done(parameters)
  sources.forEach((source, operand) => {
    const tensor = node.inputs[operand]!
    if (source !== undefined) contribute(tile, tensor, readRegion(tile, step, tensor), source, true)
  })
}

/** Emits the backward of one op of a tile. */
export const emitStepBackward = (tile: BackwardTile, step: OpStep): void => {
  const destination = outputGradient(tile, step.position + 1)
  tile.received.delete(step.position + 1)
  const { backward } = getNodeLowering(step.node)
  if (backward === 'reduction') return emitReduction(tile, step, destination!)
  if (step.isDifferentiated || backward === 'identity') return passGradientOn(tile, step, destination!)
  differentiate(tile, step, destination)
}

/**
 * Gradients of one tile: ordinary backward of a small network, seeded with the owned parts of the
 * outputs' gradients.
 */
export const emitTileBackward = (
  { scope, bound, body }: Omit<TilePass, 'pass'>,
  steps: readonly OpStep[],
  gradients: BoundGradients
): void => {
  const { builder, graph, requiresGrad } = scope
  const tile: BackwardTile = {
    ...{ scope, bound, body, gradients },
    targetOf: parameterTargets(scope, gradients),
    received: new Map(),
    waiting: new Map(),
    given: new Set()
  }
  for (const step of [...steps].reverse()) {
    if (!requiresGrad[step.position + 1]!) continue
    if (tileCount(bound.segment.grid) === 1) builder.timepoint(2 * graph.nodes.length - 1 - step.position)
    bound.atOp?.('backward', step.position)
    emitStepBackward(tile, step)
  }
  for (const one of gradients.hostGradients)
    flushRows(scope, one, body, one.position === undefined ? tile.received.get(one.tensor)! : tile.waiting.get(one.position)!)
}
