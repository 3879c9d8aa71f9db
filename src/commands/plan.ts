import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Objective, type Program, printProgram } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { checkWritable, writeFileAtomic } from '../files/atomic-write'
import { checkWrittenKind } from '../files/written-kind'
import { checkPaths, namedPaths } from '../files/paths'
import { freezeModel } from '../model/model-layers'
import { type PlanOptions, planOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import type { DecodedOptions } from '../options/option'
import { checkAddonToPlan } from '../plans/check-addon'
import { checkPlanName, writePlan } from '../plans/plan-file'
import { type Planned, imageNetSource, planNetwork } from '../plans/plan-network'
import { prepareGraph } from '../plans/prepare-graph'
import { type PlanReport, planReport } from '../plans/plan-report'
import { resolveHeadOptions, resolveSetup } from '../plans/resolve-setup'
import type { Setup } from '../plans/setup'
import { setupReads } from '../plans/setup-files'
import { pickWatching } from '../plans/watching'
import { planPage } from '../reports/plan-page'
import { checkReports, writeReport, writeTrace } from '../reports/write-report'
import { trainingObjective } from '../training/training-objective'

type Options = DecodedOptions<typeof planOptions>

const checkOut = ({ out, model, evaluate, loss }: Options): Outcome<void> => {
  if (out === undefined) return TE.right(undefined)
  const checkForm = (): E.Either<Failure, void> => {
    if (out.endsWith('.json')) return E.right(undefined)
    if (typeof model !== 'string')
      return E.left(inputFailure(`${out}: a plan in TypeScript imports its model; give the model's name or path, or write a *.json file`))
    if (loss !== undefined)
      return E.left(inputFailure(`${out}: a plan in TypeScript imports its model as it is, without --loss; write a *.json file`))
    return evaluate
      ? E.left(inputFailure(`${out}: what the compiler checks are training plans; write the plan of an evaluation to a *.json file`))
      : E.right(undefined)
  }
  return pipe(
    TE.fromEither(checkPlanName(out)),
    TE.chainEitherK(checkForm),
    TE.chain(() => checkWritable(out))
  )
}

const checkProgram = ({ program }: Options): Outcome<void> =>
  program === undefined
    ? TE.right(undefined)
    : pipe(
        checkWrittenKind({ name: '--program', path: program }),
        TE.chain(() => checkWritable(program))
      )

const writeProgram = (path: string | undefined, program: Program): Outcome<void> =>
  path === undefined ? TE.right(undefined) : writeFileAtomic(path, () => [Buffer.from(printProgram(program))])

const objectiveFor = ({ evaluate, ...options }: Options): E.Either<Failure, Objective> =>
  evaluate ? E.right({ kind: 'evaluate' }) : trainingObjective(options)

const setupFor = (options: Options): Outcome<Setup> =>
  pipe(
    resolveSetup(options),
    TE.map((setup) => (options.evaluate ? { ...setup, model: freezeModel(setup.model) } : setup))
  )

/**
 * Plans a step, as `plan` does, and answers with the plan, its Program and what was found out on
 * the way.
 */
export const makePlan: (options: PlanOptions) => Outcome<Planned> = libraryFunction('plan', planOptions, (options) =>
  pipe(
    checkAddonToPlan(options),
    TE.chain(() =>
      checkPaths({
        reads: setupReads(options),
        writes: [
          ...namedPaths('--out', options.out),
          ...namedPaths('--program', options.program),
          ...namedPaths('--report', options.report),
          ...namedPaths('--trace', options.trace)
        ]
      })
    ),
    TE.chain(() => checkOut(options)),
    TE.chain(() => checkProgram(options)),
    TE.chain(() => checkReports(options)),
    TE.chainEitherK(() => objectiveFor(options)),
    TE.bindTo('objective'),
    TE.bind('setup', () => setupFor(options)),
    TE.bind('built', ({ setup, objective }) => prepareGraph(setup, objective, imageNetSource, options)),
    TE.bind('planned', ({ built }) => TE.fromEither(planNetwork(built, pickWatching(options)))),
    TE.chainFirst(({ setup: { model }, planned: { staged } }) => {
      const name = typeof options.model === 'string' ? options.model : model.name
      return options.out === undefined
        ? TE.right(undefined)
        : writePlan(options.out, { name, options: resolveHeadOptions(options), model }, staged)
    }),
    TE.chainFirst(({ planned: { staged } }) => writeProgram(options.program, staged.program)),
    TE.chainFirst(({ planned }) => writeReport(options.report, () => planPage(planned))),
    TE.chainFirst(({ planned }) => writeTrace(options.trace, planned)),
    TE.map(({ planned }) => planned)
  )
)

/**
 * Plans a training step, or the forward pass of `predict`, and runs no step: how it is cut into
 * segments and tiles, and what it will cost, in bytes and milliseconds. Fails with code `budget`
 * where nothing fits (with the smallest budget that would do), `input` where an option or the model
 * is wrong, `interrupted` (by `signal`, before it plans or while it measures).
 */
export const plan = (options: PlanOptions): Outcome<PlanReport> => pipe(makePlan(options), TE.map(planReport))
