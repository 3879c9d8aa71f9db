import { extname } from 'node:path'
import { findColourFault } from './tiff-colours'
import type { TiffDirectory } from './tiff-directories'

/** Of PNG, JPEG and of RIFF, in which WebP lies; what the other decoder reads. */
const known: readonly string[] = ['\x89PNG', '\xff\xd8\xff', 'RIFF']

/**
 * Tells by what is in a file whether OpenSlide is what reads it: NDPI, SCN and JPEG 2000 among
 * TIFFs, and what is neither TIFF, PNG, JPEG nor WebP. MRXS begins as a JPEG does, and its name
 * alone tells them apart.
 */
export const isSlide = (path: string, [first]: readonly TiffDirectory[], start: string): boolean => {
  if (first !== undefined)
    return first.isHamamatsu || first.description.includes('leica-microsystems.com/scn') || /JPEG 2000/.test(findColourFault(first) ?? '')
  return extname(path).toLowerCase() === '.mrxs' || !known.some((mark) => start.startsWith(mark))
}
