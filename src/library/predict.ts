import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import { type PredictOptions as Files, type PredictReport, predict as runPredict } from '../predict'
import { watchingOf } from '../profile'
import { type SetupOptions, runnable, setupWithoutInput } from './setup'
import { present } from './values'

export interface PredictOptions extends Omit<SetupOptions, 'input' | 'plan' | 'seed'>, Omit<Files, keyof SetupOptions> {}

/**
 * One forward pass over a whole image of any size within the budget. A model that scores pixels writes the class of each to `out`, *.tif
 * (in tiles) or *.png, 8-bit grey; one that scores images answers with `scores`. Fails with code `input`, `budget` or `interrupted`.
 */
export const predict = (options: PredictOptions): Outcome<PredictReport> => {
  const { weights, image, out, onPlan } = options
  return pipe(
    TE.Do,
    TE.chainEitherK(() => E.chain(runnable)(setupWithoutInput(options))),
    TE.chain((setup) => runPredict({ ...setup, weights, image, ...present({ out, onPlan }), ...watchingOf(options) }))
  )
}
