import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { parseLoss } from '../../dsl'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { openWeightFile } from './open-weight-file'
import type { Metadata } from './safetensors'

const key = 'tilefold.loss'

/** What a file of weights says of the loss that they were trained by; nothing of cross-entropy. */
export const lossMetadata = (formula: string | undefined): Metadata => (formula === undefined ? {} : { [key]: formula })

/** The loss that a file of weights was trained by; undefined where it says nothing. */
export const readTrainedLoss = (path: string): Outcome<string | undefined> =>
  pipe(
    openWeightFile(path),
    TE.chainEitherK(({ metadata: { [key]: formula } }): E.Either<Failure, string | undefined> => {
      if (formula === undefined) return E.right(undefined)
      return pipe(
        parseLoss(formula),
        E.bimap(
          (fault) => inputFailure(`${path}: what it says of its loss (${key}) cannot be read (${fault}): give --loss`),
          () => formula
        )
      )
    })
  )
