import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { callback, path, saying } from '../options/codecs'
import { type Outcome, inputFailure } from '../failure'
import { type PredictOptions as Files, type PredictReport, predict as runPredict } from '../running/predict'
import { checkPaths, named } from '../files/paths'
import { watchingOf } from '../plans/measure'
import { answering, optionsOf } from '../options/decode-options'
import { type SetupOptions, modelCodec, runnable, setupCodecs, setupWithoutInput, watchingCodecs } from '../options/setup-options'
import { setupReads } from '../options/setup-reads'
import { present } from '../options/option-values'

export interface PredictOptions extends Omit<SetupOptions, 'input' | 'seed'>, Omit<Files, keyof SetupOptions> {
  /** The image's size is the input. */
  readonly input?: never
}

const noInput = saying<never>('nothing', () => E.left(inputFailure('--input: predict takes the whole image as it is; leave it out')))

const { input: _, seed: _s, ...codecs } = setupCodecs

const codec = optionsOf<PredictOptions>(
  'predict',
  { ...modelCodec, weights: path, image: path },
  { ...codecs, ...watchingCodecs, input: noInput, out: path, onPlan: callback(), onNotice: callback() }
)

/**
 * One forward pass over a whole image of any size within the budget. A model that scores pixels writes the class of each to `out`, *.tif
 * (in tiles) or *.png, 8-bit grey; one that scores images answers with `scores`. Fails with code `input`, `budget` or `interrupted`.
 */
export const predict = answering(codec, (options): Outcome<PredictReport> => {
  const { weights, image, out, onPlan, onNotice } = options
  return pipe(
    checkPaths({
      reads: [...setupReads(options), ...named('--weights', weights), ...named('--image', image)],
      writes: named('--out', out)
    }),
    TE.chainEitherK(() => E.chain(runnable)(setupWithoutInput(options))),
    TE.chain((setup) => runPredict({ ...setup, weights, image, ...present({ out, onPlan, onNotice }), ...watchingOf(options) }))
  )
})
