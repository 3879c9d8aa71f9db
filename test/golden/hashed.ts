/** The counterpart of hashed.py, whose docstrings say what these are. */

const buckets = 512

const mixed = (hash: number): number => {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35)
  return (second ^ (second >>> 16)) >>> 0
}

/** hash(i) of a name. */
export const hashes = (name: string): ((index: number) => number) => {
  const key = Buffer.from(name, 'utf8').reduce((state, byte) => Math.imul(state ^ byte, 0x01000193), 0x811c9dc5)
  return (index) => mixed((key + Math.imul(index, 0x9e3779b9)) | 0)
}

/** Float32 numbers of mean 0 and this deviation. */
export const uniform = (name: string, count: number, deviation: number): Float32Array => {
  const [hash, scale, values] = [hashes(name), Math.sqrt(12) * deviation, new Float32Array(count)]
  for (let index = 0; index < count; index += 1) values[index] = (hash(index) * 2 ** -32 - 0.5) * scale
  return values
}

/** The count sketch of tensors by name. */
export const sketch = (tensors: ReadonlyMap<string, ArrayLike<number>>): Float64Array => {
  const total = new Float64Array(buckets)
  for (const [name, values] of tensors) {
    const hash = hashes(`sketch/${name}`)
    for (let index = 0; index < values.length; index += 1) {
      const h = hash(index)
      total[h % buckets]! += h & buckets ? -values[index]! : values[index]!
    }
  }
  return total
}
