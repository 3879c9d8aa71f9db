import type { ImagePrediction } from '../option-tables/predict-options'
import type { UsedByImages } from './gather-predictions'
import type { HeatMapReport } from '../predicting/write-heat-map'

/** What a run over images took, of all ranks, and of a single image what came of it. */
export interface PredictReport extends Omit<Partial<ImagePrediction>, 'milliseconds'>, UsedByImages {
  /** The names of the classes, or values, where the options or the weights say them. */
  readonly names?: readonly string[]
  /** With `data`: each image that was predicted, in the order of the list. */
  readonly images?: readonly ImagePrediction[]
  /** With `heatmap`: what was written to `out`. */
  readonly heatMap?: HeatMapReport
  /** With `data`: images that were left out, and why, in the order of the list. */
  readonly skipped?: readonly { readonly path: string; readonly message: string }[]
}
