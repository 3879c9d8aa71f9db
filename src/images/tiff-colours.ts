import { type FileHandle, open } from 'node:fs/promises'

/** Tags of TIFF 6.0, and what they say. */
const tags = { compression: 259, photometric: 262 } as const
const yCbCr = 6
const jpegs: readonly number[] = [6, 7]
/** White is zero, black is zero, RGB, palette, CMYK. */
const known: readonly number[] = [0, 1, 2, 3, 5]

/** The form of a file's numbers; in a BigTIFF offsets have 8 bytes. */
interface Numbers {
  readonly isLittle: boolean
  readonly isBig: boolean
}

const numberAt = (bytes: Buffer, at: number, size: 2 | 4 | 8, { isLittle }: Numbers): number => {
  if (size === 8) return Number(isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at))
  return isLittle ? bytes.readUIntLE(at, size) : bytes.readUIntBE(at, size)
}

const bytesAt = async (file: FileHandle, position: number, length: number): Promise<Buffer> =>
  (await file.read(Buffer.alloc(length), 0, length, position)).buffer

/** Values of two bytes of the first page, by tag. */
const fieldsOf = async (file: FileHandle): Promise<ReadonlyMap<number, number>> => {
  const start = await bytesAt(file, 0, 16)
  const isLittle = start.toString('latin1', 0, 2) === 'II'
  const isBig = numberAt(start, 2, 2, { isLittle, isBig: false }) === 43
  const numbers = { isLittle, isBig }
  const [countBytes, entryBytes, valueAt] = isBig ? ([8, 20, 12] as const) : ([2, 12, 8] as const)
  const directory = isBig ? numberAt(start, 8, 8, numbers) : numberAt(start, 4, 4, numbers)
  const count = numberAt(await bytesAt(file, directory, countBytes), 0, countBytes, numbers)
  const entries = await bytesAt(file, directory + countBytes, Math.min(count, 2 ** 12) * entryBytes)
  const fields = new Map<number, number>()
  for (let at = 0; at + entryBytes <= entries.length; at += entryBytes)
    fields.set(numberAt(entries, at, 2, numbers), numberAt(entries, at + valueAt, 2, numbers))
  return fields
}

/**
 * Returns why the colours of a TIFF, which the decoder hands out as they are stored, would be other
 * ones; undefined where they are right. YCbCr is made RGB by JPEG alone.
 */
export const findColourFault = async (path: string): Promise<string | undefined> => {
  const file = await open(path, 'r')
  try {
    const fields = await fieldsOf(file)
    const photometric = fields.get(tags.photometric)
    if (photometric === undefined || known.includes(photometric)) return undefined
    if (photometric !== yCbCr) return `has colours of a kind that is not read (photometric interpretation ${photometric})`
    return jpegs.includes(fields.get(tags.compression) ?? 1) ? undefined : 'has YCbCr colours that are not compressed as JPEG'
  } finally {
    await file.close()
  }
}
