import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { explanationReport, explanationText } from '../plans/explanation-report'
import { makeExplanation } from '../commands/explain'
import type { ExplainOptions } from '../option-tables/command-options'
import { type CommandResult, type Words, withMeasuring } from './command-result'

/** The command `explain`: why a plan is as it is, and which budgets would change it. */
export const explainCommand = (options: ExplainOptions, words: Words): CommandResult =>
  withMeasuring(options, words, (watched) =>
    pipe(
      makeExplanation(watched),
      TE.map((explanation) => ({ json: explanationReport(explanation), text: explanationText(explanation) }))
    )
  )
