import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { getIgnoredLabel } from '../../../staging'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { type Dataset, labelKind } from '../../datasets/dataset'
import { centreCrop } from '../../images/crop-placement'
import { computeUpscaledExtent } from '../../images/decode-image'
import type { SeenImage } from '../../images/image-notices'
import { isMask } from '../../datasets/labels'
import type { Extent2 } from '../../images/resolution'
import type { Planned, SetupGraph } from '../../plans/plan-network'
import { pickWatching } from '../../plans/watching'
import type { Validation } from './best'
import { createImageLoader } from '../batches/image-loader'
import { type ValidatedImage, type ValidationGroup, planValidation } from './plan-validation'
import type { TrainingRequest } from '../request'
import type { ValidateOn } from './validate-on'
import { allIgnoredFailure } from './validation'

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
  readonly pixelBytes: number
}

const listImages = ({ examples }: Dataset, { seen, least }: Trained): E.Either<Failure, readonly ValidatedImage[]> => {
  const headers = new Map(seen.map(({ path, header }) => [path, header]))
  return pipe(
    examples.map((example, place) => ({ example, place })),
    E.traverseArray(({ example, place }) =>
      pipe(
        computeUpscaledExtent(`the image ${example.path}`, headers.get(example.path)!, least),
        E.map(({ height, width }) => ({ example, place, extent: { height, width } }))
      )
    )
  )
}

/** How images with masks are validated; both absent of other labels, and without validation. */
export interface MaskValidation {
  readonly validatedOn?: ValidateOn
  /** Plans of whole images; absent where the middle crops are validated. */
  readonly validationGroups?: readonly ValidationGroup[]
}

/** Plans the validation of whole images; undefined where they do not fit, which is told. */
const planWholeImages = (
  request: TrainingRequest,
  validation: Dataset,
  trained: Trained
): Outcome<readonly ValidationGroup[] | undefined> => {
  const { options, setup, notify } = request
  const { validateOn, perImage, bestBy } = options
  const { planned, built } = trained
  return pipe(
    TE.fromEither(listImages(validation, trained)),
    TE.chain((images) =>
      planValidation({
        setup,
        budgetBytes: planned.budgetBytes,
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
      const ofWhole = [
        ...(validateOn === 'image' ? ['--validate-on image'] : []),
        ...(perImage === undefined ? [] : ['--per-image']),
        ...(bestBy === 'auc' ? ['--best-by auc'] : [])
      ]
      if (ofWhole.length > 0)
        return TE.left(
          inputFailure(
            `${failure.message}: leave out ${ofWhole.join(' and ')}, so that the crop in the middle of each is validated in its place`
          )
        )
      const remedy =
        failure.code === 'budget'
          ? 'a larger --budget, or --validate-on crop'
          : '--validate-on crop, or images of sides that the network keeps'
      notify(`${failure.message}: the crop in the middle of each is validated in its place; give ${remedy}`)
      return TE.right(undefined)
    })
  )
}

/** Fails where in no middle crop a pixel counts: nothing could be measured. */
const checkMiddles =
  (
    { options: { rotate, skipBad }, resolution }: TrainingRequest,
    { examples }: Dataset,
    { planned, pixelBytes }: Trained
  ): Outcome<MaskValidation> =>
  async () => {
    const [, , height, width] = planned.staged.program.input
    const crop = { height, width }
    const ignored = getIgnoredLabel(planned.staged.graph.nodes.at(-1)!)
    const loader = createImageLoader({ crop, batch: 1, rotate, resolution, pixelBytes })
    for (const example of examples) {
      if (!isMask(example.label)) continue
      const labels = await loader.classes(example, example.label, centreCrop(crop))()
      if (E.isLeft(labels) && !(skipBad && labels.left.code === 'input')) return labels
      if (E.isRight(labels) && labels.right.some((label) => label !== ignored)) return E.right({ validatedOn: 'crop' })
    }
    return E.left(allIgnoredFailure(crop))
  }

/** Finds how images with masks are validated: whole, where that is wanted and fits, or not. */
export const planMaskValidation = (
  request: TrainingRequest,
  validation: Dataset | undefined,
  trained: Trained
): Outcome<MaskValidation> => {
  if (validation === undefined || labelKind(validation) !== 'mask') return TE.right({})
  return pipe(
    request.options.validateOn === 'crop' ? TE.right(undefined) : planWholeImages(request, validation, trained),
    TE.chain((groups) =>
      groups === undefined ? checkMiddles(request, validation, trained) : TE.right({ validatedOn: 'image', validationGroups: groups })
    )
  )
}

const validatedTexts: Readonly<Record<ValidateOn, string>> = { image: 'whole images', crop: 'the crops in their middles' }

/** Tells where validations before cannot be compared with those to come. */
export const tellUncompared = ({ notify }: TrainingRequest, { validatedOn }: MaskValidation, before: readonly Validation[]): void => {
  const last = before.at(-1)
  if (validatedOn === undefined || last === undefined || last.validatedOn === validatedOn) return
  const was = last.validatedOn === undefined ? 'another kind' : validatedTexts[last.validatedOn]
  notify(
    `the validations up to step ${last.step} were of ${was}, and those to come are of ${validatedTexts[validatedOn]}: they are not compared, and the best is found anew`
  )
}
