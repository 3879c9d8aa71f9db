import { elementsOf } from '../../graph/extents'
import { updatesLater } from '../../graph/objective'
import type { Residence, Segment } from '../../plans/plan'
import type { Exchanged } from '../../program/program'
import { segmentTiling } from '../../graph/tiling'
import { allBetween, bindSegment, repeatForward } from '../segment/bind'
import type { Context, ParameterTensor } from '../scope/scope'
import { at, createEmitter, exchanged, createPool, type Buffer, type Pool, type UnplacedInstruction } from '../ir/builder'
import { emitEvaluation } from './evaluate'
import { evaluationExchangeOf, exchangeOf } from '../scope/step-io'
import type { StepCode } from './saved-tensors'
import { createContext, type Lowering } from '../segment/create-scope'
import { learningTensors, reorderParameter, updateParameter } from '../scope/parameters'
import { residentsOf, statesOf, type StatePart } from '../scope/persistent-tensors'
import { emitBackward, emitForward, type SegmentCode } from '../segment/segment'
import { withSwaps } from './swap'
import { emitUpdate, updateExchange } from './update'

/** A section before placement. */
export interface UnplacedSection {
  readonly name: 'step' | 'update' | 'evaluate'
  readonly code: readonly UnplacedInstruction[]
  readonly exchange: { readonly bytes: number; readonly entries: readonly Exchanged[] }
}

/** The segments of a step, with what stands between them. */
export interface Bound {
  readonly segments: readonly SegmentCode[]
  /** Runs segments forward once more, for the backward of the one that follows them. */
  readonly repeat: (codes: readonly SegmentCode[], before: SegmentCode) => void
}

/** Segments with their tiles and the boundaries between them. */
export const bindSegments = (context: Context, segments: readonly Segment[]): Bound => {
  const between = allBetween(context, segments)
  const bound = segments.map((segment) => {
    const tiling = segmentTiling(context.graph, segment, segment.grid)
    if (tiling === undefined) throw new Error(`segment ${segment.from}..${segment.to} has a tile that sees only padding`)
    return bindSegment(context, segment, tiling, between)
  })
  return { segments: bound, repeat: (codes, before) => repeatForward(context, codes, before, between) }
}

/** Forward through the segments, then backward; the last segment does both at once, for nothing stands between. */
const emitStep = (context: Context, { segments, repeat }: Bound, residents: readonly StatePart[]): StepCode => {
  const { emit, objective, exchange, graph, parameterBytes } = context
  const stateOf = statesOf(residents)
  const finish = (parameter: ParameterTensor, gradient: Buffer): void => {
    if (objective.kind === 'gradients')
      return reorderParameter(emit, parameter, [at(gradient), parameter.layout], [exchanged(exchange.gradient(parameter.name)), 'plain'])
    if (objective.kind === 'train' && parameter.gradient === undefined)
      updateParameter(emit, objective.optimizer, parameter, gradient, stateOf(parameter))
  }
  emit.launch<'zero'>({ kind: 'zero', bytes: 16 }, { destination: exchanged(exchange.loss) })
  if (context.gradients[0]!)
    emit.launch<'zero'>(
      { kind: 'zero', bytes: elementsOf(graph.input) * parameterBytes },
      { destination: exchanged(exchange.inputGradient) }
    )
  const kept = segments.slice(0, -1).map((code) => emitForward(context, code))
  for (const [index, code] of [...segments.entries()].reverse()) {
    const first = 1 + segments.slice(0, index).findLastIndex(({ segment }) => segment.repeats !== true)
    if (code.segment.repeats !== true) repeat(segments.slice(first, index), code)
    emitBackward(context, code, kept[index], finish)
  }
  return { code: emit.code(), nodes: graph.nodes.length, moments: emit.moments() }
}

/** The sections that compute: the step, and what else the objective asks for. */
export const emitSections = (
  context: Context,
  pool: Pool,
  bound: Bound,
  residents: readonly StatePart[],
  residence: Residence
): readonly UnplacedSection[] => {
  const { objective } = context
  const evaluation = (name: 'step' | 'evaluate'): UnplacedSection => {
    const evaluate = createEmitter(pool)
    emitEvaluation(context, evaluate, bound.segments)
    return { name, code: evaluate.code(), exchange: evaluationExchangeOf(context) }
  }
  if (objective.kind === 'evaluate') return [evaluation('step')]
  const step = emitStep(context, bound, residents)
  const sections: UnplacedSection[] = [{ name: 'step', code: withSwaps(step, pool, residence), exchange: exchangeOf(context) }]
  if (objective.kind !== 'train') return sections
  if (updatesLater(objective)) {
    const update = createEmitter(pool)
    emitUpdate(update, objective, context.parameters.flatMap(learningTensors), statesOf(residents))
    sections.push({ name: 'update', code: update.code(), exchange: updateExchange(objective) })
  }
  return objective.evaluate === true ? [...sections, evaluation('evaluate')] : sections
}

/** The step without transfers, and what is in the arena beside what its code makes. */
export const stepOf = (lowering: Lowering, segments: readonly Segment[]) => {
  const pool = createPool()
  const context = createContext(lowering, pool)
  const residents = residentsOf(context)
  return { pool, residents, step: emitStep(context, bindSegments(context, segments), residents) }
}
