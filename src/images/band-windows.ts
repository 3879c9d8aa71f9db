import type { ImageWindow } from '../../native'
import type { GeoTIFF, GeoTIFFImage } from 'geotiff'
import { openFileSource } from './tiff/file-source'
import { loadGeoTiff } from './tiff/load-geotiff'
import { type Elements, type Samples, asBytes, newElements } from './samples'
import type { ImageLevel } from './tiff/levels'

/**
 * What holds nothing, and what is no number, is read as 0; of floats as -0, by which the measure
 * of means tells it from a 0 of the file.
 */
const clearNoData = (elements: Elements, { noData, elementType }: Samples): void => {
  const isFloat = elementType === 'float32'
  if (noData === undefined && !isFloat) return
  // The file's sample is the nearest float32 of the number in its text.
  const absent = noData === undefined ? NaN : isFloat ? Math.fround(noData) : noData
  for (let at = 0; at < elements.length; at += 1) if (elements[at] === absent || Number.isNaN(elements[at])) elements[at] = -0
}

/** A value from which every score would be no number, where it is in the image; else undefined. */
const findInfinite = (elements: Elements, { elementType, bands = [], channels }: Samples, { top, left, width }: ImageWindow) => {
  if (elementType !== 'float32') return undefined
  const at = (elements as Float32Array).findIndex((value) => value === Infinity || value === -Infinity)
  if (at === -1) return undefined
  const pixel = Math.floor(at / channels)
  const band = bands[at % channels]! + 1
  return `band ${band} is ${elements[at]} at row ${top + Math.floor(pixel / width)}, column ${left + (pixel % width)}`
}

/** A window that could be read holds a value that is infinite. */
export class InfiniteValue extends Error {}

/** GDAL's, of the value of what holds nothing. */
const noDataTag = 42113

const lists = [
  ['BitsPerSample', 258],
  ['SampleFormat', 339]
] as const

/** Writers may say once what holds for all channels; geotiff 3.0.5 looks for each of them. */
const repeatForChannels = (directory: GeoTIFFImage['fileDirectory']): void => {
  const channels = Number(directory.getValue('SamplesPerPixel') ?? 1)
  for (const [name, tag] of lists) {
    const [value, ...others] = directory.getValue(name) ?? []
    if (value !== undefined && others.length === 0) directory.actualizedFields.set(tag, Array<number>(channels).fill(value))
  }
}

/** The image of a directory, which may lie below a page. */
const imageAt = async (file: GeoTIFF, at: number): Promise<GeoTIFFImage> => {
  const { GeoTIFFImage: Image } = loadGeoTiff()
  // geotiff 3.0.5 reads lists that it loads later as little-endian, whatever the file is.
  file.parser.eager = !file.littleEndian
  const directory = await file.parser.parseFileDirectoryAt(at)
  repeatForChannels(directory)
  // geotiff fills tiles that a sparse file leaves out with it, in another order of bytes, or cut to
  // the type; without it they are 0, as what holds nothing is.
  for (const fields of [directory.actualizedFields, directory.deferredFields]) fields.delete(noDataTag)
  return new Image(directory, file.littleEndian, file.cache, file.source)
}

const readValues = async (image: GeoTIFFImage, samples: readonly number[], window: ImageWindow): Promise<ArrayLike<number>> => {
  const { top, left, height, width } = window
  const found = await image.readRasters({ window: [left, top, left + width, top + height], samples: [...samples], interleave: true })
  const wanted = height * width * samples.length
  if (found.length !== wanted) throw new Error(`it has ${found.length} values there instead of ${wanted}`)
  return found
}

/**
 * The bands of a window of a TIFF as they are stored, [height, width, channels] in the machine's
 * order of bytes. The tiles, or strips, that it touches are decoded; one that is cut or damaged
 * throws, and so does a value that is infinite.
 */
export const readBands = async (path: string, { directories }: ImageLevel, window: ImageWindow, samples: Samples): Promise<Uint8Array> => {
  const source = await openFileSource(path)
  const { bands = [], channels, elementType } = samples
  try {
    const file = await loadGeoTiff().GeoTIFF.fromSource(source)
    const elements = newElements(elementType, window.height * window.width * channels)
    if (directories!.length === 1) elements.set(await readValues(await imageAt(file, directories![0]!), bands, window))
    else
      for (const [channel, band] of bands.entries()) {
        const plane = await readValues(await imageAt(file, directories![band]!), [0], window)
        for (let at = 0; at < plane.length; at += 1) elements[at * channels + channel] = plane[at]!
      }
    clearNoData(elements, samples)
    const infinite = findInfinite(elements, samples, window)
    if (infinite !== undefined) throw new InfiniteValue(infinite)
    return asBytes(elements)
  } catch (thrown) {
    throw thrown instanceof RangeError ? new Error('it ends before all of its values') : thrown
  } finally {
    await source.close()
  }
}
