import { bufferText, type BufferIdentity } from './lowering/ir/buffer-identity'
import { bufferLayers } from './lowering/ir/buffer-kind'
import { unlimitedBytes } from './lowering/scope/workspace'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { StagingError } from './error'
import type { Graph } from './graph/graph'
import type { KernelKind } from './kernels/kernels'
import { lazy } from './memoize'
import type { Buffer } from './lowering/ir/builder'
import { segmentTimer } from './lowering/cost/segment-times'
import { lower, type Lowered } from './lowering'
import { type Objective, stepsOfUpdate } from './graph/objective'
import type { Segment } from './plans/plan'
import { tileCount, untiled } from './graph/span'
import type { PlanSearch } from './search'
import { decideGraph, type Decision } from './decide'
import { predictPlan, type PredictedPlan } from './stage'
import { buildRequestGraph, type PlanRequest, type StageRequest } from './request'
import type { Program } from './program/program'
import { listHostTensors } from './plans/host-tensors'

/** What is in memory at the moment that holds the most: all of a kind, or a layer's. */
export interface LiveBytes {
  readonly what: 'parameters' | 'optimizer state' | 'gradients of parameters' | 'tensors' | 'workspace'
  /** The layer that the bytes are of; absent where they are of all layers, or of none. */
  readonly layer?: string
  readonly bytes: number
  /** The largest part of it, and its bytes. */
  readonly largest: string
  readonly largestBytes: number
}

/** Another budget, and the plan that it gives. */
export interface OtherBudget {
  /** What the step is for, and how ranks share it, which may be otherwise in another budget. */
  readonly objective: Objective
  readonly budgetBytes: number
  readonly peakDeviceBytes: number
  readonly stepMilliseconds: number
  /** What a step then takes more than with the present budget. */
  readonly differenceMilliseconds: number
}

/** The budget that is recommended, and the Program that it gives, which is made when asked for. */
export interface RecommendedBudget extends OtherBudget {
  readonly program: () => Program
}

/** What a segment costs a step, beside the same segment whole and with everything kept. */
export interface SegmentCost {
  readonly segment: Segment
  readonly milliseconds: number
  readonly wholeMilliseconds: number
  /** Computing again what was not kept. */
  readonly recomputationMilliseconds: number
  /** The layers' kernels on all tiles, over the same on the whole: halos, and more launches. */
  readonly haloMilliseconds: number
  /** Kernels that only tiles need. */
  readonly tileMilliseconds: number
  /** What the segment would take more with direct kernels alone. */
  readonly winogradSavingMilliseconds: number
  /** What it would take more if no tile were loaded while another is computed. */
  readonly loadingSavingMilliseconds: number
}

/** Why a plan is as it is, in figures. */
export interface Explanation extends PredictedPlan {
  /** The Program of the plan, which is made when asked for. */
  readonly program: () => Program
  /** Whether the plan was given, so that no budget changes it. */
  readonly isGiven: boolean
  /**
   * The layer that has the most bytes at the peak, parameters and optimizer state aside; absent
   * where no layer has any.
   */
  readonly bindingLayer: string | undefined
  /** Largest first; they add up to `liveBytes`. */
  readonly live: readonly LiveBytes[]
  readonly liveBytes: number
  /** What more memory buys, up to the fastest plan that there is; only where a step gets faster. */
  readonly larger: readonly OtherBudget[]
  /**
   * The one of `larger` that saves the most time for each byte that it adds; none if it is empty.
   */
  readonly recommended: RecommendedBudget | undefined
  /** With one byte less than the present plan needs, where there is such a plan. */
  readonly smaller: OtherBudget | undefined
  readonly segments: readonly SegmentCost[]
  /**
   * How long computing waits for tensors, optimizer state and weights to leave for the host or to
   * come back, in all micro-batches of a step.
   */
  readonly waitingMilliseconds: number
}

const gradientKinds: readonly BufferIdentity['kind'][] = ['gradient', 'tile-gradient', 'micro-batch-gradient']

const whatOf = ({ identity: { kind }, role }: Buffer): LiveBytes['what'] => {
  if (gradientKinds.includes(kind)) return 'gradients of parameters'
  if (kind === 'parameter' || kind === 'loaded-weights') return 'parameters'
  if (role === 'persistent' || kind === 'loaded-state') return 'optimizer state'
  return kind === 'scratch' ? 'workspace' : 'tensors'
}

const listLive = (graph: Graph, buffers: readonly Buffer[]): readonly LiveBytes[] => {
  const layer = bufferLayers(graph)
  const groups = new Map<string, LiveBytes>()
  for (const buffer of buffers) {
    const what = whatOf(buffer)
    const owner = what === 'parameters' || what === 'optimizer state' ? undefined : layer(buffer.identity)
    const key = `${what} ${owner ?? ''}`
    const group = groups.get(key) ?? { what, ...(owner === undefined ? {} : { layer: owner }), bytes: 0, largest: '', largestBytes: 0 }
    const largest = buffer.bytes > group.largestBytes ? { largest: bufferText(buffer.identity), largestBytes: buffer.bytes } : {}
    groups.set(key, { ...group, bytes: group.bytes + buffer.bytes, ...largest })
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes)
}

const findBindingLayer = (live: readonly LiveBytes[]): string | undefined => {
  const sums = new Map<string, number>()
  for (const { layer, bytes } of live) if (layer !== undefined) sums.set(layer, (sums.get(layer) ?? 0) + bytes)
  return [...sums].reduce<readonly [string | undefined, number]>((most, one) => (one[1] > most[1] ? one : most), [undefined, 0])[0]
}

/** What only tiles need. */
const tileKernels: readonly KernelKind[] = ['copyBox', 'zero', 'reorderWeights', 'sliceWeights', 'castWeights']

/** Nanoseconds of all micro-batches. */
interface SegmentTime {
  readonly all: number
  readonly ofTiles: number
}

/**
 * What a segment of a plan takes when decided otherwise. Where tensors pass in bands, the segment
 * that makes one has a part in what its readers do, so that the whole step tells what changes.
 */
const makeSegmentTimer = ({
  graph: written,
  device,
  chosen: { graph, plan }
}: Decision): ((place: number) => (segment: Segment) => SegmentTime) => {
  const { segments } = plan
  const onHost = new Set(segments.flatMap(listHostTensors))
  const timer = segmentTimer(graph, device, onHost)
  const times = stepsOfUpdate(graph.objective)
  const ofStep = (place: number, segment: Segment): number =>
    Math.round(1e6 * lower(written, { ...plan, segments: segments.with(place, segment), swapSchedule: [] }, device).milliseconds())
  return (place) => {
    const alone = times * timer(segments[place]!).nanoseconds()
    const present = lazy(() => ofStep(place, segments[place]!))
    return (segment) => {
      const watch = timer(segment)
      const all = onHost.size === 0 ? times * watch.nanoseconds() : alone + ofStep(place, segment) - present()
      return { all, ofTiles: times * tileKernels.reduce((sum, kind) => sum + watch.nanoseconds(kind), 0) }
    }
  }
}

const computeCost = (timeOf: (segment: Segment) => SegmentTime, isLast: boolean, segment: Segment): SegmentCost => {
  const { prefetch: _, rematerialize, ...inTurn } = segment
  const time = (decisions: Partial<Segment>): SegmentTime => timeOf({ ...inTurn, ...decisions })
  const whole = time({ grid: untiled, recompute: false, reorder: 'once' })
  const again = segment.recompute && !isLast ? time({ grid: untiled, reorder: 'once' }) : whole
  const tiled = tileCount(segment.grid) > 1 ? time({}) : again
  const repeating = rematerialize === undefined ? 0 : time({ rematerialize }).all - tiled.all
  // Whole, a kernel by Winograd may transform the weights itself that tiles have a kernel for.
  const tiles = Math.max(0, Math.min(tiled.ofTiles - again.ofTiles, tiled.all - again.all))
  const saving = segment.prefetch === true ? tiled.all - time({ prefetch: true }).all : 0
  return {
    segment,
    milliseconds: (tiled.all + repeating - saving) / 1e6,
    wholeMilliseconds: whole.all / 1e6,
    recomputationMilliseconds: (again.all + repeating - whole.all) / 1e6,
    haloMilliseconds: (tiled.all - again.all - tiles) / 1e6,
    tileMilliseconds: tiles / 1e6,
    winogradSavingMilliseconds: segment.winograd === undefined ? 0 : (time({ winograd: [], slicedWinograd: [] }).all - tiled.all) / 1e6,
    loadingSavingMilliseconds: saving / 1e6
  }
}

/** The fastest plan that fits so many bytes. */
export type WithinBudget = PlanSearch['within']

/** How many budgets are looked at between the present one and that of the fastest plan. */
const looks = 6

/** Between budgets no further apart than this nothing is looked at. */
const nearestRatio = 1.05

/** Nor between those whose times differ by less than this share: predictions are not nearer. */
const leastGain = 0.04

const other = (present: Lowered, budgetBytes: number, { peakBytes, milliseconds, graph: { objective } }: Lowered): OtherBudget => ({
  objective,
  budgetBytes,
  peakDeviceBytes: peakBytes(),
  stepMilliseconds: milliseconds(),
  differenceMilliseconds: milliseconds() - present.milliseconds()
})

/** A budget in bytes, and the fastest plan that fits it. */
interface PlannedBudget {
  readonly bytes: number
  readonly lowered: Lowered
}

/**
 * Looks between budgets in ascending order: each time half-way, in their logarithms, between the
 * two neighbours whose times differ most.
 */
const lookBetween = (planned: readonly PlannedBudget[], within: WithinBudget, left = looks): readonly PlannedBudget[] => {
  const gained = planned.slice(1).map((more, place) => {
    const less = planned[place]!
    const gain = less.lowered.milliseconds() - more.lowered.milliseconds()
    return more.bytes > nearestRatio * less.bytes && gain > leastGain * less.lowered.milliseconds() ? gain : 0
  })
  const most = Math.max(...gained)
  if (left === 0 || most <= 0) return planned
  const place = gained.indexOf(most)
  const [less, more] = [planned[place]!, planned[place + 1]!]
  const bytes = Math.floor(Math.sqrt(less.bytes * more.bytes))
  const found = within(bytes, less.lowered.milliseconds())
  const isFaster = found !== undefined && found.milliseconds() < less.lowered.milliseconds()
  const between = { bytes, lowered: isFaster ? found : less.lowered }
  return lookBetween(planned.toSpliced(place + 1, 0, between), within, left - 1)
}

/** Each gives a faster plan than those before it; the last one the fastest that there is. */
const largerThan = (present: Lowered, budget: number, within: WithinBudget): readonly RecommendedBudget[] => {
  const fastest = within(unlimitedBytes)
  if (fastest === undefined || fastest.milliseconds() >= present.milliseconds()) return []
  const ends = [
    { bytes: budget, lowered: present },
    { bytes: fastest.peakBytes(), lowered: fastest }
  ]
  const planned = lookBetween(ends, within)
  return planned
    .slice(1)
    .flatMap(({ bytes, lowered }, place) =>
      lowered.milliseconds() < planned[place]!.lowered.milliseconds()
        ? [{ ...other(present, bytes, lowered), program: lowered.program }]
        : []
    )
}

/** The one that saves the most time for each byte that it adds. */
const steepest = (larger: readonly RecommendedBudget[], budget: number): RecommendedBudget | undefined => {
  const saving = ({ differenceMilliseconds, budgetBytes }: OtherBudget): number => -differenceMilliseconds / (budgetBytes - budget)
  return larger.reduce<RecommendedBudget | undefined>((best, one) => (best && saving(best) >= saving(one) ? best : one), undefined)
}

const smallerThan = (present: Lowered, within: WithinBudget): OtherBudget | undefined => {
  const candidate = within(present.peakBytes() - 1)
  return candidate && other(present, present.peakBytes() - 1, candidate)
}

/**
 * Why the plan for a graph, as `buildRequestGraph` builds it, is as it is, in figures: pure, and as
 * deterministic as the plan. What other budgets give is the request's strategy's, or what `within`
 * answers. Fails as `stageGraph` does.
 */
export const explainGraph = (graph: Graph, request: PlanRequest, within?: WithinBudget): E.Either<StagingError, Explanation> =>
  pipe(
    decideGraph(graph, request),
    E.map((decision): Explanation => {
      const { graph, device, chosen, search } = decision
      const { swapSchedule = [], offloadOptimizer, offloadWeights, ...staying } = chosen.plan
      const moves = swapSchedule.length > 0 || offloadOptimizer !== undefined || offloadWeights !== undefined
      const live = listLive(chosen.graph, chosen.liveAtPeak())
      const times = makeSegmentTimer(decision)
      const budget = decision.budget ?? Infinity
      const others = search && (within ?? search.within)
      const larger = others === undefined ? [] : largerThan(chosen, budget, others)
      return {
        ...predictPlan(request, decision),
        program: chosen.program,
        isGiven: search === undefined,
        bindingLayer: findBindingLayer(live),
        live,
        liveBytes: live.reduce((sum, { bytes }) => sum + bytes, 0),
        larger,
        recommended: steepest(larger, budget),
        smaller: others && smallerThan(chosen, others),
        segments: staying.segments.map((segment, place) => computeCost(times(place), segment.to === chosen.graph.nodes.length, segment)),
        waitingMilliseconds: moves ? chosen.milliseconds() - lower(graph, staying, device).milliseconds() : 0
      }
    })
  )

/**
 * Explains the plan of a model, whose graph it builds first, as `explainGraph` does. Fails as
 * `stage` does.
 */
export const explainModel = (request: StageRequest): E.Either<StagingError, Explanation> =>
  pipe(
    buildRequestGraph(request),
    E.chain((graph) => explainGraph(graph, request))
  )
