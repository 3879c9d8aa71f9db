import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Explanation, explain as explainStaging } from '../../staging'
import { type ExplanationReport, explanationReport } from '../plans/explanation-report'
import type { Outcome } from '../failure'
import { imageSource, stageRequest, stagingFailure } from '../plans/plan-network'
import { type Watching, measureFirst, watchingOf } from '../plans/measure'
import { trainingObjective } from '../training/objective'
import { answering, optionsOf } from '../options/decode-options'
import { type OptimizerOptions, objectiveOf, optimizerCodecs } from '../options/optimizer-options'
import { type SetupOptions, modelCodec, setupCodecs, setupOf, watchingCodecs } from '../options/setup-options'

export interface ExplainOptions extends SetupOptions, OptimizerOptions, Watching {}

const codec = optionsOf<ExplainOptions>('explain', modelCodec, { ...setupCodecs, ...optimizerCodecs, ...watchingCodecs })

/** The explanation with the graph and the plan that it is of. */
export const explained = answering(codec, (options): Outcome<Explanation> =>
  pipe(
    TE.Do,
    TE.bind('objective', () => pipe(TE.fromEither(objectiveOf(options)), TE.map(trainingObjective))),
    TE.bind('setup', () => TE.fromEither(setupOf(options))),
    TE.chainFirst(({ setup, objective }) => measureFirst({ ...setup, ...watchingOf(options) }, objective, imageSource)),
    TE.chainEitherK(({ setup, objective }) => stageRequest(setup, objective, imageSource)),
    TE.chain((request) => pipe(TE.fromEither(explainStaging(request)), TE.mapLeft(stagingFailure)))
  )
)

/**
 * Says why a plan is as it is: the layer that binds the budget, what is in memory at the peak (bytes), the next larger budgets with
 * the times they would give (milliseconds), and what each segment's decision costs. Runs no step; fails as `plan` does.
 */
export const explain = (options: ExplainOptions): Outcome<ExplanationReport> => pipe(explained(options), TE.map(explanationReport))
