import { open } from 'node:fs/promises'
import type { GeoTIFF } from 'geotiff'

type Source = Parameters<typeof GeoTIFF.fromSource>[0]
type Slice = Parameters<Source['fetchSlice']>[0]

/**
 * Where geotiff reads a file from. Its own source fills up with zeros what lies beyond the end of
 * the file, of which pixels and places of tiles would be made; of this one less comes, and the
 * reading fails.
 */
export const openFileSource = async (path: string): Promise<Source> => {
  const file = await open(path, 'r')
  const fetchSlice = async (slice: Slice): ReturnType<Source['fetchSlice']> => {
    const bytes = new Uint8Array(slice.length)
    const { bytesRead } = await file.read(bytes, 0, slice.length, slice.offset)
    return { ...slice, data: bytesRead < slice.length ? bytes.buffer.slice(0, bytesRead) : bytes.buffer }
  }
  return {
    fileSize: null,
    fetchSlice,
    fetch: (slices) => Promise.all(slices.map(async (slice) => (await fetchSlice(slice)).data)),
    close: () => file.close()
  }
}
