/** The counterpart of hashed.py, whose docstrings say what these are. */

/** A power of two. */
const buckets = 512

/** As an int32: engines keep those out of the heap, and tens of millions are asked for. */
const mixed = (hash: number): number => {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35)
  return second ^ (second >>> 16)
}

const keyOf = (name: string): number =>
  Buffer.from(name, 'utf8').reduce((state, byte) => Math.imul(state ^ byte, 0x01000193), 0x811c9dc5) | 0

const hashAt = (key: number, index: number): number => mixed((key + Math.imul(index, 0x9e3779b9)) | 0)

/** hash(i) of a name. */
export const hashes = (name: string): ((index: number) => number) => {
  const key = keyOf(name)
  return (index) => hashAt(key, index) >>> 0
}

/** Float32 numbers of mean 0 and this deviation. */
export const uniform = (name: string, count: number, deviation: number): Float32Array => {
  const [key, scale, values] = [keyOf(name), Math.sqrt(12) * deviation, new Float32Array(count)]
  for (let index = 0; index < count; index += 1) values[index] = ((hashAt(key, index) >>> 0) * 2 ** -32 - 0.5) * scale
  return values
}

/** The count sketch of tensors by name. */
export const sketch = (tensors: ReadonlyMap<string, ArrayLike<number>>): Float64Array => {
  const total = new Float64Array(buckets)
  for (const [name, values] of tensors) {
    const key = keyOf(`sketch/${name}`)
    for (let index = 0; index < values.length; index += 1) {
      const hash = hashAt(key, index)
      total[hash & (buckets - 1)]! += hash & buckets ? -values[index]! : values[index]!
    }
  }
  return total
}
