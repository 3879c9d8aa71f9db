import type { Extent2 } from '../images/resolution'

/** Pixels of so many samples, interleaved, in bands of rows from the top. */
interface Rows<A> extends Extent2 {
  readonly samples: number
  /** [rows, width, samples] from row `top` on; what was given before may be overwritten. */
  readonly rows: (top: number, rows: number) => Promise<A>
  /** Rows to ask for at a time, where each takes memory; any number where absent. */
  readonly mostRows?: number
}

/** Classes, or a picture: samples of 8 bits. */
export interface PixelRows extends Rows<Uint8Array> {
  readonly samples: 1 | 3
}

/** Values of any number of bands. */
export interface ValueRows extends Rows<Uint8Array | Float32Array> {
  readonly elementType: 'uint8' | 'float32'
}

/** Bytes of what lies in a file that are in memory meanwhile. */
const bytesAtOnce = 2 ** 22

/**
 * Classes [height, width] that lie in several parts, all but the last of the same length. `leave`
 * takes those that were read out of memory.
 */
export const rowsOfParts = ({ height, width }: Extent2, parts: readonly Uint8Array[], leave: () => void = () => undefined): PixelRows => {
  const partBytes = parts[0]!.length
  const rows = (top: number, count: number): Promise<Uint8Array> => {
    leave()
    const [from, to] = [top * width, (top + count) * width]
    const [first, last] = [Math.floor(from / partBytes), Math.floor((to - 1) / partBytes)]
    if (first === last) return Promise.resolve(parts[first]!.subarray(from - first * partBytes, to - first * partBytes))
    const joined = new Uint8Array(to - from)
    for (let part = first; part <= last; part += 1) {
      const start = part * partBytes
      const piece = parts[part]!.subarray(Math.max(0, from - start), Math.min(parts[part]!.length, to - start))
      joined.set(piece, Math.max(0, start - from))
    }
    return Promise.resolve(joined)
  }
  return { height, width, samples: 1, rows, mostRows: Math.max(1, Math.floor(bytesAtOnce / width)) }
}
