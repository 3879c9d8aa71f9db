import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { checkWritable } from '../files/atomic-write'
import { namedPaths } from '../files/paths'
import { openImage } from '../images/image-source'
import { pickWatching } from '../plans/watching'
import { sourceFor } from '../predicting/input-channels'
import { writeHeatMap } from '../predicting/write-heat-map'
import type { HeatMapKind } from '../results/formats'
import type { PredictReport } from './predict-report'
import { type DecodedPredictOptions, preparePrediction } from './prepare-prediction'

/** What a heat map needs beside the model: an image, a picture to write, and a class. */
interface Asked {
  readonly image: string
  readonly out: string
  readonly of: string
}

const checkHeatMap = (options: DecodedPredictOptions): E.Either<Failure, Asked> => {
  const { out, class: of, data, image, skipBad, probabilities, palette, background } = options
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`--heatmap ${fault}`))
  if (image === undefined || data !== undefined || skipBad) return fail('is of one image: give --image, without --data and --skip-bad')
  const ofClasses = { '--probabilities': probabilities !== undefined, '--palette': palette, '--background': background !== undefined }
  const [other] = Object.entries(ofClasses).find(([, isGiven]) => isGiven) ?? []
  if (other !== undefined) return fail(`is written in place of classes, and ${other} is of those: leave one of both out`)
  if (of === undefined) return fail('is of one class: give --class, its name or number')
  return out !== undefined && /\.(tiff?|png)$/i.test(out) ? E.right({ image, out, of }) : fail('is a picture: give --out, *.tif or *.png')
}

/** Writes where in an image a class is seen. */
export const predictHeatMap = (kind: HeatMapKind, options: DecodedPredictOptions): Outcome<PredictReport> =>
  pipe(
    TE.fromEither(checkHeatMap(options)),
    TE.bindTo('asked'),
    TE.bind('prepared', ({ asked: { image, out } }) => preparePrediction(options, [image], namedPaths('--out', out), checkWritable(out))),
    TE.bind('source', ({ asked: { image }, prepared: { reading } }) => openImage(image, reading)),
    TE.bind('normalisation', ({ source, prepared: { trained } }) => TE.fromEither(sourceFor(options, trained, source))),
    TE.bind('written', ({ asked: { out, of }, prepared: { setup, reading, weights, classNames }, source, normalisation }) =>
      writeHeatMap(out, source, reading, {
        ...{ kind, setup, of, normalisation, weights, names: classNames },
        ...{ watching: pickWatching(options), onPlan: options.onPlan, onNotice: options.onNotice }
      })
    ),
    TE.map(({ asked: { image, out }, source: { header }, prepared: { classNames }, written: [heatMap, computed] }) => {
      const { strategy, milliseconds, peakDeviceBytes, predictedPeakBytes, windowBytes } = computed
      return {
        ...{ path: image, height: header.height, width: header.width, files: [out], heatMap },
        ...(classNames && { names: classNames.names }),
        ...{ strategy, milliseconds, peakDeviceBytes, predictedPeakBytes, ...(windowBytes === undefined ? {} : { windowBytes }) }
      }
    })
  )
