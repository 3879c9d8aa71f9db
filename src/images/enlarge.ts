import { appendFile, open, writeFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { headerBytes } from './mapped-image-file'
import { resampleWindow, storedSpan } from './resample'
import type { Extent2 } from './resolution'
import { asBytes, asElements, colours, pixelBytes } from './samples'

/** The pixels of so many rows of an image, 8-bit red, green and blue. */
type ReadRows = (from: number, count: number) => Promise<Uint8Array>

/** Of rows that are enlarged at a time. */
const bandBytes = 2 ** 22

const rowBytes = ({ width }: Extent2): number => width * pixelBytes(colours)

/**
 * Enlarges bilinearly, bands of rows one after the other. A pixel's middle is the middle of what it
 * covers, as it is of masks and polygons; libvips' enlarging is half a pixel beside that.
 */
const enlarge = async (
  read: ReadRows,
  stored: Extent2,
  wanted: Extent2,
  write: (rows: Uint8Array, from: number) => void | Promise<unknown>
): Promise<void> => {
  const rows = { stored: stored.height, read: wanted.height }
  const columns = { stored: stored.width, read: wanted.width }
  const rowsAtOnce = Math.max(1, Math.floor(bandBytes / rowBytes(wanted)))
  for (let from = 0; from < wanted.height; from += rowsAtOnce) {
    const window = { rows: { from, count: Math.min(rowsAtOnce, wanted.height - from) }, columns: { from: 0, count: wanted.width } }
    const span = storedSpan(rows, window.rows)
    const pixels = await read(span.from, span.count)
    await write(asBytes(resampleWindow(asElements('uint8', pixels), colours, rows, columns, window)), from)
    // Other images are loaded meanwhile.
    await setImmediate()
  }
}

/** The pixels [H, W, 3] of an image in memory that is enlarged. */
export const enlargePixels = async (pixels: Uint8Array, stored: Extent2, wanted: Extent2): Promise<Uint8Array> => {
  const [from, to] = [rowBytes(stored), rowBytes(wanted)]
  const enlarged = new Uint8Array(to * wanted.height)
  const read: ReadRows = async (row, count) => pixels.subarray(row * from, (row + count) * from)
  await enlarge(read, stored, wanted, (rows, row) => enlarged.set(rows, row * to))
  return enlarged
}

/** Enlarges the pixels of a file *.v into another one. */
export const enlargeFile = async (storedFile: string, file: string, stored: Extent2, wanted: Extent2): Promise<void> => {
  const bytes = rowBytes(stored)
  const source = await open(storedFile, 'r')
  try {
    const read: ReadRows = async (row, count) => {
      const pixels = Buffer.alloc(count * bytes)
      for (let done = 0; done < pixels.length;) {
        const { bytesRead } = await source.read(pixels, done, pixels.length - done, headerBytes + row * bytes + done)
        if (bytesRead === 0) throw new Error(`${storedFile} was cut while it was read`)
        done += bytesRead
      }
      return pixels
    }
    await writeFile(file, Buffer.alloc(headerBytes))
    await enlarge(read, stored, wanted, (rows) => appendFile(file, rows))
  } finally {
    await source.close()
  }
}
