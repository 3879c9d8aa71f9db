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
  const { size } = await file.stat()
  const fetchSlice = async (slice: Slice): ReturnType<Source['fetchSlice']> => {
    // A damaged file may ask for more bytes than anything can hold, or for no number of them.
    const length = Math.max(0, Math.min(slice.length, size - slice.offset)) || 0
    const bytes = new Uint8Array(length)
    const bytesRead = length === 0 ? 0 : (await file.read(bytes, 0, length, slice.offset)).bytesRead
    return { ...slice, data: bytesRead < length ? bytes.buffer.slice(0, bytesRead) : bytes.buffer }
  }
  return {
    fileSize: null,
    fetchSlice,
    fetch: (slices) => Promise.all(slices.map(async (slice) => (await fetchSlice(slice)).data)),
    close: () => file.close()
  }
}
