import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Explanation, explain as explainRequest } from '../../staging'
import type { Outcome } from '../failure'
import { type ExplainOptions, explainOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import { type ExplanationReport, explanationReport } from '../plans/explanation-report'
import { measureFirst } from '../plans/measure-kernels'
import { imageSource, stageRequest, stagingFailure } from '../plans/plan-network'
import { resolveSetup } from '../plans/resolve-setup'
import { pickWatching } from '../plans/watching'
import { trainingObjective } from '../training/training-objective'

/** Explains a plan, as `explain` does, and answers with the graph and the plan too. */
export const makeExplanation: (options: ExplainOptions) => Outcome<Explanation> = libraryFunction('explain', explainOptions, (options) =>
  pipe(
    TE.fromEither(trainingObjective(options)),
    TE.bindTo('objective'),
    TE.bind('setup', () => resolveSetup(options)),
    TE.chainFirst(({ setup, objective }) => measureFirst({ ...setup, ...pickWatching(options) }, objective, imageSource)),
    TE.chainEitherK(({ setup, objective }) => stageRequest(setup, objective, imageSource)),
    TE.chain((request) => pipe(TE.fromEither(explainRequest(request)), TE.mapLeft(stagingFailure)))
  )
)

/**
 * Says why a plan is as it is: the layer that binds the budget, what is in memory at the peak
 * (bytes), the next larger budgets with the times they would give (milliseconds), and what each
 * segment's decision costs. Runs no step; fails as `plan` does.
 */
export const explain = (options: ExplainOptions): Outcome<ExplanationReport> => pipe(makeExplanation(options), TE.map(explanationReport))
