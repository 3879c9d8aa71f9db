import * as E from 'fp-ts/Either'
import { type Graph, hasTarget } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import type { Extent2 } from '../images/resolution'
import { maximum } from '../numbers/extremes'
import type { Planned } from '../plans/plan-network'
import { noClass } from '../results/colours'
import { findPixelLoss } from '../running/pixel-loss'
import { type ScoreKind, getLossFormula, getScoreKind, scoreKindOfFormula } from '../running/score-kind'
import type { Outputs } from './outputs'

/** What a model says of an image: its scores, or how many of its pixels are of each class. */
export type PredictionResult =
  | {
      /** One score a class, before softmax. */
      readonly scores: readonly number[]
      /** The index of the highest score. */
      readonly class: number
    }
  | {
      /** One score a class, before its sigmoid. */
      readonly scores: readonly number[]
      /** Each class whose probability is over 1/2. */
      readonly classes: readonly number[]
    }
  | { readonly values: readonly number[] }
  | { readonly pixels: readonly number[] }

/** What a model predicts: of each image, or of each of its pixels. */
export interface PredictedKind {
  readonly of: 'image' | 'pixels'
  /** Classes, or values of an image. */
  readonly classes: number
  readonly scores: ScoreKind
}

/** Classes that so many scores of a pixel tell apart: a single one tells class 1 from class 0. */
export const pixelClasses = (channels: number): number => Math.max(2, channels)

/**
 * What a model predicts; `trained` is the formula of the loss that its weights were trained by,
 * where the model has none of its own. Fails for one that makes values of pixels, or scores of more
 * classes than a mask can hold.
 */
export const predictedKind = ({ model, nodes }: Graph, trained: string | undefined): E.Either<Failure, PredictedKind> => {
  const loss = nodes.at(-1)!
  const [, classes, height, width] = loss.input
  const isOfPixels = hasTarget(loss, 'pixel-labels')
  if (hasTarget(loss, 'values') && height * width > 1)
    return E.left(inputFailure(`${model} makes values of pixels, which predict is not for: it is for classes, and for values of images`))
  if (isOfPixels && classes > noClass)
    return E.left(
      inputFailure(
        `${model} tells ${classes} classes apart, but a mask holds ${noClass} at most: ${noClass} is no class; of a built-in model give --classes, as it was trained`
      )
    )
  const scores = trained === undefined || getLossFormula(loss) !== undefined ? getScoreKind(loss) : scoreKindOfFormula(trained, classes)
  if (isOfPixels && scores === 'value')
    return E.left(inputFailure(`the loss ${trained} is of values, and ${model} makes a score a class for each pixel: give another --loss`))
  return E.right(isOfPixels ? { of: 'pixels', classes: pixelClasses(classes), scores } : { of: 'image', classes, scores })
}

/** Fails for scores that are infinite, or no numbers. */
export const failNotFinite = (what: string): E.Either<Failure, never> =>
  E.left({ code: 'loss', message: `${what} not finite: look at the weights, or compute in float32` })

const readScores = ({ io }: Outputs, kind: ScoreKind): E.Either<Failure, PredictionResult> => {
  const scores = Array.from(io.view('scores'))
  const wrong = scores.findIndex((score) => !Number.isFinite(score))
  if (wrong !== -1) return failNotFinite(`the ${kind === 'value' ? 'value' : 'score of class'} ${wrong} is ${scores[wrong]}, which is`)
  if (kind === 'value') return E.right({ values: scores })
  return E.right(
    kind === 'softmax'
      ? { scores, class: scores.indexOf(maximum(scores)) }
      : { scores, classes: scores.flatMap((score, index) => (score > 0 ? [index] : [])) }
  )
}

/** Bytes, which are in memory meanwhile. */
const countedAtOnce = 2 ** 24

/** What was predicted of an image, once it is known to be finite. */
export const makePrediction =
  (kind: ScoreKind) =>
  ({ height, width }: Extent2, planned: Planned, outputs: Outputs): E.Either<Failure, PredictionResult> => {
    const loss = findPixelLoss(planned)
    if (loss === undefined) return readScores(outputs, kind)
    const counted = new Array<number>(noClass + 1).fill(0)
    for (const part of outputs.io.parts('classes'))
      for (let from = 0; from < part.length; from += countedAtOnce) {
        const to = Math.min(part.length, from + countedAtOnce)
        for (let at = from; at < to; at += 1) counted[part[at]!]! += 1
        outputs.io.leaveToFile()
      }
    return counted[noClass]! > 0
      ? failNotFinite(`${counted[noClass]} of ${height * width} pixels have scores that are`)
      : E.right({ pixels: counted.slice(0, pixelClasses(loss.classes)) })
  }
