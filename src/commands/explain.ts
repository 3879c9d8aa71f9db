import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type PlanRequest, type WithinBudget, explainGraph } from '../../staging'
import type { Outcome } from '../failure'
import { checkPaths, namedPaths } from '../files/paths'
import { type ExplainOptions, explainOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import { checkAddonToPlan } from '../plans/check-addon'
import { type ExplainedPlan, type ExplanationReport, explanationReport } from '../plans/explanation-report'
import { type DecideInTurn, decideOnRanks } from '../plans/decide-on-ranks'
import { imageNetSource, planFailure, planRequest } from '../plans/plan-network'
import { prepareGraph } from '../plans/prepare-graph'
import { rankReport } from '../plans/rank-report'
import { resolveSetup } from '../plans/resolve-setup'
import { setupReads } from '../plans/setup-files'
import { pickWatching } from '../plans/watching'
import { explanationPage } from '../reports/plan-page'
import { checkReports, writeReport } from '../reports/write-report'
import { trainingObjective } from '../training/training-objective'

/** The plan of a strategy within so many bytes, if there is one. */
const planWithin =
  (decide: DecideInTurn, strategy: PlanRequest['strategy']): WithinBudget =>
  (bytes) =>
    pipe(
      decide({ strategy, budget: { bytes } }),
      E.match(
        () => undefined,
        ({ chosen }) => chosen
      )
    )

/** Explains a plan, as `explain` does, and answers with the graph and the plan too. */
export const makeExplanation: (options: ExplainOptions) => Outcome<ExplainedPlan> = libraryFunction('explain', explainOptions, (options) =>
  pipe(
    checkAddonToPlan(options),
    TE.chain(() => checkPaths({ reads: setupReads(options), writes: namedPaths('--report', options.report) })),
    TE.chain(() => checkReports(options)),
    TE.chainEitherK(() => trainingObjective(options)),
    TE.bindTo('objective'),
    TE.bind('setup', () => resolveSetup(options)),
    TE.bind('built', ({ setup, objective }) => prepareGraph(setup, objective, imageNetSource, options)),
    TE.bind('request', ({ built }) => TE.fromEither(planRequest(built, pickWatching(options)))),
    // Within another budget ranks may be faster by another mesh.
    TE.let('within', ({ built, objective, request: { strategy, device } }) =>
      options.ranks === undefined
        ? undefined
        : planWithin(decideOnRanks(built, objective, options, { ...pickWatching(options), known: device }), strategy)
    ),
    TE.bind('explanation', ({ built: { graph, setup }, request, within }) =>
      pipe(TE.fromEither(explainGraph(graph, request, within)), TE.mapLeft(planFailure(setup)))
    ),
    TE.chainFirst(({ explanation, request }) =>
      writeReport(options.report, () => explanationPage(explanation, explanation.program(), request))
    ),
    TE.map(({ explanation, request }): ExplainedPlan => {
      const ranks = options.ranks === undefined ? undefined : rankReport({ ...explanation, program: explanation.program() }, request.device)
      return { ...explanation, ...(ranks && { ranks }) }
    })
  )
)

/**
 * Says why a plan is as it is: the layer that binds the budget, what is in memory at the peak
 * (bytes), the next larger budgets with the times they would give (milliseconds), and what each
 * segment's decision costs. Runs no step; fails as `plan` does.
 */
export const explain = (options: ExplainOptions): Outcome<ExplanationReport> => pipe(makeExplanation(options), TE.map(explanationReport))
