import { stat } from 'node:fs/promises'
import type Sharp from 'sharp'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
import { type Slide, openSlide } from '../../native'
import { associatedImages, countMasks } from './tiff/associated-images'
import { checkDirectory, checkLevel, checkStored } from './tiff/check-tiff'
import { readFileStart } from './file-start'
import {
  beginsAsSlide,
  detectSlideFormat,
  isDicom,
  isMirax,
  isSlide,
  isVsi,
  detectOtherFormat,
  miraxFault,
  slideFault,
  startBytes,
  vsiFault
} from './tiff/slide-format'
import { loadSharp } from './load-sharp'
import { sharpOptions } from './sharp-options'
import { type GeoTransform, scaleGeoTransform } from './tiff/geo-transform'
import { type Extent2, type View, finest, chooseLevel } from './resolution'
import { type Reading, type Samples, colours, isStoredTiff, storedSamples, storedTiffSamples } from './samples'
import { findBandFault, findColourFault, findFaultAsColours } from './tiff/colours'
import { type TiffDirectory, readTiffDirectories } from './tiff/directories'
import { omePlanes } from './tiff/ome-planes'
import { type ImageLevel, planeLevels, tiffLevels, tiffMicronsPerPixel } from './tiff/levels'

/** The facts about an image that are known without decoding it; the extent is that of the view. */
export interface ImageHeader extends Extent2 {
  readonly view: View
  readonly samples: Samples
  /** Finest first; a file of one size has one. */
  readonly levels: readonly ImageLevel[]
  /** Pages of a TIFF that are no levels nor masks, or frames of a WebP; the first is read. */
  readonly pages: number
  /** How many pages say where others are transparent, which is not heeded. */
  readonly masks?: number
  /** What some of these pages are called: a slide's thumbnail, its label and macro. */
  readonly associated?: readonly string[]
  /** Whether each channel is a page of an OME-TIFF, the first of its depths and times. */
  readonly hasPlanes?: boolean
  /** True if there is a channel beside the colours, which is dropped. */
  readonly hasAlpha: boolean
  /** The orientation as EXIF numbers it, 1 where there is none; it is not applied. */
  readonly orientation: number
  /** What sharp calls the colours of a file that it decodes, such as `grey16`. */
  readonly colourSpace?: string
  /** The slide, of a file that OpenSlide reads. */
  readonly slide?: Slide
  /** Where the view lies on the ground; absent where the file does not say it. */
  readonly geoTransform?: GeoTransform
}

/** What sharp says where another image, decoded beside it, has wiped out the reason. */
const noReason = 'Unknown error'

/** What libtiff says where a tile or strip has no place in its file. */
const noBytes = /Invalid (?:tile|strip) byte count/

/** What writes a sparse file anew with zeros where it had left something out. */
const storedWhole = 'gdal_translate -co TILED=YES OLD.tif NEW.tif'

/** Why a file cannot be read, without its name; libtiff tells places that it has not. */
export const fileReason = (path: string, thrown: unknown): string => {
  const reason = errorReason(thrown)
  if (reason === noReason) return 'it cannot be decoded'
  if (noBytes.test(reason)) return 'it holds no bytes there, as sparse files leave out what is empty'
  // Not within other words: a path may be as short as one.
  const named = `(?<![\\w./-])${path.replace(/[^\w\s/]/g, '\\$&')}(?![\\w/-])`
  return reason
    .replace(new RegExp(`: ${named}(?=$|[\n;,])`, 'g'), '')
    .replace(new RegExp(named, 'g'), 'the file')
    .replace(' at row 4294967295, col 4294967295', '')
}

/** What to do about pixels that cannot be decoded, `there` or anywhere. */
export const decodeRemedy = (thrown: unknown, there = ''): string =>
  noBytes.test(errorReason(thrown)) ? `store it whole, by ${storedWhole}` : `it is cut or damaged${there}, so store it anew`

/** Whether a file was taken away since it was opened. */
export const isGone = (thrown: unknown): boolean => /is missing|no such file/.test(errorReason(thrown))

/** The failure of an image that cannot be read, with its name alone. */
export const readFailure =
  (path: string) =>
  (thrown: unknown): Failure =>
    inputFailure(`the image ${path} cannot be read: ${fileReason(path, thrown)}`)

/** The failure, of code `input`, of an image whose header can be read but whose pixels cannot. */
export const decodeFailure =
  (path: string) =>
  (thrown: unknown): Failure => {
    const failure = readFailure(path)(thrown)
    return isGone(thrown) ? failure : inputFailure(`${failure.message}; ${decodeRemedy(thrown)} or leave it out`)
  }

interface Start {
  readonly directories: readonly TiffDirectory[]
  /** The first bytes of the file, as letters. */
  readonly start: string
}

/** What sharp says of a file in which it finds no image. */
const noHeader = /^Input file (?:contains unsupported|has corrupt)/

/** A file whose header the decoder cannot read, by what its first bytes say that it is. */
const headerFailure =
  (path: string, { directories, start }: Start) =>
  (thrown: unknown): Failure => {
    if (!noHeader.test(errorReason(thrown))) return readFailure(path)(thrown)
    const fail = (fault: string): Failure => inputFailure(`the image ${path} cannot be read: ${fault}, or leave it out`)
    // Directories can be read, and hold what the decoder refuses, such as a side of 4,000,000,000.
    if (directories.length > 0)
      return fail(`${errorReason(thrown).replace(/\.$/, '')}; its header is damaged, or says what no decoder here reads; store it anew`)
    const format = detectSlideFormat(start)
    if (start === '') return fail('it is empty; store it anew')
    if (format !== undefined) return fail(`it begins as a ${format}, but is cut or damaged in its header; store it anew`)
    if (isDicom(start)) return fail('it is DICOM, which OpenSlide 4 reads; install that')
    const other = detectOtherFormat(start)
    const fault = other === undefined ? 'it is of no format that is read' : `it is ${other}, which is not read`
    return fail(`${fault} (docs/images.md); store it as PNG, JPEG, TIFF or WebP`)
  }

/** Channels of colours by colour space. */
const coloursOf: Readonly<Record<string, number>> = { 'b-w': 1, grey16: 1, srgb: 3, rgb16: 3, cmyk: 4 }

const sampleNames: Readonly<Record<string, string>> = {
  uint: '32-bit',
  char: 'signed 8-bit',
  short: 'signed 16-bit',
  int: 'signed 32-bit',
  float: 'floating-point',
  double: 'floating-point'
}

/** Refuses what could only be read as something else. */
const checkSamples = (path: string, { format, depth, space, channels }: Sharp.Metadata): E.Either<Failure, void> => {
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`the image ${path} ${fault}`))
  if (!['png', 'jpeg', 'tiff', 'webp'].includes(format)) return fail(`is of the format ${format}: store it as PNG, JPEG, TIFF or WebP`)
  if (depth !== 'uchar' && depth !== 'ushort')
    return fail(`has ${sampleNames[depth] ?? depth} samples, but 8-bit ones are read: convert it, so that its values fill 0 to 255`)
  const colours = coloursOf[space]
  return colours === undefined || channels - colours > 1
    ? fail(`has ${channels} channels (${space}) where grey, RGB or CMYK are read: store it as RGB`)
    : E.right(undefined)
}

interface Found {
  readonly metadata: Sharp.Metadata
  /** None of a file that is no TIFF. */
  readonly directories: readonly TiffDirectory[]
}

const makeHeader = (path: string, { metadata, directories }: Found, reading: Reading): E.Either<Failure, ImageHeader> => {
  const { height, width, pages = 1, orientation = 1, hasAlpha, channels, space } = metadata
  const [first, ...smaller] = tiffLevels(directories)
  const geoTransform = directories[0]?.geoTransform
  const masks = countMasks(directories)
  // What the decoder says of the first page counts.
  const levels = [{ ...first, page: 0, height, width }, ...smaller]
  return pipe(
    chooseLevel(path, levels, tiffMicronsPerPixel(directories), reading),
    E.chainFirst(checkLevel(path, directories, levels, findFaultAsColours)),
    E.bindTo('view'),
    E.bind('stored', () => storedSamples(path, metadata, reading)),
    E.map(({ view, stored }) => ({
      height: view.height,
      width: view.width,
      view,
      samples: stored ?? colours,
      levels,
      pages: Math.max(1, pages - masks - smaller.filter(({ subDirectory }) => subDirectory === undefined).length),
      masks,
      associated: associatedImages(directories),
      hasAlpha: stored === undefined && (hasAlpha || channels > (coloursOf[space] ?? channels)),
      orientation,
      colourSpace: space,
      ...(geoTransform && { geoTransform: scaleGeoTransform(geoTransform, levels[0]!, view) })
    }))
  )
}

/** The header of a TIFF whose values are read as they are stored, in tiles or strips. */
const makeStoredHeader = (
  path: string,
  { directories, planes }: { readonly directories: readonly TiffDirectory[]; readonly planes: readonly TiffDirectory[] },
  reading: Reading
): E.Either<Failure, ImageHeader> => {
  const first = (planes[0] ?? directories[0])!
  const { height, width, tile, stripRows, orientation, geoTransform } = first
  const [whole, ...smaller] = planes.length > 0 ? planeLevels(planes, directories) : tiffLevels(directories)
  const strip = { height: Math.min(stripRows, height), width }
  const levels = [{ ...whole!, tile: tile ?? strip }, ...smaller]
  const pagesRead = Math.max(1, planes.length) + smaller.filter(({ subDirectory }) => subDirectory === undefined).length
  const masks = countMasks(directories)
  const pages = directories.filter(({ subDirectory }) => subDirectory === undefined).length - masks - pagesRead + 1
  return pipe(
    planes.length > 0 ? planes : [first],
    E.traverseArray((directory) => checkDirectory(path, directory)),
    E.chain(() => chooseLevel(path, levels, tiffMicronsPerPixel(directories), reading)),
    E.chainFirst(checkLevel(path, directories, levels, findBandFault)),
    E.bindTo('view'),
    E.bind('samples', () =>
      storedTiffSamples(path, { ...first, channels: Math.max(first.channels, planes.length) }, reading, planes.length > 0 ? 1 : pages)
    ),
    E.map(({ view, samples }) => ({
      height: view.height,
      width: view.width,
      view,
      samples,
      levels,
      pages,
      masks,
      associated: associatedImages(directories),
      ...(planes.length > 0 && { hasPlanes: true }),
      hasAlpha: false,
      orientation,
      ...(geoTransform && { geoTransform: scaleGeoTransform(geoTransform, levels[0]!, view) })
    }))
  )
}

const decodedHeader = (path: string, found: Start, reading: Reading): Outcome<ImageHeader> =>
  pipe(
    TE.fromEither(checkStored(`the image ${path}`, found.directories.slice(0, 1), findFaultAsColours)),
    TE.chain(() => TE.tryCatch(async () => loadSharp()(path, sharpOptions).metadata(), headerFailure(path, found))),
    TE.chainFirstEitherK((metadata) => checkSamples(path, metadata)),
    TE.chainEitherK((metadata) => makeHeader(path, { metadata, directories: found.directories }, reading))
  )

/** The header of a slide that OpenSlide reads, with its levels. */
const slideHeader = (path: string, reading: Reading): E.Either<Failure, ImageHeader> =>
  pipe(
    openSlide(path),
    E.mapLeft(({ message }) => inputFailure(`the image ${path} ${slideFault(message)}`)),
    E.chain((slide) => {
      // It answers any window: tiles are what is read at a time where all of it is.
      const levels = slide.levels.map((extent, page) => ({ ...extent, page, tile: { height: 256, width: 256 } }))
      return pipe(
        chooseLevel(path, levels, slide.micronsPerPixel, reading),
        E.map((view): ImageHeader => ({
          height: view.height,
          width: view.width,
          view,
          samples: colours,
          levels,
          pages: 1,
          hasAlpha: false,
          orientation: 1,
          slide
        }))
      )
    })
  )

/** What OpenSlide does not know either is left to the decoder, whose sentence names its format. */
const headerBy = (path: string, { directories, start }: Start, reading: Reading): Outcome<ImageHeader> => {
  const [first] = directories
  const other = (): Outcome<ImageHeader> =>
    pipe(
      TE.fromEither(checkStored(`the image ${path}`, directories.slice(0, 1), findColourFault)),
      TE.chainEitherK(() => omePlanes(path, directories)),
      TE.chain((planes) =>
        first !== undefined && (planes.length > 0 || isStoredTiff(first, reading))
          ? TE.fromEither(makeStoredHeader(path, { directories, planes }, reading))
          : decodedHeader(path, { directories, start }, reading)
      )
    )
  if (isVsi(path) && first !== undefined) return TE.left(inputFailure(`the image ${path} ${vsiFault}`))
  if (!isSlide(path, directories, start)) return other()
  const opened = slideHeader(path, reading)
  // A plain TIFF is one to OpenSlide too, and its tiles are none that it reads.
  if (E.isRight(opened)) return opened.right.slide?.vendor === 'generic-tiff' ? other() : TE.right(opened.right)
  const { message } = opened.left
  // Without the library it is not known whether another file than a TIFF is one.
  const isMissing = /which is not installed/.test(message)
  const isUnknown = isMissing
    ? first === undefined && !isMirax(path) && !beginsAsSlide(start)
    : /is no slide that OpenSlide knows/.test(message) || (first !== undefined && findColourFault(first) !== undefined)
  if (!isUnknown) return TE.left(opened.left)
  // What has that name is a JPEG of the slide's thumbnail, too.
  return isMirax(path) ? TE.left(inputFailure(`the image ${path} ${miraxFault(path)}`)) : other()
}

/**
 * Reads an image's header and refuses what cannot be decoded exactly, is not stored at such a
 * resolution, or is no ordinary file, which is not opened.
 */
export const readHeader = (path: string, reading: Reading = finest): Outcome<ImageHeader> =>
  pipe(
    TE.tryCatch(async (): Promise<Start> => {
      if (!(await stat(path)).isFile()) throw new Error('it is no ordinary file')
      return { directories: await readTiffDirectories(path), start: (await readFileStart(path, startBytes)).toString('latin1') }
    }, readFailure(path)),
    TE.chain((found) => headerBy(path, found, reading))
  )
