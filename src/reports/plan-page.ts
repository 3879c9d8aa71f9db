import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import {
  type Explanation,
  type MemoryPlan,
  type Program,
  type StageRequest,
  type Staged,
  stageEach,
  stepTimeline,
  type StepTimeline
} from '../../staging'
import { explanationReport, explanationSentences } from '../plans/explanation-report'
import type { Planned } from '../plans/plan-network'
import { formatBytes, formatMilliseconds, percent } from '../text/format'
import { bindingPart } from './binding-part'
import { networkPart } from './network-part'
import { type LiveBytes, type Report, emptyReport } from './report'
import { liveBytesOf, stepPart } from './step-part'

/** What is live in a step of strategy plain; undefined where the device cannot run it. */
const plainLive = ({ budget: _, memory: _memory, strategy: _strategy, given: _given, ...request }: StageRequest): LiveBytes | undefined =>
  pipe(
    stageEach(request),
    E.chain((stageBy) => stageBy({ strategy: 'plain', budget: { fractionOfPlain: 1 } })),
    E.map(({ program }) => liveBytesOf(program.buffers, stepTimeline(program, request.device).lifetimes)),
    E.getOrElse((): LiveBytes | undefined => undefined)
  )

const facts = ({ strategy, device, budget, predicted }: MemoryPlan): Report['facts'] => {
  const { peakDeviceBytes, peakHostBytes, plainPeakBytes, stepMilliseconds, lowerBoundMilliseconds, haloOverhead } = predicted
  return [
    { name: 'strategy', text: strategy },
    { name: 'device', text: device },
    { name: 'budget', text: budget === null ? 'no limit' : formatBytes(budget) },
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

const pageOf = (staged: Pick<Staged, 'plan' | 'graph' | 'program'>, timeline: StepTimeline, request: StageRequest): Report => {
  const { plan, graph, program } = staged
  const input = plan.input.join(' × ')
  return {
    ...emptyReport(
      `${plan.model}: a step in ${formatBytes(plan.predicted.peakDeviceBytes)}`,
      `input ${input}, computed in ${program.precision}`
    ),
    facts: facts(plan),
    step: stepPart(program, plan, timeline, plainLive(request)),
    network: networkPart(graph, plan, program.precision)
  }
}

/** The page of a plan. */
export const planPage = ({ staged, request }: Pick<Planned, 'staged' | 'request'>): Report => {
  const timeline = stepTimeline(staged.program, request.device)
  return { ...pageOf(staged, timeline, request), binding: bindingPart(staged.program, timeline) }
}

/** The page of an explanation: its plan's, with its words and other budgets. */
export const explanationPage = (explanation: Explanation, program: Program, request: StageRequest): Report => {
  const { plan, graph } = explanation
  const timeline = stepTimeline(program, request.device)
  const { larger, smaller, ...report } = explanationReport(explanation)
  const other = (isPresent: boolean) => (one: { readonly budgetBytes: number; readonly predictedStepMs: number }) => ({
    budgetBytes: one.budgetBytes,
    milliseconds: one.predictedStepMs,
    isPresent
  })
  const present = other(true)({ budgetBytes: plan.budget ?? report.peakDeviceBytes, predictedStepMs: report.predictedStepMs })
  return {
    ...pageOf({ plan, graph, program }, timeline, request),
    binding: {
      sentences: explanationSentences({ ...report, larger, smaller }),
      peak: bindingPart(program, timeline).peak
    },
    budgets: [...(smaller === null ? [] : [other(false)(smaller)]), present, ...larger.map(other(false))]
  }
}
