import * as E from 'fp-ts/Either'
import { type Graph, hasTarget, getIgnoredLabel, countLabels } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import { extentText } from '../images/resolution'
import type { Planned } from '../plans/plan-network'

/** A loss over pixels, with labels [B, H, W]. */
export interface PixelLoss {
  readonly classes: number
  /** The label of pixels that do not count. */
  readonly ignored: number | undefined
}

/** Finds the loss over pixels that a network ends in; undefined where it ends in another one. */
export const findPixelLoss = ({ staged }: Pick<Planned, 'staged'>): PixelLoss | undefined => {
  const loss = staged.graph.nodes.at(-1)
  if (loss === undefined || !hasTarget(loss, 'pixel-labels')) return undefined
  return { classes: countLabels(loss), ignored: getIgnoredLabel(loss) }
}

/** Fails where a network of masks has not a score of each pixel. */
export const checkScoreExtent = ({ model, input, nodes }: Graph): E.Either<Failure, void> => {
  const loss = nodes.at(-1)!
  const [[, , height, width], [, , high, wide]] = [input, loss.input]
  return !hasTarget(loss, 'pixel-labels') || (high === height && wide === width)
    ? E.right(undefined)
    : E.left(
        inputFailure(
          `${model} makes ${extentText({ height: high, width: wide })} scores of ${extentText({ height, width })} pixels, and masks have a class for each pixel: end it in a resize to its input's size (docs/layers.md), or give sides that it keeps`
        )
      )
}
