import { meanOfKnown } from './mean-of-known'
import type { Quality } from './quality'

/** Predictions, row-major [images, values], and what they should be: NaN does not count. */
export interface PredictedValues {
  readonly predicted: Float64Array
  readonly targets: ArrayLike<number>
  /** Values of an image. */
  readonly count: number
}

/**
 * The mean absolute error of each value, and the coefficient of determination, R² = 1 - Σ(target -
 * prediction)² / Σ(target - mean of targets)², which is null where all targets are one; and their
 * means over the values of an image.
 */
export const measureValues = ({ predicted, targets, count }: PredictedValues): Omit<Quality, 'loss'> => {
  const measures = Array.from({ length: count }, (_, value) => {
    const pairs = Array.from({ length: predicted.length / count }, (_, image): readonly [target: number, prediction: number] => [
      targets[image * count + value]!,
      predicted[image * count + value]!
    ]).filter(([target]) => !Number.isNaN(target))
    const sumOf = (of: (target: number, prediction: number) => number): number => pairs.reduce((sum, pair) => sum + of(...pair), 0)
    const mean = sumOf((target) => target) / pairs.length
    // Of targets that are all one the mean may differ from them by a rounding.
    const isOne = pairs.every(([target]) => target === pairs[0]![0])
    const spread = isOne ? 0 : sumOf((target) => (target - mean) ** 2)
    return {
      mae: pairs.length === 0 ? null : sumOf((target, prediction) => Math.abs(target - prediction)) / pairs.length,
      r2: spread > 0 ? 1 - sumOf((target, prediction) => (target - prediction) ** 2) / spread : null
    }
  })
  const [valueMae, valueR2] = [measures.map(({ mae }) => mae), measures.map(({ r2 }) => r2)]
  return { mae: meanOfKnown(valueMae), valueMae, r2: meanOfKnown(valueR2), valueR2 }
}
