import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Explanation, explainGraph } from '../../staging'
import type { Outcome } from '../failure'
import { type ExplainOptions, explainOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import { type ExplanationReport, explanationReport } from '../plans/explanation-report'
import { measureFirst } from '../plans/measure-kernels'
import { buildSetupGraph, imageSource, planRequest, stagingFailure } from '../plans/plan-network'
import { resolveSetup } from '../plans/resolve-setup'
import { watchingOf } from '../plans/watching'
import { trainingObjective } from '../training/training-objective'

/** Explains a plan, as `explain` does, and answers with the graph and the plan too. */
export const makeExplanation: (options: ExplainOptions) => Outcome<Explanation> = libraryFunction('explain', explainOptions, (options) =>
  pipe(
    TE.fromEither(trainingObjective(options)),
    TE.bindTo('objective'),
    TE.bind('setup', () => resolveSetup(options)),
    TE.chainEitherK(({ setup, objective }) => buildSetupGraph(setup, objective, imageSource)),
    TE.chainFirst((built) => measureFirst(built, watchingOf(options))),
    TE.bindTo('built'),
    TE.bind('request', ({ built }) => TE.fromEither(planRequest(built))),
    TE.chainEitherK(({ built: { graph }, request }) => E.mapLeft(stagingFailure)(explainGraph(graph, request)))
  )
)

/**
 * Says why a plan is as it is: the layer that binds the budget, what is in memory at the peak
 * (bytes), the next larger budgets with the times they would give (milliseconds), and what each
 * segment's decision costs. Runs no step; fails as `plan` does.
 */
export const explain = (options: ExplainOptions): Outcome<ExplanationReport> => pipe(makeExplanation(options), TE.map(explanationReport))
