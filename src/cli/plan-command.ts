import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { makePlan } from '../commands/plan'
import type { PlanOptions } from '../option-tables/command-options'
import { planReport, planText } from '../plans/plan-report'
import { type CommandResult, type Words, sayPlanNotes, withMeasuring } from './command-result'

/** The command `plan`: plans a network under a budget, and reports the plan; nothing runs. */
export const planCommand = (options: PlanOptions, words: Words): CommandResult =>
  withMeasuring(options, words, (watched) =>
    pipe(
      makePlan(watched),
      TE.map((planned) => {
        sayPlanNotes(planned)
        return { json: planReport(planned), text: planText(planned) }
      })
    )
  )
