import { basename, extname, join } from 'node:path'
import { readFileStart } from '../images/file-start'
import { isImage } from './image-names'
import { isMirax } from '../images/tiff/slide-format'

/** Of a file that lists others, and of a header of DICOM, what is looked at. */
const mostBytes = 2 ** 18

/** What cannot be read has no parts: whoever reads it as an image says why. */
const startOrNothing = (path: string): Promise<Buffer> => readFileStart(path, mostBytes).catch(() => Buffer.alloc(0))

/** The files that a Hamamatsu VMS or VMU names: its picture in parts, map and label. */
const namedIn = (start: Buffer): readonly string[] =>
  start
    .toString('latin1')
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, name] = /^[^=]+=\s*(\S.*?)\s*$/.exec(line) ?? []
      return name === undefined ? [] : [basename(name)]
    })

/** Tag (0020,000E) with its type, in little-endian order: 2 bytes of length and the text follow. */
const seriesTag = Buffer.from([0x20, 0x00, 0x0e, 0x00, 0x55, 0x49])

/** The series of a DICOM file, of which each level of a slide is one; undefined if it says none. */
const findSeries = (start: Buffer): string | undefined => {
  const at = start.indexOf(seriesTag)
  if (at < 0 || at + 8 > start.length) return undefined
  const text = start.toString('latin1', at + 8, at + 8 + start.readUInt16LE(at + 6))
  return text.replace(/[\0 ]+$/, '')
}

const endsIn = (name: string, ...extensions: readonly string[]): boolean => extensions.includes(extname(name).toLowerCase())

/** Tells whether a folder holds the data of a MIRAX slide that lies beside it. */
export const isSlideFolder = (folder: string, files: readonly string[]): boolean =>
  files.some((name) => isMirax(name) && basename(name, extname(name)) === folder)

/**
 * The images among the files of one folder, in their order: a slide of several files is one, and
 * what it is made of is none. A VMS or VMU names its parts, and files of DICOM are of one slide if
 * they are of one series.
 */
export const wholeImages = async (folder: string, files: readonly string[]): Promise<readonly string[]> => {
  const images = files.filter(isImage)
  const parts = new Set<string>()
  const series = new Set<string>()
  for (const name of images) {
    const isList = endsIn(name, '.vms', '.vmu')
    if (!isList && !endsIn(name, '.dcm')) continue
    const start = await startOrNothing(join(folder, name))
    if (isList) for (const part of namedIn(start)) parts.add(part)
    const found = isList ? undefined : findSeries(start)
    if (found === undefined) continue
    if (series.has(found)) parts.add(name)
    series.add(found)
  }
  return images.filter((name) => !parts.has(name))
}
