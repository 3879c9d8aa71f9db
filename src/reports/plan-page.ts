import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import {
  type Explanation,
  type Graph,
  type PlanRequest,
  type PredictedPlan,
  type Program,
  type Staged,
  stageEach,
  stepTimeline,
  type StepTimeline
} from '../../staging'
import { type OtherBudgetReport, explanationReport, explanationSentences } from '../plans/explanation-report'
import type { Planned } from '../plans/plan-network'
import { formatBytes, formatMilliseconds, percent } from '../text/format'
import { bindingPart } from './binding-part'
import { networkPart } from './network-part'
import { type LiveBytes, type Report, emptyReport } from './report'
import { sampleLiveBytes, stepPart } from './step-part'

/** What is live in a step of strategy plain; undefined where the device cannot run it. */
const plainLive = (
  graph: Graph,
  { budget: _, memory: _memory, strategy: _strategy, given: _given, onSearch: _onSearch, ...request }: PlanRequest
): LiveBytes | undefined =>
  pipe(
    stageEach(graph, request)({ strategy: 'plain', budget: { fractionOfPlain: 1 } }),
    E.map(({ program }) => sampleLiveBytes(program.buffers, stepTimeline(program, request.device).lifetimes)),
    E.getOrElse((): LiveBytes | undefined => undefined)
  )

const facts = ({ strategy, device, budget, predicted }: PredictedPlan): Report['facts'] => {
  const { peakDeviceBytes, peakHostBytes, plainPeakBytes, stepMilliseconds, lowerBoundMilliseconds, haloOverhead } = predicted
  return [
    { name: 'strategy', text: strategy },
    { name: 'device', text: device },
    { name: 'budget', text: budget === undefined ? 'no limit' : formatBytes(budget) },
    {
      name: 'peak on the device',
      text: `${formatBytes(peakDeviceBytes)}, ${percent(peakDeviceBytes / plainPeakBytes)} of plain's ${formatBytes(plainPeakBytes)}`
    },
    { name: 'peak on the host', text: formatBytes(peakHostBytes) },
    {
      name: 'predicted step',
      text: `${formatMilliseconds(stepMilliseconds)}, at least ${formatMilliseconds(lowerBoundMilliseconds)} in any plan`
    },
    { name: 'halo overhead', text: percent(haloOverhead) }
  ]
}

const makePage = (staged: Staged, timeline: StepTimeline, request: PlanRequest): Report => {
  const { sourceGraph, graph, plan, predicted, program } = staged
  const input = graph.input.join(' × ')
  return {
    ...emptyReport(
      `${graph.model}: a step in ${formatBytes(predicted.peakDeviceBytes)}`,
      `input ${input}, computed in ${program.precision}`
    ),
    facts: facts(staged),
    step: stepPart(program, staged, timeline, plainLive(sourceGraph, request)),
    network: networkPart(graph, plan, program.precision)
  }
}

/** The page of a plan. */
export const planPage = ({ staged, request }: Pick<Planned, 'staged' | 'request'>): Report => {
  const timeline = stepTimeline(staged.program, request.device)
  return { ...makePage(staged, timeline, request), binding: bindingPart(staged.program, timeline) }
}

/** The step in the budget that is recommended. */
const recommendedPart = (
  { predicted, recommended }: Explanation,
  { device }: PlanRequest,
  plain: LiveBytes | undefined
): Report['recommended'] => {
  if (recommended === undefined) return null
  const { budgetBytes } = recommended
  const program = recommended.program()
  return {
    text: `as recommended, in ${formatBytes(budgetBytes)}`,
    step: stepPart(program, { predicted, budget: budgetBytes }, stepTimeline(program, device), plain)
  }
}

/** The page of an explanation: its plan's, with its words and other budgets. */
export const explanationPage = (explanation: Explanation, program: Program, request: PlanRequest): Report => {
  const timeline = stepTimeline(program, request.device)
  const { larger, smaller, ...report } = explanationReport(explanation)
  const page = makePage({ ...explanation, program }, timeline, request)
  const row = ({ budgetBytes, predictedStepMs, differenceMs }: OtherBudgetReport): Report['budgets'][number] => ({
    budgetBytes,
    milliseconds: predictedStepMs,
    differenceMilliseconds: differenceMs,
    isPresent: false,
    isRecommended: budgetBytes === report.recommended?.budgetBytes
  })
  const present = {
    budgetBytes: explanation.budget ?? report.peakDeviceBytes,
    milliseconds: report.predictedStepMs,
    ...{ differenceMilliseconds: 0, isPresent: true, isRecommended: false }
  }
  return {
    ...page,
    recommended: recommendedPart(explanation, request, page.step?.plainLive ?? undefined),
    binding: {
      sentences: explanationSentences({ ...report, larger, smaller }),
      peak: bindingPart(program, timeline).peak
    },
    budgets: [...(smaller === null ? [] : [row(smaller)]), present, ...larger.map(row)]
  }
}
