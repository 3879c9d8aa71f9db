import { table } from '../text/table'
import { isConvolutionOp, type PlanSwapInterval } from '../../dsl/internal'
import {
  type Graph,
  type Plan,
  type PlanPlacement,
  type Segment,
  deviceFileName,
  isProfile,
  isRecorded,
  swapScheduleTexts
} from '../../staging'
import type { Planned } from './plan-network'
import { type RankReport, rankReport, rankRows } from './rank-report'
import { printable } from '../text/printable'
import { formatBytes, formatMilliseconds, percent } from '../text/format'

/** A segment of a plan: its layers, its tiles and what of it is kept. */
export interface SegmentReport {
  /** Half-open range over the layers, in the order in which the plan runs them. */
  readonly from: number
  readonly to: number
  /** Names of the segment's first and last layer. */
  readonly fromName: string
  readonly toName: string
  readonly grid: { readonly B: number; readonly H: number; readonly W: number }
  readonly recompute: boolean
  /** Names of the convolutions that run by Winograd. */
  readonly winograd: readonly string[]
  /** Names of those of them that run in slices of channels. */
  readonly slicedWinograd: readonly string[]
  /** Names of the convolutions that normalise what they read. */
  readonly normaliseOnLoad: readonly string[]
  /** Limit of bytes of scratch for a convolution's algorithm; null where all run directly. */
  readonly workspaceBytes: number | null
  /** True if what each tile reads is loaded while the one before it is computed. */
  readonly prefetch: boolean
  /**
   * Names of layers whose outputs leave for the host, where they and their gradients are: tiles
   * load and store bands of rows.
   */
  readonly hostTensors: readonly string[]
  /**
   * True if nothing that leaves the segment is kept: it runs forward again before the backward that
   * reads it.
   */
  readonly rematerialize: boolean
}

/** The fields of `plan --json`. */
export interface PlanReport {
  readonly strategy: string
  readonly feasible: true
  readonly budgetBytes: number | null
  readonly peakDeviceBytes: number
  readonly peakHostBytes: number
  readonly plainPeakBytes: number
  readonly predictedStepMs: number
  readonly lowerBoundMs: number
  readonly haloOverhead: number
  readonly planningMs: number
  /** Milliseconds of the proof that the Program may run. */
  readonly verifiedMs: number
  /** Shares of the predicted time by where it comes from. */
  readonly timesFrom: Planned['timeShares']
  readonly segments: readonly SegmentReport[]
  /** The tensors that wait on the host from forward to backward, and when they are moved. */
  readonly swapSchedule: readonly PlanSwapInterval[]
  /** Whether optimizer state waits on the host between updates. */
  readonly offloadOptimizer: boolean
  /** Bytes of weights on the device at once, where they wait on the host; else null. */
  readonly offloadWeights: number | null
  /** Placement of the buffers, with the bytes of a page under `virtual`. */
  readonly placement: PlanPlacement | { readonly allocator: 'static' }
  /** What ranks exchange and gain; null for one process. */
  readonly ranks: RankReport | null
}

/** A plan as `plan --json` writes it: bytes, and milliseconds of a step. */
export const planReport = ({ staged, request, planningMilliseconds, verifiedMilliseconds, timeShares }: Planned): PlanReport => {
  const { graph, strategy, budget, plan, predicted } = staged
  const { stepMilliseconds, lowerBoundMilliseconds, ...bytes } = predicted
  return {
    strategy,
    feasible: true,
    budgetBytes: budget ?? null,
    ...bytes,
    predictedStepMs: stepMilliseconds,
    lowerBoundMs: lowerBoundMilliseconds,
    planningMs: planningMilliseconds,
    verifiedMs: verifiedMilliseconds,
    timesFrom: timeShares,
    segments: plan.segments.map((segment) => segmentReport(graph, plan.order, segment)),
    swapSchedule: swapScheduleTexts(graph, plan.order, plan.swapSchedule ?? []),
    offloadOptimizer: plan.offloadOptimizer !== undefined,
    offloadWeights: plan.offloadWeights ?? null,
    placement: plan.placement ?? { allocator: 'static' },
    ranks: rankReport(staged, request.device) ?? null
  }
}

/** A segment of a plan as reports write it, by the names of its layers. */
export const segmentReport = (
  graph: Graph,
  order: Plan['order'],
  { from, to, grid, recompute, workspace, prefetch, rematerialize, ...segment }: Segment
): SegmentReport => {
  const namesOf = (positions: readonly number[] = []): readonly string[] => positions.map((position) => graph.nodes[order[position]!]!.name)
  return {
    from,
    to,
    fromName: graph.nodes[order[from]!]!.name,
    toName: graph.nodes[order[to - 1]!]!.name,
    grid,
    recompute,
    winograd: namesOf(segment.winograd),
    slicedWinograd: namesOf(segment.slicedWinograd),
    normaliseOnLoad: namesOf(segment.normaliseOnLoad),
    workspaceBytes: workspace ?? null,
    prefetch: prefetch === true,
    hostTensors: namesOf(segment.hostTensors),
    rematerialize: rematerialize === true
  }
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/**
 * Returns rows on how many of a plan's convolutions run by Winograd, and how many normalise what
 * they read where any do; nothing where the model has none.
 */
const convolutionRows = ({ nodes }: Graph, segments: readonly SegmentReport[]): readonly (readonly string[])[] => {
  const convolutions = nodes.filter(({ op }) => isConvolutionOp(op)).length
  const byWinograd = segments.reduce((sum, { winograd }) => sum + winograd.length, 0)
  const onLoad = segments.reduce((sum, { normaliseOnLoad }) => sum + normaliseOnLoad.length, 0)
  const countText = (count: number): string => `${count} of ${plural(convolutions, 'convolution')}`
  if (convolutions === 0) return []
  return [['by Winograd', countText(byWinograd)], ...(onLoad === 0 ? [] : [['normalise on load', countText(onLoad)]])]
}

/** How many of a segment's convolutions run by Winograd, and how many of those in slices. */
const winogradText = ({ winograd, slicedWinograd }: SegmentReport): string => {
  if (winograd.length === 0) return ''
  const all = plural(winograd.length, 'convolution')
  if (slicedWinograd.length === 0) return all
  return slicedWinograd.length === winograd.length ? `${all} in slices` : `${all}, ${slicedWinograd.length} in slices`
}

/** The first and last layer of a segment, or its only one. */
export const spanText = ({ fromName, toName }: SegmentReport): string => (fromName === toName ? fromName : `${fromName} to ${toName}`)

/** How a segment is cut, in words: `whole`, or its tiles along each axis. */
export const tilesText = ({ B, H, W }: SegmentReport['grid']): string => {
  const along = Object.entries({ 'the batch': B, height: H, width: W }).filter(([, count]) => count > 1)
  if (along.length === 0) return 'whole'
  const counts = along.map(([axis, count]) => `${count} along ${axis}`).join(', ')
  return along.length === 1 ? `tiles: ${counts}` : `${B * H * W} tiles: ${counts}`
}

/** Returns words on where the predicted time comes from, the largest share first. */
const timesText = ({ measured, interpolated, extrapolated, roofline }: PlanReport['timesFrom'], device: Planned['device']): string => {
  const measurable = typeof device === 'string' || isProfile(device) || (isRecorded(device) && device.kernels.length > 0)
  if (!measurable) return `by the rates of ${deviceFileName(device)}`
  const known = measured + interpolated + extrapolated
  return roofline >= 0.9995
    ? 'by a rough model of this machine; tilefold profile measures it'
    : [
        `${percent(measured + interpolated)} as measured`,
        ...(extrapolated < 0.0005 ? [] : [`${percent(extrapolated)} from other sizes`]),
        ...(known > 0.9995 ? [] : [`${percent(roofline)} by a rough model`])
      ].join(', ')
}

const hostText = ({ peakHostBytes, swapSchedule, offloadOptimizer, offloadWeights }: PlanReport): string =>
  [
    formatBytes(peakHostBytes),
    ...(swapSchedule.length === 0 ? [] : [plural(new Set(swapSchedule.map(({ tensor }) => tensor)).size, 'tensor')]),
    ...(offloadOptimizer ? ['optimizer state'] : []),
    ...(offloadWeights === null ? [] : ['weights'])
  ].join(', ')

const receivedText = (bytes: number): string => (bytes === 0 ? '' : formatBytes(bytes))

/** The plan in words: its segments, then what is predicted of it. */
export const planText = (planned: Planned): string => {
  const report = planReport(planned)
  const hasWorkspace = report.segments.some(({ workspaceBytes }) => workspaceBytes !== null)
  const { ranks } = report
  const isExchanged = ranks?.receivedBytes.some((bytes) => bytes > 0) === true
  const segments = report.segments.map((segment, index) => [
    spanText(segment),
    `${tilesText(segment.grid)}${segment.prefetch ? ', prefetched' : ''}${segment.hostTensors.length === 0 ? '' : ', to the host in rows'}`,
    segment.rematerialize ? 'rematerialized, then recomputed' : segment.recompute ? 'recomputed' : 'kept',
    winogradText(segment),
    ...(hasWorkspace ? [segment.workspaceBytes === null ? '' : formatBytes(segment.workspaceBytes)] : []),
    ...(isExchanged ? [receivedText(ranks.receivedBytes[index]!)] : [])
  ])
  const budget = report.budgetBytes === null ? 'none' : formatBytes(report.budgetBytes)
  const figures = [
    ['budget', budget],
    [
      'peak on the device',
      `${formatBytes(report.peakDeviceBytes)}, ${percent(report.peakDeviceBytes / report.plainPeakBytes)} of plain's ${formatBytes(report.plainPeakBytes)}`
    ],
    ...(report.placement.allocator === 'static' ? [] : [['placement', `virtual, in pages of ${formatBytes(report.placement.pageBytes)}`]]),
    ['peak on the host', hostText(report)],
    ['time of a step', `${formatMilliseconds(report.predictedStepMs)}, at least ${formatMilliseconds(report.lowerBoundMs)} in any plan`],
    ['times', timesText(report.timesFrom, planned.device)],
    ['halo overhead', percent(report.haloOverhead)],
    ...(ranks === null ? [] : rankRows(ranks)),
    ...convolutionRows(planned.staged.graph, report.segments)
  ]
  const title = `${printable(planned.staged.graph.model)}, input ${planned.staged.graph.input.join('x')}, strategy ${report.strategy}, planned in ${formatMilliseconds(report.planningMs)}, verified in ${formatMilliseconds(planned.verifiedMilliseconds)}`
  const intervals = report.swapSchedule.map(({ tensor, swapOut, freed, swapIn }) => [tensor, swapOut, freed, swapIn])
  return [
    title,
    table(
      [
        'segment',
        'forward',
        'for backward',
        'by Winograd',
        ...(hasWorkspace ? ['workspace'] : []),
        ...(isExchanged ? ['received at its end'] : [])
      ],
      segments
    ),
    ...(intervals.length === 0 ? [] : [table(['waits on the host', 'swapped out from', 'freed before', 'swapped in from'], intervals)]),
    table(['predicted', ''], figures)
  ].join('\n')
}
