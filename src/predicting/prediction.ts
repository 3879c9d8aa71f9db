import * as E from 'fp-ts/Either'
import { type Graph, hasTarget, lossFunctions } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import type { Extent2 } from '../images/resolution'
import { largest } from '../numbers/extremes'
import type { Planned } from '../plans/plan-network'
import { findPixelLoss } from '../running/pixel-loss'
import type { RunningNetwork } from '../running/running-network'

/** What a model says of an image: its scores, or how many of its pixels are of each class. */
export type Prediction =
  | {
      /** One score a class, before softmax. */
      readonly scores: readonly number[]
      /** The index of the highest score. */
      readonly class: number
    }
  | { readonly pixels: readonly number[] }

/** The value in a mask of a pixel that has a score that is not finite. */
export const noClass = 255

/** What a model predicts: a class for each image, or for each of its pixels. */
export interface PredictedKind {
  readonly of: 'image' | 'pixels'
  readonly classes: number
  /** Whether the scores become probabilities by softmax; by a binary loss each by its sigmoid. */
  readonly softmax: boolean
}

/** Fails for a model that makes no scores of classes, or more than a mask can hold. */
export const predictedKind = ({ model, nodes }: Graph): E.Either<Failure, PredictedKind> => {
  const loss = nodes.at(-1)!
  const classes = loss.input[1]
  if (hasTarget(loss, 'values')) return E.left(inputFailure(`${model} makes no scores of classes, which predict is for`))
  if (hasTarget(loss, 'pixel-labels') && classes > noClass)
    return E.left(inputFailure(`${model} tells ${classes} classes apart, but a mask holds ${noClass} at most: ${noClass} is no class`))
  const softmax = !('loss' in loss.args) || lossFunctions(loss.args.loss, classes).softmax
  return E.right({ of: hasTarget(loss, 'pixel-labels') ? 'pixels' : 'image', classes, softmax })
}

/** Fails for scores that are infinite, or no numbers. */
export const notFinite = (what: string): E.Either<Failure, never> =>
  E.left({ code: 'loss', message: `${what} not finite: look at the weights, or compute in float32` })

const scoresOf = (network: RunningNetwork): E.Either<Failure, Prediction> => {
  const scores = Array.from(network.io.view('scores'))
  const wrong = scores.findIndex((score) => !Number.isFinite(score))
  return wrong === -1
    ? E.right({ scores, class: scores.indexOf(largest(scores)) })
    : notFinite(`the score of class ${wrong} is ${scores[wrong]}, which is`)
}

/** Bytes, which are in memory meanwhile. */
const countedAtOnce = 2 ** 24

/** What a step has left of the image, once it is known to be finite. */
export const predictionOf = ({ height, width }: Extent2, planned: Planned, network: RunningNetwork): E.Either<Failure, Prediction> => {
  const loss = findPixelLoss(planned)
  if (loss === undefined) return scoresOf(network)
  const counted = new Array<number>(noClass + 1).fill(0)
  for (const part of network.io.parts('classes'))
    for (let from = 0; from < part.length; from += countedAtOnce) {
      const to = Math.min(part.length, from + countedAtOnce)
      for (let at = from; at < to; at += 1) counted[part[at]!]! += 1
      network.io.leaveToFile()
    }
  return counted[noClass]! > 0
    ? notFinite(`${counted[noClass]} of ${height * width} pixels have scores that are`)
    : E.right({ pixels: counted.slice(0, loss.classes) })
}
