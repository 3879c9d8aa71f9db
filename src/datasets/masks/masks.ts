import { readFile, stat, writeFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, errorReason } from '../../failure'
import { type AnnotationRules, ignoredLabel } from '../class-list'
import { type TiledMask, countValues, damagedMask, openTiledMask } from './mask-windows'
import type { Extent2 } from '../../images/resolution'
import { loadSharp } from '../../images/load-sharp'
import { greyHeader, withDiskSpace } from '../../images/mapped-image-file'
import { sharpOptions } from '../../images/sharp-options'
import { replaceFileAtomic, writeFailure } from '../../files/atomic-write'

/** The class of each pixel, row by row; 255 does not count. */
export interface ClassMap {
  readonly pixels: Uint8Array
  readonly height: number
  readonly width: number
}

/**
 * A PNG file, or a TIFF in tiles, of an image's size that holds the classes of its pixels; or
 * polygons over it.
 */
export interface Mask extends Extent2 {
  readonly path: string
  /** What the names of polygons mean; absent of masks that are images. */
  readonly annotation?: AnnotationRules
  /** Number of pixels that have each value from 0 to 255. */
  readonly counts: readonly number[]
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/**
 * Offsets in the header, of 13 bytes after a length and the name IHDR (PNG specification, 11.2.2).
 */
const header = { start: 12, end: 29, bitDepth: 24, colourType: 25 } as const
const colourTypes = { grey: 0, palette: 3 } as const

interface Samples {
  readonly png: Buffer
  readonly bitDepth: number
}

/**
 * All but the header: what holds samples. The rest says how they should look (PLTE, tRNS, iCCP,
 * gAMA), and decoders would heed it.
 */
const isSamples = (chunk: string): boolean => chunk === 'IDAT' || chunk === 'IEND'

/** The file as a plain grey image: the stored values, or a palette's indices, are what counts. */
const toGreyPng = (png: Buffer): E.Either<string, Samples> => {
  if (png.length < header.end + 4 || !png.subarray(0, signature.length).equals(signature))
    return E.left('is no PNG and no whole TIFF: store the class of each pixel in one, or leave its row out')
  const [bitDepth, colourType] = [png[header.bitDepth]!, png[header.colourType]!]
  if ((colourType !== colourTypes.grey && colourType !== colourTypes.palette) || bitDepth > 8)
    return E.left('has colours or 16 bits: store the class of each pixel as 8-bit grey, or as a palette')
  if (png.readUInt32BE(header.end) !== crc32(png.subarray(header.start, header.end)))
    return E.left('is damaged in its header: store it anew, or leave its row out')
  const parts: Buffer[] = [Buffer.from(png.subarray(0, header.end + 4))]
  parts[0]![header.colourType] = colourTypes.grey
  parts[0]!.writeUInt32BE(crc32(parts[0]!.subarray(header.start, header.end)), header.end)
  for (let at = header.end + 4; at + 12 <= png.length;) {
    const end = at + 12 + png.readUInt32BE(at)
    if (isSamples(png.toString('latin1', at + 4, at + 8))) parts.push(png.subarray(at, end))
    at = end
  }
  return E.right({ png: Buffer.concat(parts), bitDepth })
}

const unreadableMask =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`the mask ${path} cannot be read: ${errorReason(thrown)}; mend its path, or leave its row out`)

const checkOrdinary = (path: string): Outcome<void> =>
  TE.tryCatch(async () => {
    if (!(await stat(path)).isFile()) throw new Error('it is no ordinary file')
  }, unreadableMask(path))

/** The mask by windows, where it is in tiles; nothing of one that is decoded whole. */
export const openMask = (path: string): Outcome<TiledMask | undefined> =>
  pipe(
    checkOrdinary(path),
    TE.chain(() => openTiledMask(path))
  )

/** Decodes a mask: 8-bit grey or palette PNG (fewer bits too), whose stored values are classes. */
export const decodeMask = (path: string): Outcome<ClassMap> => {
  const unreadable = unreadableMask(path)
  return pipe(
    checkOrdinary(path),
    TE.chain(() => TE.tryCatch(() => readFile(path), unreadable)),
    TE.chainEitherK((png) => E.mapLeft((fault: string) => inputFailure(`the mask ${path} ${fault}`))(toGreyPng(png))),
    TE.bind('stored', ({ png }) => TE.tryCatch((): Promise<Extent2> => loadSharp()(png, sharpOptions).metadata(), damagedMask(path))),
    TE.chain(({ png, bitDepth, stored: { height, width } }) =>
      TE.tryCatch(async () => {
        const image = loadSharp()(png, sharpOptions).toColourspace('b-w').extractChannel(0)
        const { data } = await image.raw().toBuffer({ resolveWithObject: true })
        // Decoders spread fewer bits over 0 .. 255.
        const step = 255 / (2 ** bitDepth - 1)
        const pixels = step === 1 ? data : data.map((value) => value / step)
        return { pixels, height, width }
      }, damagedMask(path))
    )
  )
}

const inspectWhole = (path: string): Outcome<Mask> =>
  pipe(
    decodeMask(path),
    TE.map(({ pixels, height, width }) => {
      const counts = new Array<number>(256).fill(0)
      for (const value of pixels) counts[value]! += 1
      return { path, height, width, counts }
    })
  )

/** Decodes a mask to see what it holds; one in tiles is never whole in memory. */
export const inspectMask = (path: string): Outcome<Mask> =>
  pipe(
    openMask(path),
    TE.chain((tiled) =>
      tiled === undefined
        ? inspectWhole(path)
        : TE.map((counts: readonly number[]): Mask => ({ path, height: tiled.height, width: tiled.width, counts }))(countValues(tiled))
    )
  )

/** The largest class in a mask; -1 where no pixel counts. */
export const largestClass = ({ counts }: Mask): number => counts.findLastIndex((count, value) => count > 0 && value !== ignoredLabel)

/** Larger masks go over the disk, where a PNG is written of them. */
export const mostMaskBytes = 2 ** 26

const copiedAtOnce = 2 ** 24

/**
 * Writes classes, row by row in one part or several, as an 8-bit grey PNG. Several, and large ones,
 * go over the disk; `leave` takes what was read of them out of memory.
 */
export const writeMask = (
  path: string,
  { height, width }: Extent2,
  parts: readonly Uint8Array[],
  leave: () => void = () => undefined
): Outcome<void> => {
  const write = (input: Uint8Array | string): Outcome<void> =>
    replaceFileAtomic(path, async (temporary) => {
      const raw = typeof input === 'string' ? {} : { raw: { height, width, channels: 1 } as const }
      await loadSharp()(input, { ...raw, limitInputPixels: false })
        .toColourspace('b-w')
        .png({ palette: false })
        .toFile(temporary)
    })
  if (parts.length === 1 && height * width <= mostMaskBytes) return write(parts[0]!)
  const pieces = function* (): Generator<Uint8Array> {
    yield greyHeader(height, width)
    for (const part of parts)
      for (let from = 0; from < part.length; from += copiedAtOnce) {
        leave()
        yield part.subarray(from, from + copiedAtOnce)
      }
  }
  return withDiskSpace(`the mask ${path}`, height * width, (file) =>
    pipe(
      TE.tryCatch(() => writeFile(file, pieces()), writeFailure(path)),
      TE.chain(() => write(file))
    )
  )
}
