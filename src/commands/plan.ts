import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { imageSource, planNetwork } from '../planning'
import { planReport, planText } from '../report'
import { trainingObjective } from '../training/objective'
import type { CommandResult } from './command-result'
import { type OptimizerOptions, type SetupOptions, objectiveOf, setupOf } from './options'

export const planCommand = (name: string, options: SetupOptions & OptimizerOptions): CommandResult =>
  pipe(
    E.Do,
    E.bind('objective', () => objectiveOf(options)),
    E.bind('setup', () => setupOf(name, options)),
    E.chain(({ setup, objective }) => planNetwork(setup, trainingObjective(objective), imageSource)),
    E.map((planned) => ({ json: planReport(planned), text: planText(planned) })),
    TE.fromEither
  )
