import type { Explanation, LiveBytes, OtherBudget } from '../../staging'
import { type Mesh, meshOf, meshText } from './mesh'
import { printable } from '../text/printable'
import { type RankReport, rankRows } from './rank-report'
import { type SegmentReport, segmentReport, spanText, tilesText } from './plan-report'
import { table } from '../text/table'
import { formatBytes, formatMilliseconds, percent } from '../text/format'

/** The figures of the plan for another budget. */
export interface OtherBudgetReport {
  readonly budgetBytes: number
  readonly peakDeviceBytes: number
  readonly predictedStepMs: number
  /** Against the present budget; below zero where a step gets faster. */
  readonly differenceMs: number
  /** How ranks share the step by this plan; null where there are none. */
  readonly mesh: Mesh | null
}

/** What a segment costs in time, in milliseconds, by its causes. */
export interface SegmentCostReport extends SegmentReport {
  readonly predictedMs: number
  /**
   * Time of the same segment whole and with everything kept; the next three add up to the
   * difference, but for what prefetch saves.
   */
  readonly wholeMs: number
  readonly recomputationMs: number
  readonly haloMs: number
  readonly tileMs: number
  /** Milliseconds that the segment would take more with direct kernels alone. */
  readonly winogradSavingMs: number
  /**
   * Milliseconds that the segment would take more if no tile were loaded while another is computed.
   */
  readonly loadingSavingMs: number
}

/** The fields of `explain --json`. */
export interface ExplanationReport {
  readonly strategy: string
  /**
   * True if a plan was given in place of a strategy: no budget changes it, and `larger` and
   * `smaller` are empty.
   */
  readonly given: boolean
  readonly feasible: true
  readonly budgetBytes: number | null
  readonly peakDeviceBytes: number
  readonly plainPeakBytes: number
  readonly predictedStepMs: number
  readonly lowerBoundMs: number
  readonly bindingLayer: string | null
  /** The buffers in memory at the peak; with `unusedBytes` between them they add up to the peak. */
  readonly peak: readonly LiveBytes[]
  readonly unusedBytes: number
  readonly larger: readonly OtherBudgetReport[]
  /** The one of `larger` that saves the most time for each byte that it adds. */
  readonly recommended: OtherBudgetReport | null
  readonly smaller: OtherBudgetReport | null
  readonly segments: readonly SegmentCostReport[]
  /** Milliseconds that computing waits for tensors to leave for the host or to come back. */
  readonly waitingMs: number
  /** What ranks exchange and gain; null for one process. */
  readonly ranks: RankReport | null
}

/** A plan's explanation, and what is predicted of ranks that share an update. */
export interface ExplainedPlan extends Explanation {
  readonly ranks?: RankReport
}

const otherReport = ({ objective, ...other }: OtherBudget): OtherBudgetReport => {
  const { budgetBytes, peakDeviceBytes, stepMilliseconds, differenceMilliseconds } = other
  return {
    budgetBytes,
    peakDeviceBytes,
    predictedStepMs: stepMilliseconds,
    differenceMs: differenceMilliseconds,
    mesh: meshOf(objective) ?? null
  }
}

/** An explanation as `explain --json` writes it: bytes, and milliseconds of a step. */
export const explanationReport = (explanation: ExplainedPlan): ExplanationReport => {
  const {
    strategy,
    budget,
    plan,
    predicted,
    graph,
    isGiven,
    bindingLayer,
    live,
    liveBytes,
    larger,
    recommended,
    smaller,
    segments,
    waitingMilliseconds
  } = explanation
  const { peakDeviceBytes, plainPeakBytes, stepMilliseconds, lowerBoundMilliseconds } = predicted
  return {
    strategy,
    given: isGiven,
    feasible: true,
    budgetBytes: budget ?? null,
    peakDeviceBytes,
    plainPeakBytes,
    predictedStepMs: stepMilliseconds,
    lowerBoundMs: lowerBoundMilliseconds,
    bindingLayer: bindingLayer ?? null,
    peak: live,
    unusedBytes: peakDeviceBytes - liveBytes,
    larger: larger.map(otherReport),
    recommended: recommended === undefined ? null : otherReport(recommended),
    smaller: smaller === undefined ? null : otherReport(smaller),
    waitingMs: waitingMilliseconds,
    ranks: explanation.ranks ?? null,
    segments: segments.map((cost) => ({
      ...segmentReport(graph, plan.order, cost.segment),
      predictedMs: cost.milliseconds,
      wholeMs: cost.wholeMilliseconds,
      recomputationMs: cost.recomputationMilliseconds,
      haloMs: cost.haloMilliseconds,
      tileMs: cost.tileMilliseconds,
      winogradSavingMs: cost.winogradSavingMilliseconds,
      loadingSavingMs: cost.loadingSavingMilliseconds
    }))
  }
}

/** Rows of what is in memory at the peak; the smallest are added up. */
const shownRows = 8

const peakRows = ({ peak, unusedBytes, peakDeviceBytes }: ExplanationReport): readonly (readonly string[])[] => {
  const row = (what: string, bytes: number, largest: string): readonly string[] => [
    what,
    formatBytes(bytes),
    percent(bytes / peakDeviceBytes),
    largest
  ]
  const rest = peak.slice(shownRows)
  const restBytes = rest.reduce((sum, { bytes }) => sum + bytes, 0)
  return [
    ...peak
      .slice(0, shownRows)
      .map(({ what, layer, bytes, largest, largestBytes }) =>
        row(layer === undefined ? what : `${what} of ${layer}`, bytes, `${largest}, ${formatBytes(largestBytes)}`)
      ),
    ...(rest.length === 0 ? [] : [row(`${rest.length} more`, restBytes, '')]),
    ...(unusedBytes === 0 ? [] : [row('between buffers', unusedBytes, '')])
  ]
}

/** `3.2 ms less`. */
const differenceText = (milliseconds: number): string =>
  milliseconds === 0 ? 'as long' : `${formatMilliseconds(Math.abs(milliseconds))} ${milliseconds < 0 ? 'less' : 'more'}`

const budgetRows = ({ larger, smaller, ...present }: ExplanationReport): readonly (readonly string[])[] => {
  const sharing = (mesh: Mesh | null): readonly string[] => (mesh === null ? [] : [meshText(mesh)])
  const row = ({ budgetBytes, predictedStepMs, differenceMs, mesh }: OtherBudgetReport): readonly string[] => [
    // A byte less than the plan at hand, which reads as that does.
    budgetBytes < present.peakDeviceBytes ? `less than ${formatBytes(present.peakDeviceBytes)}` : formatBytes(budgetBytes),
    formatMilliseconds(predictedStepMs),
    differenceText(differenceMs),
    ...sharing(mesh)
  ]
  const now = [
    present.budgetBytes === null ? 'no limit' : formatBytes(present.budgetBytes),
    formatMilliseconds(present.predictedStepMs),
    'the plan at hand',
    ...sharing(present.ranks?.mesh ?? null)
  ]
  return [...(smaller === null ? [] : [row(smaller)]), now, ...larger.map(row)]
}

const segmentRows = ({ segments }: ExplanationReport): readonly (readonly string[])[] => {
  const cost = (milliseconds: number): string => (milliseconds === 0 ? '' : formatMilliseconds(milliseconds))
  return segments.map((segment) => [
    spanText(segment),
    `${tilesText(segment.grid)}, ${segment.recompute ? 'recomputed' : 'kept'}`,
    formatMilliseconds(segment.predictedMs),
    ...[segment.recomputationMs, segment.haloMs, segment.tileMs, segment.winogradSavingMs, segment.loadingSavingMs].map(cost)
  ])
}

/** The change that is recommended, in a sentence. */
const recommendationText = ({ recommended }: Pick<ExplanationReport, 'recommended'>): string | undefined =>
  recommended === null
    ? undefined
    : `Recommended: --budget ${recommended.budgetBytes} (${formatBytes(recommended.budgetBytes)}), where a step takes ${formatMilliseconds(-recommended.differenceMs)} less: the most for each byte that is added.`

/** What binds, what other budgets would give, and what the present one costs: in sentences. */
export const explanationSentences = (report: ExplanationReport): readonly string[] => {
  const { given, bindingLayer, larger, smaller, predictedStepMs, lowerBoundMs, budgetBytes } = report
  const [next, last] = [larger[0], larger[larger.length - 1]]
  const binding =
    bindingLayer === null
      ? `At the peak of ${formatBytes(report.peakDeviceBytes)} no layer's tensors are in memory.`
      : `${printable(bindingLayer)} binds: it has the most in memory at the peak of ${formatBytes(report.peakDeviceBytes)}.`
  const more =
    next === undefined || last === undefined
      ? 'More memory would not make a step faster.'
      : `With ${formatBytes(next.budgetBytes)} a step would take ${formatMilliseconds(-next.differenceMs)} less` +
        (last === next
          ? '.'
          : `, with ${formatBytes(last.budgetBytes)} ${formatMilliseconds(-last.differenceMs)} less; beyond that nothing.`)
  const less =
    smaller === null
      ? `Strategy ${report.strategy} fits nothing into less than ${formatBytes(report.peakDeviceBytes)}.`
      : `With less than ${formatBytes(report.peakDeviceBytes)} a step would take ${differenceText(smaller.differenceMs)}.`
  const beyond = predictedStepMs - lowerBoundMs
  const { ranks } = report
  const price =
    ranks !== null
      ? `A step takes ${formatMilliseconds(predictedStepMs)}, and would take ${formatMilliseconds(ranks.oneRankMs / ranks.ranks)} of ranks that exchange nothing and compute nothing twice; most time goes to ${ranks.boundBy}.`
      : beyond <= 0
        ? 'The plan computes nothing twice and copies nothing.'
        : `${given || budgetBytes === null || next === undefined ? 'The plan' : 'The budget'} costs ${formatMilliseconds(beyond)} of the ${formatMilliseconds(predictedStepMs)} that a step takes.`
  const waiting = report.waitingMs > 0 ? [`Computing waits ${formatMilliseconds(report.waitingMs)} for tensors on the host.`] : []
  const recommendation = recommendationText(report)
  return [
    binding,
    ...(given ? ['The plan was given: it stays as it is in every budget that it fits.'] : [more, less]),
    price,
    ...waiting,
    ...(recommendation === undefined ? [] : [recommendation])
  ]
}

/**
 * An explanation in words and tables: the layer that binds, what more memory would buy, and what
 * each decision costs.
 */
export const explanationText = (explanation: ExplainedPlan): string => {
  const report = explanationReport(explanation)
  const title = `${printable(explanation.graph.model)}, input ${explanation.graph.input.join('x')}, strategy ${report.strategy}`
  return [
    title,
    ...explanationSentences(report),
    table(['at the peak', 'bytes', 'share', 'the largest of it'], peakRows(report)),
    table(['budget', 'time of a step', 'against now', ...(report.ranks === null ? [] : ['shared by ranks'])], budgetRows(report)),
    table(
      ['segment', 'decision', 'time', 'recomputation', 'halos', "tiles' copies", 'saved by Winograd', 'by prefetch'],
      segmentRows(report)
    ),
    ...(report.ranks === null ? [] : [table(['on ranks', ''], rankRows(report.ranks))])
  ].join('\n')
}
