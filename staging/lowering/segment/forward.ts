import { findShard } from '../../graph/shard'
import type { TileTensor } from '../ir/tile-tensor'
import { castTile, zeroTile, zeroBuffer } from '../scope/copies'
import type { OpStep } from '../scope/op-step'
import { castSharedWeights } from '../scope/parameters'
import { isMixedPrecision, type ModelScope } from '../scope/scope'
import { accumulates, isSummedByTiles, sumTensor } from '../tile/accumulate'
import type { Pass } from '../tile/bound-segment'
import { emitTileForward } from '../tile/forward'
import { emitForwardAlone } from '../tile/op-alone'
import { finishOverlaps, accumulateMomentsOfSum, updateRunning, zeroMoments } from '../tile/moments'
import { emitTiles } from './double-buffering'
import { exchangeOutputs } from './exchange-rows'
import { mergeStatistics } from './merge-statistics'
import type { SegmentCode, TileEmitter } from './segment-code'
import { createSegmentScope } from './segment-scope'
import { orderForward } from './tile-order'

/**
 * Zeroes the outputs to which tiles add; where those are cast when they are done, what the tiles
 * add to instead.
 */
const createSums = (scope: ModelScope, { segment, ends, boundaries }: SegmentCode, { writes }: Pass): ReadonlyMap<number, TileTensor> => {
  const { builder, graph, parameterBytes } = scope
  const { grid } = segment
  const added = ends.outputs.filter((tensor) => writes(tensor) && accumulates(graph.nodes[tensor - 1]!))
  if (!isMixedPrecision(scope)) {
    added.forEach((tensor) => zeroBuffer(scope.builder, boundaries.get(tensor)!.tensor.buffer))
    return new Map()
  }
  if (grid.H === 1 && grid.W === 1 && findShard(graph, segment) === undefined) return new Map()
  return new Map(
    added.map((tensor) => {
      const { name, output } = graph.nodes[tensor - 1]!
      const sum = sumTensor(scope, name, output, boundaries.get(tensor)!.tensor.buffer.share)
      zeroTile(builder, sum, parameterBytes)
      return [tensor, sum]
    })
  )
}

/**
 * Ranks that share rows exchange what others read of outputs, and merge moments; casts the outputs
 * to which all tiles have added.
 */
const completeOutputs = (scope: ModelScope, code: SegmentCode, pass: Pass, sums: ReadonlyMap<number, TileTensor>): void => {
  const { segment, ends, boundaries } = code
  const wholeOf = (tensor: number): TileTensor => boundaries.get(tensor)!.tensor
  exchangeOutputs(scope, code, pass.writes, sums)
  sums.forEach((sum, tensor) => castTile(scope.builder, sum, wholeOf(tensor)))
  for (const tensor of ends.outputs)
    if (isSummedByTiles(scope.graph, scope.graph.nodes[tensor - 1]!, segment))
      accumulateMomentsOfSum(scope, segment, pass, tensor, wholeOf(tensor))
  mergeStatistics(scope, segment, pass)
}

/**
 * Forward of a segment: every tile writes its owned part of the outputs. Returns what was kept. The
 * last one's belongs to its backward.
 */
export const emitForward = (scope: ModelScope, code: SegmentCode, pass: Pass): readonly OpStep[] | undefined => {
  const { segment } = code
  scope.builder.timepoint(segment.from)
  const sums = createSums(scope, code, pass)
  if (pass.mode !== 'rematerialize') zeroMoments(scope, segment)
  const shared = scope.parameters.slice(segment.from, segment.to)
  const inside = createSegmentScope(scope, segment, {
    sums,
    castWeights: castSharedWeights(scope, segment, shared),
    transforms: { forward: shared, backward: [] },
    runs: pass.runs
  })
  let kept: readonly OpStep[] | undefined
  const emitter: TileEmitter = {
    tile: (body, slot) => {
      kept = emitTileForward({ scope: { ...inside, slot }, bound: code, body, pass })
    },
    op: (body, _, position) => emitForwardAlone({ scope: { ...inside, slot: undefined }, bound: code, body, pass }, position),
    directions: ['forward']
  }
  emitTiles(scope, code, pass, emitter, orderForward(scope, code, pass))
  completeOutputs(scope, code, pass, sums)
  if (pass.mode === 'evaluate') finishOverlaps(scope, segment)
  if (pass.mode !== 'evaluate' && pass.mode !== 'rematerialize') updateRunning(scope, segment)
  return pass.mode === 'keep' ? kept : undefined
}
