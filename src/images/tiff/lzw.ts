const [clear, end] = [256, 257]
const [leastBits, mostBits] = [9, 12]

/**
 * What LZW of TIFF (6.0, section 13) holds, up to `limit` bytes: less where the data are cut.
 * Damaged data throw. Each string of the table is one that was written before, and its next byte.
 */
export const decodeLzw = (data: Uint8Array, limit: number): Uint8Array<ArrayBuffer> => {
  const [starts, lengths] = [new Float64Array(1 << mostBits), new Uint32Array(1 << mostBits)]
  let written = new Uint8Array(Math.min(limit, 4 * data.length))
  let [size, next, bits, previous] = [0, end + 1, leastBits, -1]
  /** Where the string of the previous code begins. */
  let start = 0
  const grow = (wanted: number): void => {
    const larger = new Uint8Array(Math.min(limit, 2 * wanted))
    larger.set(written)
    written = larger
  }
  let [held, heldBits] = [0, 0]
  for (let at = 0; size < limit;) {
    for (; heldBits < bits && at < data.length; heldBits += 8) held = ((held & 0xffff) << 8) | data[at++]!
    if (heldBits < bits) break
    heldBits -= bits
    const code = (held >> heldBits) & ((1 << bits) - 1)
    if (code === end) break
    if (code === clear) {
      ;[next, bits, previous] = [end + 1, leastBits, -1]
      continue
    }
    const largest = previous === -1 ? clear - 1 : Math.min(next, (1 << mostBits) - 1)
    if (code > largest) throw new Error(`its LZW data have code ${code} where ${largest} is the largest`)
    const begin = size
    // The previous string and the byte after it, which is written below where it is this code.
    if (previous !== -1 && next < 1 << mostBits) {
      starts[next] = start
      lengths[next] = begin - start + 1
      next += 1
      if (next + 1 === 1 << bits && bits < mostBits) bits += 1
    }
    const length = code < clear ? 1 : Math.min(lengths[code]!, limit - begin)
    if (begin + length > written.length) grow(begin + length)
    if (code < clear) written[begin] = code
    else for (let from = starts[code]!, i = 0; i < length; i += 1) written[begin + i] = written[from + i]!
    ;[size, start, previous] = [begin + length, begin, code]
  }
  return size === written.length ? written : written.slice(0, size)
}
