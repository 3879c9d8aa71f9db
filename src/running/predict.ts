import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Model } from '../../dsl'
import { type Objective, objectiveText } from '../../staging'
import { partBytes } from './step-io'
import { largest } from '../numbers/extremes'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { imageNotices } from '../images/image-notices'
import { type Extent2, type Picture, decodeImage, readHeader } from '../images/decode-image'
import { checkMaskName, writeMask } from '../images/masks'
import { frozenModel } from '../model/model-layers'
import { pixelLossOf } from '../model/pixel-loss'
import { type Planned, imageSource, planNetwork } from '../plans/plan-network'
import type { RunnableSetup } from '../plans/setup'
import { type Watching, measureFirst } from '../plans/measure'
import { type RunningNetwork, stoppable, withNetwork } from './running-network'
import { centred } from '../training/batches'
import { checkRoom, removeLeftovers } from '../images/mapped-image-file'
import { checkWritable } from '../files/atomic-write'

export interface PredictOptions extends Omit<RunnableSetup, 'input'>, Watching {
  /** Safetensors of the parameters and running statistics. */
  readonly weights: string
  /** One image file, of any size that the model takes. */
  readonly image: string
  /** Where classes of pixels go: *.tif or *.png, 8-bit grey. */
  readonly out?: string
  readonly onPlan?: (planned: Planned) => void
  /** One sentence that the user should see. */
  readonly onNotice?: (sentence: string) => void
}

export interface PredictReport {
  readonly height: number
  readonly width: number
  readonly strategy: string
  readonly milliseconds: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  /** Of a model that scores images: one a class, before softmax. */
  readonly scores?: readonly number[]
  /** The index of the highest score. */
  readonly class?: number
  /** Of a model that scores pixels: how many are of each class. */
  readonly pixels?: readonly number[]
}

const objective: Objective = { kind: 'evaluate' }

type Predicted = Pick<PredictReport, 'scores' | 'class' | 'pixels'>

const notFinite = (what: string): Failure => ({ code: 'loss', message: `${what} not finite: look at the weights, or compute in float32` })

const scoresOf = (network: RunningNetwork): E.Either<Failure, Predicted> => {
  const scores = Array.from(network.exchange.view('scores'))
  const wrong = scores.findIndex((score) => !Number.isFinite(score))
  return wrong === -1
    ? E.right({ scores, class: scores.indexOf(largest(scores)) })
    : E.left(notFinite(`the score of class ${wrong} is ${scores[wrong]}, which is`))
}

/** In place of a class, of a pixel that has a score that is not finite. */
const noClass = 255

/** Writes the classes of pixels, or answers with scores. */
const handOut = ({ out }: PredictOptions, { height, width }: Picture, planned: Planned, network: RunningNetwork): Outcome<Predicted> => {
  const loss = pixelLossOf(planned)
  if (loss === undefined) return TE.fromEither(scoresOf(network))
  const classes = network.exchange.parts('classes')
  const counted = new Array<number>(noClass + 1).fill(0)
  for (const part of classes) for (const one of part) counted[one]! += 1
  if (counted[noClass]! > 0) return TE.left(notFinite(`${counted[noClass]} of ${height * width} pixels have scores that are`))
  const counts = counted.slice(0, loss.classes)
  return TE.map(() => ({ pixels: counts }))(writeMask(out!, { height, width }, classes))
}

/** What a model makes goes to a file where it scores pixels, and only then; a mask in several parts needs room on the way. */
const checkOut = ({ out }: PredictOptions, { height, width }: Extent2, planned: Planned): Outcome<unknown> => {
  const { model, nodes } = planned.staged.graph
  const { op, input } = nodes.at(-1)!
  if (op === 'meanSquaredError') return TE.left(inputFailure(`${model} makes no scores of classes, which predict is for`))
  if (op === 'pixelCrossEntropy' && out === undefined)
    return TE.left(inputFailure(`${model} scores every pixel: give --out, *.tif or *.png`))
  if (op === 'pixelCrossEntropy' && input[1] > noClass)
    return TE.left(inputFailure(`${model} tells ${input[1]} classes apart, but a mask holds ${noClass} at most: ${noClass} is no class`))
  if (op === 'softmaxCrossEntropy' && out !== undefined)
    return TE.left(inputFailure(`${model} scores whole images, which are printed: leave out --out`))
  return out !== undefined && height * width > partBytes ? checkRoom(`the mask ${out}`, height * width) : TE.right(undefined)
}

/** What a training plan swaps out is for its backward pass; without one it stays where it is. */
const planOfForward = ({ plan }: PredictOptions): Pick<RunnableSetup, 'plan'> => {
  if (plan === undefined) return {}
  const { residence: _, ...decisions } = plan
  return { plan: decisions }
}

/** The model by its running statistics, as plans for evaluation know it; a training plan is of the model as it is trained. */
const evaluated = ({ model, plan }: PredictOptions): Model =>
  plan === undefined || plan.objective === objectiveText(objective) ? frozenModel(model) : model

/**
 * One forward pass over a whole image, normalised by running statistics and without dropout, in tiles as the plan says: the result is that
 * of the image untiled, and the device's memory stays within the budget. The mask is in host memory beside it, and so is an image up to `mostInMemory`.
 */
export const predict = (options: PredictOptions): Outcome<PredictReport> =>
  pipe(
    TE.Do,
    TE.chainFirstTaskK(() => removeLeftovers),
    TE.chainFirst(() =>
      options.out === undefined
        ? TE.right(undefined)
        : pipe(
            TE.fromEither(checkMaskName(options.out)),
            TE.chain(() => checkWritable(options.out!))
          )
    ),
    TE.bind('header', () => readHeader(options.image)),
    TE.chainFirstIOK(
      ({ header }) =>
        () =>
          imageNotices([{ path: options.image, header }]).forEach((sentence) => options.onNotice?.(sentence))
    ),
    TE.bind('picture', () => decodeImage(options.image, { height: 1, width: 1 })),
    TE.let('setup', ({ picture: { height, width, channels } }): RunnableSetup & Watching => {
      return { ...options, ...planOfForward(options), model: evaluated(options), input: [1, channels, height, width] }
    }),
    TE.chainFirst(({ setup }) => measureFirst(setup, objective, imageSource)),
    TE.bind('planned', ({ setup }) => TE.fromEither(planNetwork(setup, objective, imageSource))),
    TE.chainFirst(({ picture, planned }) => checkOut(options, picture, planned)),
    TE.chainFirstIOK(
      ({ planned }) =>
        () =>
          options.onPlan?.(planned)
    ),
    TE.chain(({ picture, planned }) =>
      withNetwork({ planned, device: options.device, weights: options.weights, seed: 0 }, (network) =>
        pipe(
          stoppable(
            options.signal,
            network,
            network.step({ learningRate: 0, step: 0, seed: 0 }, [{ ...picture, ...centred(picture)(picture) }])
          ),
          TE.bindTo('milliseconds'),
          TE.bind('predicted', () => handOut(options, picture, planned, network)),
          TE.map(({ milliseconds, predicted }) => ({
            height: picture.height,
            width: picture.width,
            strategy: planned.staged.plan.strategy,
            milliseconds,
            peakDeviceBytes: network.measuredPeakBytes(),
            predictedPeakBytes: planned.staged.plan.predicted.peakDeviceBytes,
            ...predicted
          }))
        )
      )
    )
  )
