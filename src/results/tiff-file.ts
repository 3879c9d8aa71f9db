import type { FileHandle } from 'node:fs/promises'

/** Types of values in a directory (TIFF 6.0, section 2, and BigTIFF's 8-byte whole number). */
const types = { ascii: 2, short: 3, long: 4, rational: 5, double: 12, long8: 16 } as const
const bytesOf = { ascii: 1, short: 2, long: 4, rational: 8, double: 8, long8: 8 } as const

/** One tag of a directory. */
export interface TiffTag {
  readonly tag: number
  readonly type: keyof typeof types
  readonly values: readonly number[] | string
}

/** A tag of a TIFF with values of a type, by its number (TIFF 6.0, section 8). */
export const tag = (number: number, type: TiffTag['type'], ...values: readonly number[]): TiffTag => ({ tag: number, type, values })
/** A tag of a TIFF with a text. */
export const textTag = (number: number, text: string): TiffTag => ({ tag: number, type: 'ascii', values: text })

/** What a rational is over: numerators have 32 bits. */
const chooseDenominator = (value: number): number => (value > 4_000_000 ? 1 : value > 4000 ? 1000 : 1_000_000)

const valueBytes = ({ type, values }: TiffTag): Buffer => {
  if (typeof values === 'string') return Buffer.from(`${values}\0`, 'utf8')
  const bytes = Buffer.alloc(values.length * bytesOf[type])
  values.forEach((value, index) => {
    const at = index * bytesOf[type]
    if (type === 'short') bytes.writeUInt16LE(value, at)
    else if (type === 'long') bytes.writeUInt32LE(value, at)
    else if (type === 'double') bytes.writeDoubleLE(value, at)
    else if (type === 'long8') bytes.writeBigUInt64LE(BigInt(value), at)
    else {
      bytes.writeUInt32LE(Math.round(value * chooseDenominator(value)), at)
      bytes.writeUInt32LE(chooseDenominator(value), at + 4)
    }
  })
  return bytes
}

const headerBytes = 16
const entryBytes = 20

/** A directory as it lies at `position`: entries, the place of the next one, longer values. */
const directoryBytes = (tags: readonly TiffTag[], position: number, isLast: boolean): Buffer => {
  const sorted = [...tags].sort((one, other) => one.tag - other.tag)
  const length = 8 + entryBytes * sorted.length + 8
  const head = Buffer.alloc(length)
  const longer: Buffer[] = []
  let at = position + length
  head.writeBigUInt64LE(BigInt(sorted.length), 0)
  sorted.forEach((entry, index) => {
    const value = valueBytes(entry)
    const place = 8 + entryBytes * index
    head.writeUInt16LE(entry.tag, place)
    head.writeUInt16LE(types[entry.type], place + 2)
    head.writeBigUInt64LE(BigInt(value.length / bytesOf[entry.type]), place + 4)
    if (value.length <= 8) return void value.copy(head, place + 12)
    head.writeBigUInt64LE(BigInt(at), place + 12)
    const padded = Buffer.concat([value, Buffer.alloc((8 - (value.length % 8)) % 8)])
    longer.push(padded)
    at += padded.length
  })
  head.writeBigUInt64LE(isLast ? 0n : BigInt(at), length - 8)
  return Buffer.concat([head, ...longer])
}

/** A BigTIFF that is written from its beginning to its end. */
export interface TiffWriter {
  /** Appends bytes; answers where they lie. */
  readonly append: (bytes: Uint8Array) => Promise<number>
  /** Writes the directories, in their order, and what leads to them. */
  readonly finish: (directories: readonly (readonly TiffTag[])[]) => Promise<void>
}

/** Writes a BigTIFF to an open, empty file, which stays open. */
export const createTiffWriter = (file: FileHandle): TiffWriter => {
  let end = headerBytes
  const append = async (bytes: Uint8Array): Promise<number> => {
    const at = end
    end += bytes.length
    for (let done = 0; done < bytes.length;) done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten
    return at
  }
  return {
    append,
    finish: async (directories) => {
      end += (8 - (end % 8)) % 8
      const header = Buffer.alloc(headerBytes)
      header.write('II', 0, 'latin1')
      header.writeUInt16LE(43, 2)
      header.writeUInt16LE(8, 4)
      header.writeBigUInt64LE(BigInt(end), 8)
      for (const [index, tags] of directories.entries()) await append(directoryBytes(tags, end, index === directories.length - 1))
      for (let done = 0; done < headerBytes;) done += (await file.write(header, done, headerBytes - done, done)).bytesWritten
    }
  }
}
