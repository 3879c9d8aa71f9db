import { tileIdentity } from '../ir/buffer-identity'
import { isLoss } from '../../graph/graph'
import { tileCount } from '../../graph/span'
import { arenaOperand, noOperand, type UnplacedOperand } from '../ir/builder'
import { makeIndicesKernel, runForward } from '../../ops'
import type { NormalisationNode } from '../../graph/statistics'
import type { NormaliserOnLoad, OpStep, StepGeometry } from '../scope/op-step'
import { regionExtents } from '../scope/regions'
import type { TileScope } from '../scope/scope'
import { accumulate, accumulates, isSummedByTiles } from './accumulate'
import { exportPrediction } from './export-prediction'
import { operandTiles, storeOutput, type ForwardTile } from './forward-tile'
import { accumulateMoments } from './moments'
import { createOutputBuffers } from './output-buffers'
import type { TilePass } from './tile-pass'

/** A place for the indices that forward writes for backward. */
const createIndices = ({ builder, device }: TileScope, step: StepGeometry): UnplacedOperand => {
  const kernel = makeIndicesKernel(step)
  return kernel === undefined
    ? noOperand
    : arenaOperand(builder.buffer(tileIdentity('indices', step.node.name), device.indicesBytes(kernel)))
}

const findNormaliser = ({ scope, pass }: ForwardTile, position: number): NormaliserOnLoad | undefined => {
  const found = pass.normaliserOf(position)
  if (found === undefined) return undefined
  return { node: scope.graph.nodes[found] as NormalisationNode, position: found, slope: pass.negativeSlopeOf(found) }
}

/** The op at a position, its operands fetched and its output given a place. */
export const createStep = (tile: ForwardTile, position: number): OpStep => {
  const { scope, bound, body, pass, outputBuffers } = tile
  const [node, tensor, index] = [scope.graph.nodes[position]!, position + 1, position - bound.segment.from]
  const destinationRegion = body.held(tensor)
  const sources = operandTiles(tile, position)
  const made = {
    node,
    position,
    sources,
    source: sources[0]!,
    destination:
      pass.fuses(position) || pass.isAppliedOnLoad(position)
        ? sources[0]!
        : {
            address: outputBuffers.get(tensor)!,
            extents: regionExtents(destinationRegion, node.output[1]),
            layout: scope.layouts[tensor]!
          },
    rows: body.runs[1].readings[index]!,
    columns: body.runs[2].readings[index]!,
    sourceRegion: body.read(index, node.inputs[0]!),
    destinationRegion,
    parameters: scope.parameters[position]
  }
  // What is spread comes last: V8 is far slower the other way round, and plans are made of a
  // million of these.
  return {
    indices: createIndices(scope, made),
    slope: pass.negativeSlopeOf(position),
    isDifferentiated: pass.isFusedIntoPrevious(position) || pass.endsWhole(position),
    normaliser: findNormaliser(tile, position),
    ...made
  }
}

/** Emits one op, and what is to be done with its output. */
export const runStep = (tile: ForwardTile, step: OpStep): void => {
  const { scope, bound, pass } = tile
  const { node, position, destination } = step
  const tensor = position + 1
  if (pass.mode === 'evaluate' && isLoss(node.op)) return exportPrediction(scope, step)
  if (!pass.fuses(position) && !pass.isAppliedOnLoad(position)) {
    if (accumulates(node)) accumulate(scope, step, pass)
    else runForward(scope, step)
  }
  if (!isSummedByTiles(scope.graph, node, bound.segment)) accumulateMoments(tile, tensor, destination)
  if (pass.writes(tensor)) storeOutput(tile, tensor, destination)
}

/**
 * Runs one tile forward. Returns each op's step, for backward. An op works in place where nothing
 * that backward reads, and nothing outside the tile, would be overwritten.
 */
export const emitTileForward = (tilePass: TilePass): readonly OpStep[] => {
  const { scope, bound, pass } = tilePass
  const { from, to, grid } = bound.segment
  const tile: ForwardTile = { ...tilePass, outputBuffers: createOutputBuffers(tilePass), tiles: new Map() }
  return scope.graph.nodes.slice(from, to).map((_, index) => {
    const position = from + index
    if (tileCount(grid) === 1) scope.builder.timepoint(position)
    bound.atOp?.('forward', position)
    const step = createStep(tile, position)
    tile.tiles.set(position + 1, step.destination)
    if (pass.runs(position)) runStep(tile, step)
    return step
  })
}
