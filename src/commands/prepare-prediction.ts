import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type NamedPath, checkPaths, namedPaths } from '../files/paths'
import { removeLeftovers } from '../images/mapped-image-file'
import type { Reading } from '../images/samples'
import { endsInLoss } from '../model/model-loss'
import type { predictOptions } from '../option-tables/predict-options'
import { makeReading } from '../option-tables/image-options'
import type { DecodedOptions } from '../options/option'
import { resolveSetupWithoutInput, requireLocalDevice } from '../plans/resolve-setup'
import type { RunnableSetup } from '../plans/setup'
import { setupReads } from '../plans/setup-files'
import { resolveReading } from '../predicting/input-channels'
import type { ClassNames } from '../results/class-names'
import { tap } from '../tasks/tap'
import { type TrainedChannels, decodeTrainedChannels } from '../weights/channel-metadata'
import { decodeTrainedClasses, findMovedClass } from '../weights/class-metadata'
import { decodeTrainedLoss } from '../weights/loss-metadata'
import { openWeightFile } from '../weights/open-weight-file'
import { resolutionNotice } from '../weights/resolution-metadata'
import type { WeightFile } from '../weights/weight-file'
import type { WeightSource } from '../weights/weights'

/** The options of `predict`, decoded, with defaults where there are any. */
export type DecodedPredictOptions = DecodedOptions<typeof predictOptions>

/** What predicts, and how images are read for it. */
export interface PreparedPrediction {
  readonly setup: RunnableSetup
  readonly reading: Reading
  /** The channels that the weights were trained with, as their file says. */
  readonly trained?: TrainedChannels
  /** The loss that the weights were trained by, where it is known. */
  readonly loss: string | undefined
  /** The names of the classes, or values, as is said, or else as the weights say. */
  readonly classNames: ClassNames | undefined
  readonly weights: WeightSource
}

const weightSource = ({ weights, onNotice }: DecodedPredictOptions): WeightSource => ({ path: weights, onNotice })

/** The names of classes, as is said, or else as the weights say. */
const classNamesOf = ({ classNames }: DecodedPredictOptions, file: WeightFile): E.Either<Failure, ClassNames | undefined> => {
  if (classNames === undefined)
    return E.map((names: readonly string[] | undefined): ClassNames | undefined => names && { names, from: 'weights' })(
      decodeTrainedClasses(file)
    )
  const moved = findMovedClass(classNames.names, file)
  if (moved === undefined) return E.right({ names: classNames.names, from: 'option' })
  const { name, trained, now, order } = moved
  return E.left(
    inputFailure(
      `--class-names has ${name} as class ${now}, but ${file.path} were trained with it as class ${trained}: leave it out, or give ${order.join(',')}`
    )
  )
}

/** The loss that weights were trained by, as is said, or else as they say. */
const trainedLoss = (
  { loss, weights, onNotice }: DecodedPredictOptions,
  { model }: RunnableSetup,
  file: WeightFile
): E.Either<Failure, string | undefined> => {
  const said = decodeTrainedLoss(file)
  if (loss === undefined) return said
  if (endsInLoss(model)) return E.left(inputFailure(`--loss: ${model.name} ends in a loss of its own; leave one of them out`))
  if (E.isRight(said) && said.right !== undefined && said.right !== loss)
    onNotice?.(`${weights} were trained by ${said.right}, and are read as of --loss ${loss}`)
  return E.right(loss)
}

/**
 * What comes before any prediction: no file is read and written at once, the device is there, what
 * killed runs left on disk is gone, and `checkOut` has seen that results can be written.
 */
export const preparePrediction = (
  options: DecodedPredictOptions,
  images: readonly string[],
  writes: readonly NamedPath[],
  checkOut: Outcome<void>
): Outcome<PreparedPrediction> => {
  const { weights, data } = options
  // What a loss says of scores is not of the graph, so that plans without it fit.
  const { loss: _, ...setupOptions } = options
  return pipe(
    checkPaths({
      reads: [
        ...setupReads(options),
        ...namedPaths('--weights', weights),
        ...namedPaths('--data', data),
        ...images.flatMap((path) => namedPaths('--image', path))
      ],
      writes
    }),
    TE.chain(() => openWeightFile(weights)),
    TE.bindTo('file'),
    TE.bind('classNames', ({ file }) => TE.fromEither(classNamesOf(options, file))),
    TE.bind('setup', ({ classNames }) =>
      TE.chainEitherK(requireLocalDevice)(resolveSetupWithoutInput(setupOptions, classNames?.names.length))
    ),
    TE.chainFirstTaskK(() => removeLeftovers),
    TE.chainFirst(() => checkOut),
    TE.bind('asked', () => TE.fromEither(makeReading(options))),
    tap(({ file, asked }) => {
      const notice = resolutionNotice(file, asked)
      if (notice !== undefined) options.onNotice?.(notice)
    }),
    TE.bind('trained', ({ file }) => TE.fromEither(decodeTrainedChannels(file))),
    TE.bind('loss', ({ setup, file }) => TE.fromEither(trainedLoss(options, setup, file))),
    TE.map(({ setup, asked, trained, loss, classNames }) => ({
      ...{ setup, reading: resolveReading(asked, trained), loss, classNames, weights: weightSource(options) },
      ...(trained && { trained })
    }))
  )
}
