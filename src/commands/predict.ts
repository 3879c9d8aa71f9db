import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Model, PlanFile } from '../../dsl'
import type { Image } from '../../native'
import { type Objective, hasTarget, objectiveText } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { checkWritable } from '../files/atomic-write'
import { checkPaths, namedPaths } from '../files/paths'
import { decodeImage } from '../images/decode-image'
import { imageNotices } from '../images/image-notices'
import { openImage } from '../images/image-source'
import { windowBytes } from '../images/image-windows'
import { checkDiskSpace, removeLeftovers } from '../images/mapped-image-file'
import { checkMaskName, writeMask } from '../images/masks'
import { type Extent2, type Resolution } from '../images/resolution'
import { frozenModel } from '../model/model-layers'
import { findPixelLoss } from '../running/pixel-loss'
import { largest } from '../numbers/extremes'
import { resolutionOf } from '../option-tables/image-options'
import { type PredictOptions, predictOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import type { DecodedOptions } from '../options/option'
import { measureFirst } from '../plans/measure-kernels'
import { type Planned, buildSetupGraph, imageSource, planNetwork } from '../plans/plan-network'
import { resolveSetupWithoutInput, requireLocalDevice } from '../plans/resolve-setup'
import type { RunnableSetup } from '../plans/setup'
import { setupReads } from '../plans/setup-files'
import { pickWatching } from '../plans/watching'
import { type RunningNetwork, withAbort, withNetwork } from '../running/running-network'
import { partBytes } from '../running/step-io'
import { tap } from '../tasks/tap'
import { centreCrop } from '../training/batches'

export interface PredictReport {
  readonly height: number
  readonly width: number
  readonly strategy: string
  readonly milliseconds: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  /** Host memory of the windows that are read of an image in tiles. */
  readonly windowBytes?: number
  /** Scores of a model that scores images: one a class, before softmax. */
  readonly scores?: readonly number[]
  /** The index of the highest score. */
  readonly class?: number
  /** Number of pixels of each class, of a model that scores pixels. */
  readonly pixels?: readonly number[]
}

type Options = DecodedOptions<typeof predictOptions>

const objective: Objective = { kind: 'evaluate' }

type Result = Pick<PredictReport, 'scores' | 'class' | 'pixels'>

const notFiniteFailure = (what: string): Failure => ({
  code: 'loss',
  message: `${what} not finite: look at the weights, or compute in float32`
})

const scoresOf = (network: RunningNetwork): E.Either<Failure, Result> => {
  const scores = Array.from(network.io.view('scores'))
  const wrong = scores.findIndex((score) => !Number.isFinite(score))
  return wrong === -1
    ? E.right({ scores, class: scores.indexOf(largest(scores)) })
    : E.left(notFiniteFailure(`the score of class ${wrong} is ${scores[wrong]}, which is`))
}

/** A window that is being read, and its copy that a kernel loads. */
const heldWindows = 2

/** The value in a mask of a pixel that has a score that is not finite. */
const noClass = 255

/** Writes the classes of pixels, or answers with scores. */
const writeResult = ({ out }: Options, { height, width }: Extent2, planned: Planned, network: RunningNetwork): Outcome<Result> => {
  const loss = findPixelLoss(planned)
  if (loss === undefined) return TE.fromEither(scoresOf(network))
  const classes = network.io.parts('classes')
  const counted = new Array<number>(noClass + 1).fill(0)
  for (const part of classes) for (const one of part) counted[one]! += 1
  if (counted[noClass]! > 0) return TE.left(notFiniteFailure(`${counted[noClass]} of ${height * width} pixels have scores that are`))
  const counts = counted.slice(0, loss.classes)
  return TE.map(() => ({ pixels: counts }))(writeMask(out!, { height, width }, classes))
}

/**
 * The result goes to a file where the model scores pixels, and only then; a mask in several parts
 * needs room on the way.
 */
const checkOut = ({ out }: Options, { height, width }: Extent2, planned: Planned): Outcome<unknown> => {
  const { model, nodes } = planned.staged.graph
  const loss = nodes.at(-1)!
  const classes = loss.input[1]
  if (hasTarget(loss, 'values')) return TE.left(inputFailure(`${model} makes no scores of classes, which predict is for`))
  if (hasTarget(loss, 'pixel-labels') && out === undefined)
    return TE.left(inputFailure(`${model} scores every pixel: give --out, *.tif or *.png`))
  if (hasTarget(loss, 'pixel-labels') && classes > noClass)
    return TE.left(inputFailure(`${model} tells ${classes} classes apart, but a mask holds ${noClass} at most: ${noClass} is no class`))
  if (hasTarget(loss, 'labels') && out !== undefined)
    return TE.left(inputFailure(`${model} scores whole images, which are printed: leave out --out`))
  return out !== undefined && height * width > partBytes ? checkDiskSpace(`the mask ${out}`, height * width) : TE.right(undefined)
}

/**
 * A plan's decisions for a forward pass alone: what a training plan swaps out is for its backward
 * pass.
 */
const planOfForward = ({ swapSchedule: _, ...decisions }: PlanFile): PlanFile => decisions

/**
 * The model by its running statistics, as plans for evaluation know it; a training plan is of the
 * model as it is trained.
 */
const evaluatedModel = ({ model, plan }: RunnableSetup): Model =>
  plan === undefined || plan.objective === objectiveText(objective) ? frozenModel(model) : model

const setupFor = (setup: RunnableSetup, { height, width, channels }: Input): RunnableSetup => ({
  ...setup,
  ...(setup.plan && { plan: planOfForward(setup.plan) }),
  model: evaluatedModel(setup),
  input: [1, channels, height, width]
})

const checkMaskFile = (out: string | undefined): Outcome<void> =>
  out === undefined
    ? TE.right(undefined)
    : pipe(
        TE.fromEither(checkMaskName(out)),
        TE.chain(() => checkWritable(out))
      )

/** The image as the step takes it: by windows where it is in tiles, or else decoded whole. */
type Input = Pick<Image, 'pixels' | 'height' | 'width' | 'channels'>

/** The image, after a sentence on each thing in its file that is not read. */
const readImage = ({ image, onNotice }: Options, resolution: Resolution): Outcome<Input> =>
  pipe(
    openImage(image, resolution),
    tap(({ header }) => imageNotices([{ path: image, header }]).forEach((sentence) => onNotice?.(sentence))),
    TE.chain(({ header: { height, width }, channels, read }): Outcome<Input> =>
      read === undefined
        ? decodeImage(image, { height: 1, width: 1 }, undefined, resolution)
        : TE.right({ pixels: { windowBytes, readWindow: read }, height, width, channels })
    )
  )

const run = (options: Options, { device }: RunnableSetup, decoded: Input, planned: Planned): Outcome<PredictReport> =>
  withNetwork({ planned, device, weights: { path: options.weights }, seed: 0 }, (network) =>
    pipe(
      network.step({ learningRate: 0, step: 0, seed: 0 }, [{ ...decoded, ...centreCrop(decoded)(decoded) }]),
      (step) => withAbort(options.signal, network, step),
      TE.bindTo('milliseconds'),
      TE.bind('result', () => writeResult(options, decoded, planned, network)),
      TE.map(({ milliseconds, result }) => ({
        height: decoded.height,
        width: decoded.width,
        strategy: planned.staged.strategy,
        milliseconds,
        peakDeviceBytes: network.measuredPeakBytes(),
        predictedPeakBytes: planned.staged.predicted.peakDeviceBytes,
        ...('readWindow' in decoded.pixels ? { windowBytes: heldWindows * windowBytes } : {}),
        ...result
      }))
    )
  )

/**
 * Runs one forward pass over a whole image of any size, normalised by running statistics and
 * without dropout, in tiles as the plan says: the result is that of the image untiled, and the
 * device's memory stays within the budget. An image in tiles is read window by window as the device
 * needs it; any other of up to a gibibyte is in host memory, and so is the mask. A model that
 * scores pixels writes the class of each to `out`, *.tif (in tiles) or *.png, 8-bit grey; one that
 * scores images answers with `scores`. Fails with code `input`, `budget` or `interrupted`.
 */
export const predict: (options: PredictOptions) => Outcome<PredictReport> = libraryFunction('predict', predictOptions, (options) => {
  const { weights, image, out, onPlan } = options
  return pipe(
    checkPaths({
      reads: [...setupReads(options), ...namedPaths('--weights', weights), ...namedPaths('--image', image)],
      writes: namedPaths('--out', out)
    }),
    TE.chain(() => resolveSetupWithoutInput(options)),
    TE.chainEitherK(requireLocalDevice),
    TE.bindTo('asked'),
    TE.chainFirstTaskK(() => removeLeftovers),
    TE.chainFirst(() => checkMaskFile(out)),
    TE.bind('resolution', () => TE.fromEither(resolutionOf(options))),
    TE.bind('decoded', ({ resolution }) => readImage(options, resolution)),
    TE.let('setup', ({ asked, decoded }) => setupFor(asked, decoded)),
    TE.bind('built', ({ setup }) => TE.fromEither(buildSetupGraph(setup, objective, imageSource))),
    TE.chainFirst(({ built }) => measureFirst(built, pickWatching(options))),
    TE.bind('planned', ({ built }) => TE.fromEither(planNetwork(built))),
    TE.chainFirst(({ decoded, planned }) => checkOut(options, decoded, planned)),
    tap(({ planned }) => onPlan?.(planned)),
    TE.chain(({ setup, decoded, planned }) => run(options, setup, decoded, planned))
  )
})
