import { basename, extname } from 'node:path'
import { findColourFault } from './colours'
import type { TiffDirectory } from './directories'

/** First bytes of what the other decoders read; WebP lies in RIFF. */
const marks: readonly (readonly [format: string, mark: string])[] = [
  ['PNG', '\x89PNG'],
  ['JPEG', '\xff\xd8\xff'],
  ['WebP', 'RIFF'],
  ['TIFF', 'II*\0'],
  ['TIFF', 'MM\0*'],
  ['BigTIFF', 'II+\0'],
  ['BigTIFF', 'MM\0+']
]

/** First bytes of formats that are told by name where nothing reads them. */
const otherMarks: readonly (readonly [format: string, mark: string])[] = [
  ['a BMP', 'BM'],
  ['JPEG 2000', '\0\0\0\x0cjP  '],
  ['JPEG 2000', '\xff\x4f\xff\x51'],
  ['JPEG XL', '\0\0\0\x0cJXL '],
  ['JPEG XL', '\xff\x0a'],
  ['a CZI of Zeiss', 'ZISRAWFILE'],
  ['an ND2 of Nikon', '\xda\xce\xbe\x0a'],
  ['a LIF of Leica', '\x70\0\0\0'],
  ['a FITS', 'SIMPLE  ='],
  ['a PSD', '8BPS'],
  ['an OpenEXR', 'v/1\x01'],
  ['HDF5', '\x89HDF'],
  ['a ZIP archive', 'PK\x03\x04'],
  ['a PDF', '%PDF']
]

/** First bytes of slides that OpenSlide alone reads: Hamamatsu's VMS and VMU, and Sakura's. */
const slideMarks: readonly string[] = ['[Virtual Microscope Specimen]', '[Uncompressed Virtual Microscope Specimen]', 'SQLite format 3\0']

/** How many of a file's first bytes tell what it is. */
export const startBytes = 132

/** What a file begins as, of its first bytes as letters; undefined of other formats. */
export const detectSlideFormat = (start: string): string | undefined => marks.find(([, mark]) => start.startsWith(mark))?.[0]

/** The format, with its article, of what begins as no image that is read; undefined of others. */
export const detectOtherFormat = (start: string): string | undefined => otherMarks.find(([, mark]) => start.startsWith(mark))?.[0]

/** Tells by its first bytes what is a slide, or nothing that is read. */
export const beginsAsSlide = (start: string): boolean => slideMarks.some((mark) => start.startsWith(mark))

/** Tells a file of DICOM by its first bytes. */
export const isDicom = (start: string): boolean => start.slice(128, startBytes) === 'DICM'

/** Tells the file of a MIRAX slide, which begins as the JPEG that it is too, by its name. */
export const isMirax = (path: string): boolean => extname(path).toLowerCase() === '.mrxs'

/** Tells a slide of Olympus, whose file is a TIFF of a small picture of it, by its name. */
export const isVsi = (path: string): boolean => extname(path).toLowerCase() === '.vsi'

/** Whether a page tells what makers write whose tiles overlap or are left out. */
const isOfOtherMaker = ({ description }: TiffDirectory): boolean =>
  // Ventana, Trestle, Philips.
  /\blevel=\d+ mag=|\bOverlapsXY=/.test(description) || description.includes('DPUfsImport')

/**
 * Tells by what is in a file whether OpenSlide is what reads it: NDPI, SCN, BIF, Philips's,
 * Trestle's and JPEG 2000 among TIFFs, and what is neither TIFF, PNG, JPEG nor WebP. MRXS begins as
 * a JPEG does, and its name alone tells them apart.
 */
export const isSlide = (path: string, directories: readonly TiffDirectory[], start: string): boolean => {
  const [first] = directories
  if (first === undefined) return isMirax(path) || detectSlideFormat(start) === undefined
  return (
    first.isHamamatsu ||
    first.description.includes('leica-microsystems.com/scn') ||
    /JPEG 2000/.test(findColourFault(first) ?? '') ||
    directories.some(isOfOtherMaker)
  )
}

/** Why a slide cannot be opened, as the binding or OpenSlide itself says it. */
export const slideFault = (message: string): string => {
  if (/^(?:is|has) /.test(message)) return message
  return /^(?:OpenSlide|TILEFOLD_)/.test(message)
    ? `cannot be read: ${message}`
    : `cannot be read: OpenSlide says "${message}"; it is damaged or lacks a part, so store it anew or leave it out`
}

/** Why a MIRAX slide is not read that OpenSlide does not know. */
export const miraxFault = (path: string): string =>
  `is of a MIRAX slide, whose data are not beside it: put its folder ${basename(path, extname(path))} there, or leave it out`

/** Why a VSI is not read. */
export const vsiFault = 'is a VSI of Olympus, whose slide lies in a folder beside it and is not read: export it as TIFF, or leave it out'
