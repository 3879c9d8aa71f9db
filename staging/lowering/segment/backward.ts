import { tileCount } from '../../graph/span'
import type { Buffer } from '../ir/builder'
import type { Body } from '../ir/tile-tensor'
import type { OpStep } from '../scope/op-step'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { trainableTensors } from '../scope/parameters'
import { type ModelScope, type TileScope, wantsGradient } from '../scope/scope'
import { emitTileBackward } from '../tile/backward'
import type { BoundGradients } from '../tile/bound-gradients'
import { emitTileForward } from '../tile/forward'
import { emitBackwardAlone, emitForwardAlone } from '../tile/op-alone'
import type { HostGradient } from '../tile/host-gradients'
import { finishOverlaps, updateRunning, zeroMoments } from '../tile/moments'
import { prepareWeights, type BackwardWeights } from './backward-weights'
import { differentiateEnd } from './differentiate-end'
import { emitTiles } from './double-buffering'
import { contributingOnce, exchangeGradients, leaveGradientsToFirstRank } from './exchange-rows'
import { prefetchGradients, createHostGradients, storeGradientsToHost } from './create-host-gradients'
import { zeroInputGradients } from './zero-input-gradients'
import { finishReductions, prepareReductions, sumsAt, type Reductions } from './reductions'
import {
  createParameterSums,
  findInputGradient,
  isFirstToContribute,
  listTileSummedParameters,
  zeroParameterSums,
  type SegmentBackward
} from './segment-backward'
import type { SegmentCode, TileEmitter } from './segment-code'
import { orderBackward } from './tile-order'

/** What a complete gradient of a parameter is for. */
export type FinishGradient = (parameter: ParameterTensor, gradient: Buffer) => void

/** Where all gradients go that leave a tile. */
const bindGradients = (
  backward: SegmentBackward,
  { backwardWeights }: BackwardWeights,
  reductions: Reductions,
  hostGradients: readonly HostGradient[]
): BoundGradients => {
  const { isTiled, sumOf, finish } = backward
  const mustAdd = new Set(reductions.pending.map(({ tensor }) => tensor))
  return {
    inputOf: (tensor) => findInputGradient(backward, tensor),
    isFirst: (tensor) => isFirstToContribute(backward, tensor) && !mustAdd.has(tensor),
    pendingOf: (position) =>
      reductions.waiting.includes(position) ? 'host' : reductions.pending.find((one) => one.position === position)?.dy,
    hostGradients,
    sumsAt: (position, region) => sumsAt(backward, reductions, position, region),
    sumOf,
    partial: isTiled,
    backwardWeights,
    done: (parameters) => (isTiled ? undefined : finish(trainableTensors(parameters)))
  }
}

/** One tile forward, unless that was kept, and back. */
const emitTile = (
  { code, pass, isLast, isTiled }: SegmentBackward,
  scope: TileScope,
  body: Body,
  kept: readonly OpStep[] | undefined,
  gradients: BoundGradients
): void => {
  const steps = kept ?? emitTileForward({ scope, bound: code, body, pass })
  if (isLast && !isTiled) updateRunning(scope, code.segment)
  emitTileBackward({ scope, bound: code, body }, steps, gradients)
}

const createBackward = (scope: ModelScope, code: SegmentCode, finish: FinishGradient): SegmentBackward => {
  const { from, to, grid } = code.segment
  const isLast = to === scope.graph.nodes.length
  const positions = Array.from({ length: to - from }, (_, index) => from + index)
  const sums = createParameterSums(scope, positions)
  const sumOf = (parameter: ParameterTensor): Buffer => sums.get(parameter)!
  return {
    ...{ scope, code, isLast, positions, sumOf },
    pass: code.passIn(isLast ? 'keep' : 'recompute'),
    isTiled: tileCount(grid) > 1,
    finish: (parameters) => parameters.forEach((parameter) => finish(parameter, sumOf(parameter)))
  }
}

/**
 * Backward of a segment. `kept` are the steps of a forward that was kept; otherwise each tile runs
 * forward again first (for the last segment, whose forward pass this is, for the first time). Then
 * its parameters are updated or handed out, or their gradients left in the arena for the section
 * `update`, which also zeroes them. Nothing runs where nothing is to be learnt.
 */
export const emitBackward = (scope: ModelScope, given: SegmentCode, kept: readonly OpStep[] | undefined, finish: FinishGradient): void => {
  const { segment } = given
  if (segment.to < scope.graph.nodes.length && !wantsGradient(scope, segment)) return
  const code = contributingOnce(scope, given)
  const { ends, hostTensors } = code
  const backward = createBackward(scope, code, finish)
  const { isLast, isTiled } = backward
  // A last segment without tiles runs forward first.
  if (isTiled || !isLast) scope.builder.timepoint(2 * scope.graph.nodes.length - segment.to)
  if (isLast) zeroMoments(scope, segment)
  exchangeGradients(scope, code)
  leaveGradientsToFirstRank(scope, code)
  differentiateEnd(backward)
  zeroParameterSums(backward)
  const weights = prepareWeights(backward, kept !== undefined)
  const reductions = prepareReductions(backward)
  zeroInputGradients(backward, reductions)
  const hostGradients = createHostGradients(backward, reductions)
  const gradients = bindGradients(backward, weights, reductions, hostGradients)
  const { inside } = weights
  const emitter: TileEmitter = {
    tile: (body, slot) => emitTile(backward, { ...inside, slot }, body, kept, gradients),
    op: (body, direction, position) => {
      const tilePass = { scope: { ...inside, slot: undefined }, bound: code, body, pass: backward.pass }
      if (direction === 'forward') emitForwardAlone(tilePass, position)
      else emitBackwardAlone(tilePass, gradients, position)
    },
    directions: kept === undefined ? ['forward', 'backward'] : ['backward']
  }
  emitTiles(scope, code, backward.pass, emitter, orderBackward(scope, code, reductions), prefetchGradients(backward, hostGradients))
  if (isTiled) backward.finish(listTileSummedParameters(backward))
  storeGradientsToHost(backward, hostGradients, reductions, inside)
  for (const tensor of ends.outputs) hostTensors.get(tensor)?.pending.forEach((one) => one.finish())
  finishReductions(backward, reductions, inside)
  if (isLast) finishOverlaps(scope, segment)
}
