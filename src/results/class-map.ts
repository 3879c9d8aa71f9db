import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import type { ImageHeader } from '../images/image-header'
import { writeMask } from '../datasets/masks/masks'
import { palette } from './colours'
import { type ResultFormat, parseResultFormat } from './formats'
import { writeGeoJson } from './write-geojson'
import { listGeoTags, writeGeoFiles } from './geo-files'
import { rowsOfParts } from './pixel-rows'
import { writePyramid } from './tiff-pyramid'

/** The classes of an image's pixels, row by row, in one part or several. */
export interface ClassMapOptions {
  readonly header: ImageHeader
  readonly parts: readonly Uint8Array[]
  /** Takes what was read of them out of memory, where they lie in a file. */
  readonly leave: () => void
  readonly names: readonly string[]
  readonly hasPalette: boolean
  /** The class that polygons leave out. */
  readonly background?: number | undefined
  /** Told what of the place on the ground cannot be written. */
  readonly onNotice?: ((sentence: string) => void) | undefined
}

const writers: Readonly<Record<ResultFormat, (path: string, options: ClassMapOptions) => Outcome<void>>> = {
  png: (path, { header: { height, width }, parts, leave }) => writeMask(path, { height, width }, parts, leave),
  tif: (path, { header: { height, width, view, geoTransform }, parts, leave, hasPalette }) =>
    writePyramid(path, rowsOfParts({ height, width }, parts, leave), {
      ...(hasPalette && { palette }),
      ...(geoTransform && { geoTags: listGeoTags(geoTransform) }),
      micronsPerPixel: view.micronsPerPixel
    }),
  geojson: (path, { header: { height, width, levels }, parts, leave, names, background }) => {
    const [finest = { height, width }] = levels
    return writeGeoJson(path, rowsOfParts({ height, width }, parts, leave), {
      names,
      scale: [finest.width / width, finest.height / height],
      background
    })
  }
}

/**
 * Writes the classes as the name of the file asks, a mask or polygons; beside a mask whose place on
 * the ground is known a world file and a .prj.
 */
export const writeClasses = (path: string, options: ClassMapOptions): Outcome<void> => {
  const { geoTransform } = options.header
  return pipe(
    TE.fromEither(parseResultFormat(path)),
    TE.chain((format) => writers[format](path, options)),
    TE.chain(() => (geoTransform === undefined ? TE.right(undefined) : writeGeoFiles(path, geoTransform, options.onNotice)))
  )
}
