import * as dsl from '../../dsl'
import { trace } from '../../dsl/internal'
import { hasTarget, getIgnoredLabel, countLabels, type Node } from '../../staging'
import { must } from '../must'
import type { Draw, RandomNet } from './random-nets'

const one = (draw: Draw, choices: readonly string[]): string => choices[draw(0, choices.length - 1)]!

const softmaxLosses = ['cross-entropy', 'cross-entropy:smoothing=0.1', 'focal', 'focal:gamma=1.5'] as const
const binaryLosses = [
  'binary-cross-entropy',
  'binary-cross-entropy:smoothing=0.2',
  'binary-focal',
  'binary-focal:gamma=1.5,alpha=-1'
] as const
const overlaps = ['dice', 'dice:smooth=0.5', 'tversky', 'tversky:alpha=0.6,beta=0.2,smooth=2'] as const
const valueLosses = ['mean-squared-error', 'mean-absolute-error', 'huber', 'huber:delta=0.3'] as const

/** One loss of a kind, or the sum of two, with factors. */
const sumOf = (draw: Draw, losses: readonly string[]): string => {
  const first = one(draw, losses)
  return draw(0, 1) === 0 ? first : `${first}+0.${draw(1, 9)}*${one(draw, losses)}`
}

const weightsOf = (draw: Draw, classes: number): { readonly classWeights?: readonly number[] } =>
  draw(0, 1) === 0 ? {} : { classWeights: Array.from({ length: classes }, () => draw(1, 8) / 4) }

/** A loss of what a network makes, [B, N] or [B, C, H, W]. */
const randomLoss = (draw: Draw, [, channels = 1, height]: readonly number[]): dsl.AnyLayer => {
  const kind = draw(0, 3)
  if (kind === 0) return dsl.valueLoss({ loss: sumOf(draw, draw(0, 2) === 0 ? binaryLosses : valueLosses) })
  const ofPixels = channels === 1 || draw(0, 1) === 0 ? binaryLosses : softmaxLosses
  if (height === undefined)
    return channels === 1
      ? dsl.valueLoss({ loss: sumOf(draw, valueLosses) })
      : dsl.classLoss({ loss: sumOf(draw, softmaxLosses), ...weightsOf(draw, channels) })
  const options = { ...weightsOf(draw, channels), ...(draw(0, 1) === 0 ? {} : { ignore: 1 }) }
  if (kind === 1) return dsl.pixelLoss({ loss: sumOf(draw, ofPixels), ...options })
  const overlap = one(draw, overlaps)
  return dsl.overlapLoss({ loss: draw(0, 1) === 0 ? overlap : `${overlap}+0.5*${one(draw, ofPixels)}`, ...options })
}

/** The net with a random loss in place of its own. */
export const withRandomLoss = (draw: Draw, { model, input }: RandomNet): RandomNet => {
  const layers = model.layers.slice(0, -1)
  const shape = must(trace(layers, input)).at(-1)!.output
  return { model: { ...model, layers: [...layers, randomLoss(draw, shape)] }, input }
}

/** A target of a loss: classes, or values, of which some do not count. */
export const randomTarget = (draw: Draw, loss: Node): readonly number[] => {
  const [rows, channels, height, width] = loss.input
  const ignored = getIgnoredLabel(loss)
  const label = (): number => draw(0, countLabels(loss) - 1)
  if (hasTarget(loss, 'labels')) return Array.from({ length: rows }, label)
  if (hasTarget(loss, 'pixel-labels'))
    return Array.from({ length: rows * height * width }, () => (ignored !== undefined && draw(0, 9) === 0 ? ignored : label()))
  const value = (): number => (draw(0, 9) === 0 && loss.op === 'valueLoss' ? NaN : draw(0, 1000) / 1000)
  return Array.from({ length: rows * channels * height * width }, value)
}
