import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type PredictOptions, predictOptions } from '../option-tables/predict-options'
import { libraryFunction } from '../options/decode-options'
import { type Outcome, inputFailure } from '../failure'
import { checkAddonToRun } from '../plans/check-addon'
import { joinRanks } from '../ranks/join'
import { claimGpu } from '../ranks/own-gpu'
import { failOnAllRanks } from '../ranks/ranks'
import { predictHeatMap } from './predict-heat-map'
import { predictImages } from './predict-images'
import { withHubWeights } from '../weights/hub-weights'
import type { PredictReport } from './predict-report'

/**
 * Runs one forward pass over each image, of any size, normalised by running statistics and without
 * dropout, in tiles as the plan says: the result is that of the image untiled, and the device's
 * memory stays within the budget. Images of one extent have one plan. An image in tiles is read
 * window by window as the device needs it; any other of up to a gibibyte is in host memory. A large
 * mask lies in a file meanwhile. Images whose sides a network that scores pixels does not keep are
 * predicted by windows, as a validation does. A model that scores pixels writes the class of each
 * to `out`, *.tif (in tiles) or *.png, 8-bit grey, or with `data` a file each into that folder; one
 * that scores images answers with `scores`, and with `data` writes a CSV. Where a launcher of MPI
 * has started several processes, they share the images, and each answers for all. Fails with code
 * `input`, `budget`, `loss` (not finite) or `interrupted`.
 */
export const predict: (options: PredictOptions) => Outcome<PredictReport> = libraryFunction('predict', predictOptions, (options) =>
  pipe(
    checkAddonToRun(options),
    TE.chainEitherK(joinRanks),
    TE.chain((ranks) => {
      if (ranks !== undefined && options.heatmap !== undefined)
        return failOnAllRanks(ranks, inputFailure('--heatmap is of one image, which ranks cannot share: run it without a launcher of MPI'))
      const claimed = ranks !== undefined && options.device === 'cuda' ? claimGpu(true) : E.right(undefined)
      if (E.isLeft(claimed)) return TE.fromEither(claimed)
      return withHubWeights(options, (local) =>
        local.heatmap === undefined ? predictImages(local, ranks) : predictHeatMap(local.heatmap, local)
      )
    })
  )
)
