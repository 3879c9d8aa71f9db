import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Objective } from '../../staging'
import { flag, path } from '../options/codecs'
import { type Outcome, inputFailure } from '../failure'
import { frozenModel } from '../model/model-layers'
import { checkPlanName, writePlan } from '../plans/plan-file'
import { checkPaths, named } from '../files/paths'
import { type Planned, imageSource, planNetwork } from '../plans/plan-network'
import type { Setup } from '../plans/setup'
import { type PlanReport, planReport } from '../plans/plan-report'
import { type Watching, measureFirst, watchingOf } from '../plans/measure'
import { trainingObjective } from '../training/objective'
import { checkWritable } from '../files/atomic-write'
import { answering, optionsOf } from '../options/decode-options'
import { type OptimizerOptions, objectiveOf, optimizerCodecs } from '../options/optimizer-options'
import { type SetupOptions, headOptionsOf, modelCodec, setupCodecs, setupOf, watchingCodecs } from '../options/setup-options'
import { setupReads } from '../options/setup-reads'

export interface PlanOptions extends SetupOptions, OptimizerOptions, Watching {
  /** Where the plan goes: *.plan.ts, which the compiler checks, or *.json. */
  readonly out?: string
  /** Whether the forward pass of `predict` is planned in place of a training step; its file is *.json. */
  readonly evaluate?: boolean
}

const checkOut = ({ out, model, evaluate }: PlanOptions): Outcome<void> =>
  out === undefined
    ? TE.right(undefined)
    : pipe(
        TE.fromEither(checkPlanName(out)),
        TE.filterOrElse(
          () => typeof model === 'string' || out.endsWith('.json'),
          () => inputFailure(`${out}: a plan in TypeScript imports its model; give the model's name or path, or write a *.json file`)
        ),
        TE.filterOrElse(
          () => evaluate !== true || out.endsWith('.json'),
          () => inputFailure(`${out}: what the compiler checks are training plans; write the plan of an evaluation to a *.json file`)
        ),
        TE.chain(() => checkWritable(out))
      )

const objectiveFor =
  ({ evaluate }: PlanOptions) =>
  (training: Parameters<typeof trainingObjective>[0]): Objective =>
    evaluate === true ? { kind: 'evaluate' } : trainingObjective(training)

const setupFor =
  ({ evaluate }: PlanOptions) =>
  (setup: Setup): Setup =>
    evaluate === true ? { ...setup, model: frozenModel(setup.model) } : setup

const codec = optionsOf<PlanOptions>('plan', modelCodec, {
  ...setupCodecs,
  ...optimizerCodecs,
  ...watchingCodecs,
  out: path,
  evaluate: flag
})

/** The plan with its Program and what was found out on the way. */
export const planned = answering(codec, (options): Outcome<Planned> =>
  pipe(
    TE.Do,
    TE.chainFirst(() => checkPaths({ reads: setupReads(options), writes: named('--out', options.out) })),
    TE.chainFirst(() => checkOut(options)),
    TE.bind('objective', () => pipe(TE.fromEither(objectiveOf(options)), TE.map(objectiveFor(options)))),
    TE.bind('setup', () => pipe(TE.fromEither(setupOf(options)), TE.map(setupFor(options)))),
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
)

/**
 * Plans a training step, or the forward pass of `predict`, and runs no step: how it is cut into segments and tiles, and what it will cost, in bytes and milliseconds.
 * Fails with code `budget` where nothing fits (with the smallest budget that would do), `input` where an option or the model is wrong,
 * `interrupted` (by `signal`, while it measures).
 */
export const plan = (options: PlanOptions): Outcome<PlanReport> => pipe(planned(options), TE.map(planReport))
