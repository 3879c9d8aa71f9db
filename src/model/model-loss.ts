import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import {
  classLoss,
  getLossFamily,
  overlapLoss,
  parseLoss,
  pixelLoss,
  showShape,
  valueLoss,
  type AnyLayer,
  type LossFamily,
  type Model
} from '../../dsl'
import { appendLoss, flatLayers, isDirective, trace } from '../../dsl/internal'
import { type Failure, inputFailure } from '../failure'
import { isLossLayer } from './model-layers'

/** The layer that computes a formula of such families from rows [B, N] or from pixels. */
const makeLossLayer = (loss: string, families: readonly LossFamily[], ofPixels: boolean): AnyLayer =>
  families.includes('overlap')
    ? overlapLoss({ loss })
    : families.includes('values') || (!ofPixels && families.includes('binary'))
      ? valueLoss({ loss })
      : ofPixels
        ? pixelLoss({ loss })
        : classLoss({ loss })

/** The last layer that computes; directives are none. */
const lastLayer = ({ layers }: Model): AnyLayer | undefined =>
  flatLayers(layers)
    .filter(({ op }) => !isDirective(op))
    .at(-1)

/** Tells whether a model has a loss of its own. */
export const endsInLoss = (model: Model): boolean => {
  const last = lastLayer(model)
  return last !== undefined && isLossLayer(last)
}

/**
 * The model with the loss of a formula at its end: of rows' classes, of pixels' classes, or of
 * values, as the formula and what the model makes of such an input say.
 */
export const withLoss =
  (formula: string, input: readonly number[]) =>
  (model: Model): E.Either<Failure, Model> =>
    pipe(
      parseLoss(formula),
      E.map((terms) => terms.map(getLossFamily)),
      E.mapLeft((fault) => `--loss: ${fault}`),
      E.chain((families) => {
        if (endsInLoss(model))
          return E.left(`--loss: ${model.name} ends in the loss ${lastLayer(model)?.op} of its own; leave one of them out`)
        const made = trace(model.layers, input)
        // Layers that do not fit are refused when the graph is built.
        if (E.isLeft(made)) return E.right(model)
        const shape = made.right.at(-1)?.output ?? input
        if (families.includes('overlap') && shape.length !== 4)
          return E.left(
            `--loss ${formula}: dice and tversky compare areas of images, and ${model.name} ends in ${showShape(shape)}: leave them out, or take a model of pixels such as unet`
          )
        const layers = appendLoss(model.layers, makeLossLayer(formula, families, shape.length === 4))
        return pipe(
          trace(layers, input),
          E.bimap(
            (sentence) => `${model.name} with --loss ${formula}: ${sentence}`,
            () => ({ ...model, layers })
          )
        )
      }),
      E.mapLeft(inputFailure)
    )
