import * as T from 'fp-ts/Task'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, clause, collectFailures } from '../failure'
import { isGeoJsonName } from '../datasets/annotations/annotations'
import { type SeenImage, imageNotices } from '../images/image-notices'
import { decodeImage, computeUpscaledExtent } from '../images/decode-image'
import { readHeader } from '../images/image-header'
import { type ImageSource, openImage } from '../images/image-source'
import { isMask } from '../datasets/labels'
import type { ReadWindow } from '../images/read-window'
import type { Extent2 } from '../images/resolution'
import { type Reading, pixelBytes } from '../images/samples'
import { forEachTileWindow } from '../images/tile-windows'
import { inParallel } from '../tasks/in-parallel'
import { tap } from '../tasks/tap'
import type { TrainingRequest } from './request'
import type { Split } from './validation/validation-split'

/** Images are decoded whole: more at once would only take more memory. */
const decodedAtOnce = 2

const checkHeader = (path: string, least: Extent2, reading: Reading): Outcome<SeenImage> =>
  pipe(
    readHeader(path, reading),
    TE.chainFirstEitherK((header) => computeUpscaledExtent(`the image ${path}`, header, least)),
    TE.map((header) => ({ path, header }))
  )

const readTiles = ({ header: { height, width, view, samples } }: ImageSource, read: ReadWindow): Outcome<unknown> =>
  forEachTileWindow({ height, width, tile: view.level.tile!, pixelBytes: pixelBytes(samples), read }, () => undefined)

const readWhole = (path: string, reading: Reading): Outcome<unknown> =>
  pipe(
    openImage(path, reading),
    TE.chain((source) =>
      source.read === undefined ? decodeImage(path, { height: 1, width: 1 }, undefined, reading) : readTiles(source, source.read)
    )
  )

/**
 * Opens each image of the data and looks at its header, which it answers with, and decodes it whole
 * where that is asked for, before anything is planned. What is damaged is a failure, or told where
 * it may be skipped.
 */
export const checkImages = (
  { training, validation }: Split,
  least: Extent2,
  { options: { checkData, skipBad, onCheck, signal }, resolution, notify }: TrainingRequest
): Outcome<readonly SeenImage[]> => {
  const examples = [...training.examples, ...(validation?.examples ?? [])]
  const paths = [...new Set(examples.map(({ path }) => path))]
  const withGeoJson = new Set(examples.flatMap(({ path, label }) => (isMask(label) && isGeoJsonName(label.path) ? [path] : [])))
  const each = <A>(check: (path: string) => Outcome<A>, lanes?: number): Outcome<readonly A[]> =>
    pipe(
      inParallel(paths, (path) => check(path)(), signal, lanes),
      TE.chainEitherK(collectFailures)
    )
  let count = 0
  const readCounted = (path: string): Outcome<unknown> =>
    pipe(
      readWhole(path, resolution),
      T.chainFirstIOK(() => () => onCheck?.((count += 1), paths.length))
    )
  const goOn = (failure: Failure): Outcome<readonly unknown[]> => {
    if (!skipBad || failure.code !== 'input') return TE.left(failure)
    notify(`${clause(failure)}; crops that cannot be read are drawn anew, as --skip-bad says`)
    return TE.right([])
  }
  return pipe(
    each((path) => checkHeader(path, least, resolution)),
    tap((seen) => imageNotices(seen.map((image) => ({ ...image, hasGeoJson: withGeoJson.has(image.path) }))).forEach(notify)),
    TE.chainFirst(() => (checkData ? TE.orElse(goOn)(each(readCounted, decodedAtOnce)) : TE.right<Failure, readonly unknown[]>([])))
  )
}
