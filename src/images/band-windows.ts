import type { ImageWindow } from '../../native'
import { loadGeoTiff } from './load-geotiff'
import { type Elements, type Samples, asBytes, newElements } from './samples'
import type { ImageLevel } from './tiff-levels'

/** What holds nothing, and what is no number, is read as 0. */
const clearNoData = (elements: Elements, { noData, elementType }: Samples): void => {
  const isFloat = elementType === 'float32'
  if (noData === undefined && !isFloat) return
  // The file's sample is the nearest float32 of the number in its text.
  const absent = noData === undefined ? NaN : isFloat ? Math.fround(noData) : noData
  for (let at = 0; at < elements.length; at += 1) if (elements[at] === absent || Number.isNaN(elements[at])) elements[at] = 0
}

/**
 * The bands of a window of a TIFF as they are stored, [height, width, channels] in the machine's
 * order of bytes. The tiles, or strips, that it touches are decoded; one that is cut or damaged
 * throws.
 */
export const readBands = async (path: string, { page }: ImageLevel, window: ImageWindow, samples: Samples): Promise<Uint8Array> => {
  const { fromFile } = loadGeoTiff()
  const file = await fromFile(path)
  try {
    const image = await file.getImage(page)
    const { top, left, height, width } = window
    const found = await image.readRasters({
      window: [left, top, left + width, top + height],
      samples: [...samples.bands!],
      interleave: true
    })
    const elements = newElements(samples.elementType, height * width * samples.channels)
    if (found.length !== elements.length) throw new Error(`it has ${found.length} values there instead of ${elements.length}`)
    elements.set(found)
    clearNoData(elements, samples)
    return asBytes(elements)
  } finally {
    file.close()
  }
}
