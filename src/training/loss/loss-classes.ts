import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Graph, type Node, countLabels, hasTarget } from '../../../staging'
import { type Failure, inputFailure } from '../../failure'
import { type Dataset, labelKind, listMasks } from '../../datasets/dataset'
import { type LabelKind, labelNames } from '../../datasets/labels'
import { mostChannels } from '../../images/samples'
import { checkScoreExtent } from '../../running/pixel-loss'
import type { Split } from '../validation/validation-split'

/** What a model must end in for labels of a kind, and whether it does. */
const requiredEnd = (kind: LabelKind | undefined, loss: Node, { classes }: Dataset): readonly [wanted: string, isThere: boolean] => {
  const [, channels, height, width] = loss.input
  switch (kind) {
    case 'mask':
      return ['scores of each class for every pixel, which masks train; end it in [B, classes, H, W]', hasTarget(loss, 'pixel-labels')]
    case 'class-set':
    case 'values': {
      const [one, name] = kind === 'values' ? ['value', 'mean-squared-error'] : ['score', 'binary-cross-entropy']
      const isOfNumbers = hasTarget(loss, 'values')
      // A second loss beside such a one would be refused.
      const given = isOfNumbers ? '' : `, and give --loss ${name}`
      return [
        `${classes} ${one}${classes === 1 ? '' : 's'} an image and a loss of numbers, which ${labelNames[kind]} train; end it in [B, ${classes}]${given}`,
        isOfNumbers && channels === classes && height * width === 1
      ]
    }
    default:
      return [
        'scores of one class an image, which labelled images train; end it in [B, classes]',
        hasTarget(loss, 'labels') && height * width === 1
      ]
  }
}

/**
 * Names do nothing for masks of pixels but to be kept in the weights, where they must be all. Of
 * labels and polygons they may be those of the first classes.
 */
const checkNames =
  (names: readonly string[] | undefined, kind: LabelKind | undefined, training: Dataset, channels: number) =>
  (classes: number): E.Either<Failure, number> => {
    if (names === undefined || kind === 'class-set' || kind === 'values') return E.right(classes)
    const mayBeFewer = kind !== 'mask' || listMasks(training).some(({ annotation }) => annotation !== undefined)
    // One channel scores two classes, and may have one name or two.
    return (mayBeFewer && names.length < classes) || [channels, classes].includes(names.length)
      ? E.right(classes)
      : E.left(inputFailure(`--class-names names ${names.length} classes, but the model has ${classes}`))
  }

/**
 * Classes that the loss tells apart, or a sentence where the model cannot be trained on such labels
 * of images, or by such names of classes.
 */
export const countLossClasses = (graph: Graph, { training }: Split, names: readonly string[] | undefined): E.Either<Failure, number> => {
  const { nodes, input, model } = graph
  const loss = nodes.at(-1)!
  const kind = labelKind(training)
  if (hasTarget(loss, 'values') && kind !== 'class-set' && kind !== 'values')
    return E.left(
      inputFailure(
        kind === 'mask'
          ? `the loss of ${model} compares numbers, and masks hold classes: leave that loss out`
          : `the loss of ${model} compares numbers, and the images have a class each: leave that loss out, or give numbers, in columns value or class:NAME (docs/labels.md)`
      )
    )
  const [wanted, isThere] = requiredEnd(kind, loss, training)
  if (!isThere) return E.left(inputFailure(`${model} does not end in ${wanted}`))
  return input[1] <= mostChannels
    ? pipe(
        checkScoreExtent(graph),
        E.map(() => countLabels(loss)),
        E.chain(checkNames(names, kind, training, loss.input[1]))
      )
    : E.left(inputFailure(`images are read with ${mostChannels} channels at most but the input of ${model} has ${input[1]}`))
}
