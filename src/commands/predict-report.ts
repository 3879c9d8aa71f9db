import type { ImagePrediction } from '../option-tables/command-options'
import type { HeatMapReport } from '../predicting/write-heat-map'

/** What a run over images took, and of a single one what came of it. */
export interface PredictReport extends Partial<ImagePrediction> {
  /** The strategy of the last plan. */
  readonly strategy: string
  /** Milliseconds of all forward passes. */
  readonly milliseconds: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  /** Host memory of the windows that are read of an image in tiles. */
  readonly windowBytes?: number
  /** Tiles of one colour that followed such a tile, and so were not computed again. */
  readonly repeatedTiles?: number
  /** With `data`: each image that was predicted, in the order of the list. */
  readonly images?: readonly ImagePrediction[]
  /** With `heatmap`: what was written to `out`. */
  readonly heatMap?: HeatMapReport
  /** With `data`: images that were left out, and why. */
  readonly skipped?: readonly { readonly path: string; readonly message: string }[]
}
