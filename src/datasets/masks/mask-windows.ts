import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { ImageWindow } from '../../../native'
import { type Failure, type Outcome, inputFailure, errorReason } from '../../failure'
import { decodeRemedy, fileReason } from '../../images/image-header'
import { tiledOptions } from '../../images/sharp-options'
import { loadSharp } from '../../images/load-sharp'
import { decoderPixels } from '../../images/raw-pixels'
import type { Extent2 } from '../../images/resolution'
import { findDecoderFault } from '../../images/tiff/colours'
import { type TiffDirectory, readTiffDirectories } from '../../images/tiff/directories'
import { forEachTileWindow } from '../../images/tile-windows'

/** A mask that is read window by window: a TIFF of 8-bit grey, or of one bit, in tiles. */
export interface TiledMask extends Extent2 {
  readonly tile: Extent2
  /** The stored values of a window, row by row. */
  readonly read: (window: ImageWindow) => Outcome<Uint8Array>
}

const blackIsZero = 1

const isRead = ({ bits: [bits = 1] }: TiffDirectory): boolean => bits === 8 || bits === 1

const findFault = (directory: TiffDirectory, channels: number, depth: string): string | undefined => {
  const { photometric, tile, isPlanar } = directory
  const fault = findDecoderFault(directory)
  if (fault !== undefined) {
    // A mask of one channel has it where it was written by the profile of an image of bands.
    const interleaved = isPlanar ? ', and interleaved by pixel, as GDAL and rasterio call it' : ''
    return `${fault}: store it with deflate or LZW${interleaved}`
  }
  if (photometric !== blackIsZero || channels !== 1 || depth !== 'uchar' || !isRead(directory))
    return 'is a TIFF with colours, a palette or other than 1 or 8 bits: store the class of each pixel as 8-bit grey, black zero'
  return tile === undefined ? 'is a TIFF in strips: store it in tiles, or as PNG' : undefined
}

const maskFailure =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`the mask ${path} cannot be read: ${errorReason(thrown)}`)

/** A mask whose pixels cannot be decoded. */
export const damagedMask =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(
      `the mask ${path} cannot be read: ${fileReason(path, thrown)}; ${decodeRemedy(thrown)}, or leave its row out, as --skip-bad does`
    )

/** Nothing where the file is no TIFF. */
export const openTiledMask = (path: string): Outcome<TiledMask | undefined> =>
  pipe(
    TE.tryCatch(() => readTiffDirectories(path), maskFailure(path)),
    TE.chain(([directory]): Outcome<TiledMask | undefined> => {
      if (directory === undefined) return TE.right(undefined)
      const open = () => loadSharp()(path, { ...tiledOptions, ignoreIcc: true })
      return pipe(
        TE.tryCatch(() => open().metadata(), maskFailure(path)),
        TE.chainEitherK(({ channels, depth, height, width }) => {
          const fault = findFault(directory, channels, depth)
          if (fault !== undefined) return E.left(inputFailure(`the mask ${path} ${fault}`))
          const read = (window: ImageWindow): Outcome<Uint8Array> =>
            TE.tryCatch(async () => {
              const { data } = await decoderPixels(open().extract(window).toColourspace('b-w').extractChannel(0))
              // The decoder spreads one bit over 0 .. 255, where 255 would not count.
              if (directory.bits[0] === 1) for (let at = 0; at < data.length; at += 1) data[at]! &= 1
              return data
            }, damagedMask(path))
          return E.right({ height, width, tile: directory.tile!, read })
        })
      )
    })
  )

/** Counts how often each value from 0 to 255 is in it, by windows of whole tiles. */
export const countValues = (mask: TiledMask): Outcome<readonly number[]> => {
  const counts = new Array<number>(256).fill(0)
  return pipe(
    forEachTileWindow({ ...mask, pixelBytes: 1 }, (values) => {
      for (const value of values) counts[value]! += 1
    }),
    TE.map(() => counts)
  )
}
