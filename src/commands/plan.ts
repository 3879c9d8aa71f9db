import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Objective } from '../../staging'
import type { Failure } from '../failure'
import { checkPlanName, writePlan } from '../plan-file'
import { imageSource, planNetwork } from '../planning'
import { planReport, planText } from '../report'
import { type CommandResult, sayChange } from './command-result'
import { type OptimizerOptions, type SetupOptions, headOptionsOf, optimizerOf, setupOf } from './options'

export interface PlanCommandOptions extends SetupOptions, OptimizerOptions {
  /** Where the plan goes: *.plan.ts or *.json. */
  readonly out?: string
}

export const planCommand = (name: string, options: PlanCommandOptions): CommandResult =>
  pipe(
    E.Do,
    E.chainFirstW(() => (options.out === undefined ? E.right<Failure, void>(undefined) : checkPlanName(options.out))),
    E.bind('optimizer', () => optimizerOf(options)),
    E.bind('setup', () => setupOf(name, options)),
    E.bind('objective', ({ optimizer }) => E.right<Failure, Objective>({ kind: 'train', optimizer })),
    E.bind('planned', ({ setup, objective }) => planNetwork(setup, objective, imageSource)),
    TE.fromEither,
    TE.chainFirst(({ setup, objective, planned }) =>
      options.out === undefined
        ? TE.right(undefined)
        : writePlan(options.out, { name, options: headOptionsOf(options), model: setup.model }, planned.staged, objective)
    ),
    TE.map(({ planned }) => {
      sayChange(planned)
      return { json: planReport(planned), text: planText(planned) }
    })
  )
