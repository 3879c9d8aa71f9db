import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Outcome, inputFailure } from '../failure'
import { checkPlanName, writePlan } from '../plan-file'
import { type Planned, imageSource, planNetwork } from '../planning'
import { type PlanReport, planReport } from '../report'
import { type Watching, measureFirst, watchingOf } from '../profile'
import { trainingObjective } from '../training/objective'
import { type OptimizerOptions, objectiveOf } from './objective'
import { type SetupOptions, headOptionsOf, setupOf } from './setup'

export interface PlanOptions extends SetupOptions, OptimizerOptions, Watching {
  /** Where the plan goes: *.plan.ts, which the compiler checks, or *.json. */
  readonly out?: string
}

const checkOut = ({ out, model }: PlanOptions): Outcome<void> =>
  out === undefined
    ? TE.right(undefined)
    : pipe(
        TE.fromEither(checkPlanName(out)),
        TE.filterOrElse(
          () => typeof model === 'string' || out.endsWith('.json'),
          () => inputFailure(`${out}: a plan in TypeScript imports its model; give the model's name or path, or write a *.json file`)
        )
      )

/** The plan with its Program and what was found out on the way. */
export const planned = (options: PlanOptions): Outcome<Planned> =>
  pipe(
    TE.Do,
    TE.chainFirst(() => checkOut(options)),
    TE.bind('objective', () => pipe(TE.fromEither(objectiveOf(options)), TE.map(trainingObjective))),
    TE.bind('setup', () => TE.fromEither(setupOf(options))),
    TE.chainFirst(({ setup, objective }) => measureFirst({ ...setup, ...watchingOf(options) }, objective, imageSource)),
    TE.bind('planned', ({ setup, objective }) => TE.fromEither(planNetwork(setup, objective, imageSource))),
    TE.chainFirst(({ setup: { model }, objective, planned: { staged } }) => {
      const name = typeof options.model === 'string' ? options.model : model.name
      return options.out === undefined
        ? TE.right(undefined)
        : writePlan(options.out, { name, options: headOptionsOf(options), model }, staged, objective)
    }),
    TE.map(({ planned }) => planned)
  )

/**
 * Plans a training step and runs no step: how it is cut into segments and tiles, and what it will cost, in bytes and milliseconds.
 * Fails with code `budget` where nothing fits (with the smallest budget that would do), `input` where an option or the model is wrong,
 * `interrupted` (by `signal`, while it measures).
 */
export const plan = (options: PlanOptions): Outcome<PlanReport> => pipe(planned(options), TE.map(planReport))
