import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { type Dataset, labelKind } from '../images/dataset'
import { upscaledExtent } from '../images/decode-image'
import type { SeenImage } from '../images/image-notices'
import type { Extent2 } from '../images/resolution'
import type { Planned, SetupGraph } from '../plans/plan-network'
import { pickWatching } from '../plans/watching'
import { type ValidatedImage, type ValidationGroup, planValidation } from './plan-validation'
import type { TrainingRequest } from './request'

/** Fails where what is asked for is not measured on such data. */
export const checkValidateOn = (
  { options: { validateOn, perImage } }: Pick<TrainingRequest, 'options'>,
  validation: Dataset | undefined
): E.Either<Failure, void> => {
  const isMasked = validation !== undefined && labelKind(validation) === 'mask'
  if (validateOn === 'image' && !isMasked)
    return E.left(inputFailure('--validate-on image is for images with masks; of other images the middle crop is validated: leave it out'))
  return perImage !== undefined && (!isMasked || validateOn === 'crop')
    ? E.left(
        inputFailure('--per-image is for images with masks that are validated whole: leave it out, or give them and --validate-on image')
      )
    : E.right(undefined)
}

/** What whole images are planned with: as they are trained on, and the plan of that. */
interface Trained {
  readonly built: SetupGraph
  readonly planned: Planned
  readonly seen: readonly SeenImage[]
  /** The least size to which images are enlarged. */
  readonly least: Extent2
}

const imagesOf = ({ examples }: Dataset, { seen, least }: Trained): E.Either<Failure, readonly ValidatedImage[]> => {
  const headers = new Map(seen.map(({ path, header }) => [path, header]))
  return pipe(
    examples.map((example, place) => ({ example, place })),
    E.traverseArray(({ example, place }) =>
      pipe(
        upscaledExtent(`the image ${example.path}`, headers.get(example.path)!, least),
        E.map(({ height, width }) => ({ example, place, extent: { height, width } }))
      )
    )
  )
}

/**
 * Plans the validation of whole images with masks; undefined where the middle crops are validated:
 * where that is asked for, for other labels, and where whole images do not fit, which is told.
 */
export const planWholeValidation = (
  request: TrainingRequest,
  validation: Dataset | undefined,
  trained: Trained
): Outcome<readonly ValidationGroup[] | undefined> => {
  const { options, setup, notify } = request
  const { validateOn, perImage, bestBy } = options
  const { planned, built } = trained
  if (validation === undefined || labelKind(validation) !== 'mask' || validateOn === 'crop') return TE.right(undefined)
  return pipe(
    TE.fromEither(imagesOf(validation, trained)),
    TE.chain((images) =>
      planValidation({
        setup,
        arenaBytes: planned.arenaBytes,
        source: built.source,
        input: planned.staged.program.input,
        images,
        watching: pickWatching(options)
      })
    ),
    TE.map((groups): readonly ValidationGroup[] | undefined => groups),
    TE.orElse((failure) => {
      if (failure.code !== 'budget' && failure.code !== 'input') return TE.left(failure)
      // Crops have neither a table nor areas under curves.
      if (validateOn === 'image' || perImage !== undefined || bestBy === 'auc') return TE.left({ ...failure, code: 'input' })
      const remedy = failure.code === 'budget' ? 'a larger --budget, or --validate-on crop' : '--validate-on crop, or larger images'
      notify(`${failure.message}: the crop in the middle of each is validated in its place; give ${remedy}`)
      return TE.right(undefined)
    })
  )
}
