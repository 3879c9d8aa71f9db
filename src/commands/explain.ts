import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { explain } from '../../staging'
import { explanationReport, explanationText } from '../explanation'
import { imageSource, stageRequest, stagingFailure } from '../planning'
import { trainingObjective } from '../training/objective'
import type { CommandResult } from './command-result'
import { type OptimizerOptions, type SetupOptions, objectiveOf, setupOf } from './options'

export const explainCommand = (name: string, options: SetupOptions & OptimizerOptions): CommandResult =>
  pipe(
    E.Do,
    E.bind('objective', () => objectiveOf(options)),
    E.bind('setup', () => setupOf(name, options)),
    E.chain(({ setup, objective }) => stageRequest(setup, trainingObjective(objective), imageSource)),
    E.chain((request) => E.mapLeft(stagingFailure)(explain(request))),
    E.map((explanation) => ({ json: explanationReport(explanation), text: explanationText(explanation) })),
    TE.fromEither
  )
