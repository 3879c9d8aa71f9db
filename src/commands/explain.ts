import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { explain } from '../../staging'
import { explanationReport, explanationText } from '../explanation'
import { imageSource, stageRequest, stagingFailure } from '../planning'
import type { CommandResult } from './command-result'
import { type OptimizerOptions, type SetupOptions, optimizerOf, setupOf } from './options'

export const explainCommand = (name: string, options: SetupOptions & OptimizerOptions): CommandResult =>
  pipe(
    E.Do,
    E.bind('optimizer', () => optimizerOf(options)),
    E.bind('setup', () => setupOf(name, options)),
    E.chain(({ setup, optimizer }) => stageRequest(setup, { kind: 'train', optimizer }, imageSource)),
    E.chain((request) => E.mapLeft(stagingFailure)(explain(request))),
    E.map((explanation) => ({ json: explanationReport(explanation), text: explanationText(explanation) })),
    TE.fromEither
  )
