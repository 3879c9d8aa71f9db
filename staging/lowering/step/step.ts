import type { DeviceModel } from '../../devices/device-model'
import { elementCount } from '../../graph/extents'
import { hasSeparateUpdate } from '../../graph/objective'
import type { StepGraph } from '../../graph/step-graph'
import { memoize } from '../../memoize'
import type { Plan, Segment } from '../../plans/plan'
import type { StepIoEntry } from '../../program/program'
import { findShard } from '../../graph/shard'
import { segmentTiling, type SegmentTiling } from '../../graph/tiling'
import { createBoundaries, bindSegment, rematerialize } from '../segment/bind'
import type { ModelScope } from '../scope/scope'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { arenaOperand, createBuilder, stepIoOperand, createPool, type Buffer, type Pool, type UnplacedInstruction } from '../ir/builder'
import { insertBefore } from '../ir/insert-before'
import { emitEvaluation } from './evaluate'
import { layoutEvaluationIo, layoutStepIo } from '../scope/step-io'
import type { StepCode } from './saved-tensors'
import { createModelScope } from '../segment/create-scope'
import { trainableTensors, reorderParameter } from '../scope/parameters'
import { createPersistentTensors, groupOptimizerStates, type UnplacedPersistentTensor } from '../scope/persistent-tensors'
import { emitBackward } from '../segment/backward'
import { emitForward } from '../segment/forward'
import { forwardPass, type SegmentCode } from '../segment/segment-code'
import type { Reduction } from './pieces'
import { offloadWeights } from './offload-weights'
import { createOverlappedReduction, type OverlappedReduction } from './overlap-reduction'
import { createOptimizerUpdates } from './optimizer-updates'
import { paceReduction } from './pace-reduction'
import { emitReduce } from './reduce'
import { possibleSwaps, withSwaps } from './swap'
import { emitUpdate, updateStepIo } from './update'

/** A section before placement. */
export interface UnplacedSection {
  readonly name: 'step' | 'reduce' | 'update' | 'evaluate' | 'restore' | 'save'
  readonly code: readonly UnplacedInstruction[]
  readonly stepIo: { readonly bytes: number; readonly entries: readonly StepIoEntry[] }
}

/** The segments of a step, with what stands between them. */
export interface BoundSegments {
  readonly segments: readonly SegmentCode[]
  /** Runs segments forward once more, for the backward of the one that follows them. */
  readonly rematerialize: (codes: readonly SegmentCode[], before: SegmentCode) => void
}

/** Segments with their tiles and the boundaries between them. */
export const bindSegments = (
  scope: ModelScope,
  { segments, edgeTilesFirst }: Pick<Plan, 'segments' | 'edgeTilesFirst'>,
  tilingOf: (segment: Segment) => SegmentTiling | undefined = (segment) => segmentTiling(scope.graph, segment, segment.grid)
): BoundSegments => {
  const between = createBoundaries(scope, segments, edgeTilesFirst === true)
  const bound = segments.map((segment) => {
    const tiling = tilingOf(segment)
    if (tiling === undefined) throw new Error(`segment ${segment.from}..${segment.to} has a tile that sees only padding`)
    return bindSegment(scope, segment, tiling, between)
  })
  return { segments: bound, rematerialize: (codes, before) => rematerialize(scope, codes, before, between) }
}

/** A loss that every rank computes whole is the first one's: the others leave nothing of it. */
const isLeftToFirstRank = ({ graph }: ModelScope, { segment }: SegmentCode): boolean =>
  graph.shard !== undefined && graph.shard.index > 0 && findShard(graph, segment) === undefined

/**
 * Forward through the segments, then backward; the last segment does both at once, for nothing
 * stands between.
 */
const emitStep = (
  scope: ModelScope,
  pool: Pool,
  { segments, rematerialize }: BoundSegments,
  persistentTensors: readonly UnplacedPersistentTensor[],
  overlapped?: OverlappedReduction,
  pacedUpdates?: readonly number[]
): StepCode => {
  const { builder, stepIo, graph, parameterBytes } = scope
  const { objective } = graph
  const updates =
    objective.kind === 'train'
      ? createOptimizerUpdates(builder, pool, objective.optimizer, persistentTensors, parameterBytes, pacedUpdates)
      : undefined
  const finish = (parameter: ParameterTensor, gradient: Buffer): void => {
    overlapped?.send(parameter)
    if (objective.kind === 'gradients')
      return reorderParameter(
        builder,
        parameter,
        [arenaOperand(gradient), parameter.layout],
        [stepIoOperand(stepIo.gradient(parameter.name)), 'plain']
      )
    if (parameter.gradient === undefined) updates?.update(parameter, gradient)
  }
  builder.launch<'zero'>({ kind: 'zero', bytes: 16 }, { destination: stepIoOperand(stepIo.loss) })
  if (scope.requiresGrad[0]!)
    builder.launch<'zero'>(
      { kind: 'zero', bytes: elementCount(graph.input) * parameterBytes },
      { destination: stepIoOperand(stepIo.inputGradient) }
    )
  const kept = segments.slice(0, -1).map((code) => emitForward(scope, code, forwardPass(code)))
  for (const [index, code] of [...segments.entries()].reverse()) {
    const first = 1 + segments.slice(0, index).findLastIndex(({ segment }) => segment.rematerialize !== true)
    if (code.segment.rematerialize !== true) rematerialize(segments.slice(first, index), code)
    emitBackward(scope, code, kept[index], finish)
  }
  if (isLeftToFirstRank(scope, segments.at(-1)!))
    builder.launch<'zero'>({ kind: 'zero', bytes: 16 }, { destination: stepIoOperand(stepIo.loss) })
  overlapped?.finish()
  updates?.finish()
  const loads = updates?.loads() ?? new Map<number, readonly UnplacedInstruction[]>()
  /** Where an instruction stands after what was inserted before others. */
  const moved = (position: number): number => [...loads].reduce((sum, [at, { length }]) => (at < position ? sum + length : sum), position)
  return {
    code: insertBefore(builder.code(), loads),
    nodes: graph.nodes.length,
    timepoints: new Map([...builder.timepoints()].map(([timepoint, position]) => [timepoint, moved(position)]))
  }
}

/** The sections that compute: the step, and what else the objective asks for. */
export const emitSections = (
  scope: ModelScope,
  pool: Pool,
  bound: BoundSegments,
  persistentTensors: readonly UnplacedPersistentTensor[],
  plan: Pick<Plan, 'swapSchedule' | 'overlapReduction' | 'offloadOptimizer' | 'offloadWeights'>,
  reduction: Reduction | undefined
): readonly UnplacedSection[] => {
  const { swapSchedule = [], overlapReduction, offloadOptimizer, offloadWeights: window } = plan
  const { graph, device } = scope
  const { objective } = graph
  const withWeights = (code: readonly UnplacedInstruction[]): readonly UnplacedInstruction[] =>
    window === undefined ? code : offloadWeights(code, persistentTensors, window, pool)
  const evaluation = (name: 'step' | 'evaluate'): UnplacedSection => {
    const evaluate = createBuilder(pool)
    emitEvaluation(scope, evaluate, bound.segments)
    return { name, code: withWeights(evaluate.code()), stepIo: layoutEvaluationIo(graph, device) }
  }
  if (objective.kind === 'evaluate') return [evaluation('step')]
  const parameters = scope.parameters.flatMap(trainableTensors)
  const overlapped =
    reduction !== undefined && overlapReduction ? createOverlappedReduction(scope.builder, parameters, reduction) : undefined
  const step = emitStep(scope, pool, bound, persistentTensors, overlapped, Array.isArray(offloadOptimizer) ? offloadOptimizer : undefined)
  const swapped = withSwaps(step, pool, graph.shard === undefined ? swapSchedule : possibleSwaps(step, pool, swapSchedule))
  const code = overlapped !== undefined && Array.isArray(overlapReduction) ? paceReduction(swapped, overlapReduction) : swapped
  const sections: UnplacedSection[] = [{ name: 'step', code: withWeights(code), stepIo: layoutStepIo(graph, device) }]
  if (objective.kind !== 'train') return sections
  if (reduction !== undefined) {
    const reduce = createBuilder(pool)
    emitReduce(scope, reduce, reduction, overlapped?.added() ?? new Set())
    sections.push({ name: 'reduce', code: reduce.code(), stepIo: { bytes: 0, entries: [] } })
  }
  if (hasSeparateUpdate(objective)) {
    const update = createBuilder(pool)
    const updates = createOptimizerUpdates(update, pool, objective.optimizer, persistentTensors, scope.parameterBytes)
    emitUpdate(update, objective, parameters, groupOptimizerStates(persistentTensors), updates, reduction)
    sections.push({ name: 'update', code: withWeights(insertBefore(update.code(), updates.loads())), stepIo: updateStepIo(objective) })
  }
  return objective.evaluate === true ? [...sections, evaluation('evaluate')] : sections
}

/**
 * Steps without transfers, and what is in the arena beside what their code makes; all of them share
 * what is known of the model.
 */
export const lowerSteps = (graph: StepGraph, device: DeviceModel) => {
  const pool = createPool()
  const scope = createModelScope(graph, device, pool)
  const persistentTensors = createPersistentTensors(scope)
  const tilingOf = memoize(
    ({ from, to, grid: { B, H, W } }: Segment) => [from, to, B, H, W].join(),
    (segment) => segmentTiling(graph, segment, segment.grid)
  )
  const lowerOne = (segments: readonly Segment[]): StepCode => {
    const emitting = { ...scope, builder: createBuilder(pool) }
    return emitStep(emitting, pool, bindSegments(emitting, { segments }, tilingOf), persistentTensors)
  }
  return { pool, persistentTensors, lowerOne }
}
