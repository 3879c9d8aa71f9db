/** A run, the longest, takes two bytes for 128. */
const mostGrowth = 64
const nothing = 128

/** What PackBits of TIFF (6.0, section 9) holds, up to `limit` bytes: less where it is cut. */
export const decodePackBits = (data: Uint8Array, limit: number): Uint8Array<ArrayBuffer> => {
  const written = new Uint8Array(Math.min(limit, mostGrowth * data.length))
  let size = 0
  for (let at = 0; at < data.length && size < written.length;) {
    const header = data[at++]!
    if (header === nothing) continue
    if (header < nothing) {
      const bytes = data.subarray(at, at + Math.min(header + 1, written.length - size))
      written.set(bytes, size)
      size += bytes.length
      at += header + 1
    } else if (at < data.length) {
      const end = Math.min(written.length, size + 257 - header)
      written.fill(data[at++]!, size, end)
      size = end
    }
  }
  return size === written.length ? written : written.slice(0, size)
}
