import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type PredictOptions as Files, type PredictReport, predict as runPredict } from '../predict'
import { watchingOf } from '../profile'
import { type SetupOptions, runnable, setupWithoutInput } from './setup'
import { present } from './values'

export interface PredictOptions extends Omit<SetupOptions, 'input' | 'seed'>, Omit<Files, keyof SetupOptions> {
  /** The image's size is the input. */
  readonly input?: never
}

const checkInput = ({ input }: { readonly input?: unknown }): E.Either<Failure, void> =>
  input === undefined ? E.right(undefined) : E.left(inputFailure('--input: predict takes the whole image as it is; leave it out'))

/**
 * One forward pass over a whole image of any size within the budget. A model that scores pixels writes the class of each to `out`, *.tif
 * (in tiles) or *.png, 8-bit grey; one that scores images answers with `scores`. Fails with code `input`, `budget` or `interrupted`.
 */
export const predict = (options: PredictOptions): Outcome<PredictReport> => {
  const { weights, image, out, onPlan } = options
  return pipe(
    TE.Do,
    TE.chainEitherK(() => checkInput(options)),
    TE.chainEitherK(() => E.chain(runnable)(setupWithoutInput(options))),
    TE.chain((setup) => runPredict({ ...setup, weights, image, ...present({ out, onPlan }), ...watchingOf(options) }))
  )
}
