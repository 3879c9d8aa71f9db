/** TIFF and BigTIFF files in tiles, of several levels, by their specifications. */
import { writeFileSync } from 'node:fs'
import { deflateSync } from 'node:zlib'
import type { PixelType } from '../../native'
import { sampleTypes } from './image-files'

export interface TiledLevel {
  readonly height: number
  readonly width: number
  /** Those of the file where absent; grey where it is one. */
  readonly channels?: number
  /** [height, width, channels], in little-endian order where an element has several bytes. */
  readonly pixels: Uint8Array
  /** Stored in one strip instead. */
  readonly isStrip?: true
  /** Of a page after the first. */
  readonly description?: string
  /** The same of its own page. */
  readonly tags?: readonly Field[]
}

export interface TiledTiffOptions {
  readonly tile: number
  readonly channels: number
  /** uint8 where absent. */
  readonly elementType?: PixelType
  readonly isBig?: boolean
  /** Smaller levels below the first page, as OME has them, instead of after it. */
  readonly isBelow?: boolean
  readonly description?: string
  /** Resolution in pixels a centimetre. */
  readonly perCentimetre?: number
  readonly compression?: number
  /** RGB of three channels where absent, else black as zero. */
  readonly photometric?: number
  /** What stands in the first page beside, or in place of what would. */
  readonly tags?: readonly Field[]
  /** Each tile as it is stored; as it is where absent. */
  readonly compress?: (tile: Buffer) => Buffer
}

export type Field = readonly [tag: number, type: 2 | 3 | 4 | 5 | 7 | 12 | 13 | 16 | 18, values: readonly number[]]

/** GDAL's tag of the value of what holds nothing. */
export const noDataTag = (value: string): Field => [42113, 2, [...Buffer.from(`${value}\0`)]]

const bytesOfType = { 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 12: 8, 13: 4, 16: 8, 18: 8 } as const

/** A tile at the edge is filled up with its last row and column. */
const tileOf = ({ height, width, pixels }: TiledLevel, pixelBytes: number, tile: number, top: number, left: number): Buffer => {
  const bytes = Buffer.alloc(tile * tile * pixelBytes)
  for (let row = 0; row < tile; row += 1)
    for (let column = 0; column < tile; column += 1) {
      const from = (Math.min(height - 1, top + row) * width + Math.min(width - 1, left + column)) * pixelBytes
      bytes.set(pixels.subarray(from, from + pixelBytes), (row * tile + column) * pixelBytes)
    }
  return bytes
}

const valuesOf = (type: Field[1], values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * bytesOfType[type])
  values.forEach((value, index) => {
    const at = index * bytesOfType[type]
    if (type === 2 || type === 7) bytes.writeUInt8(value, at)
    else if (type === 3) bytes.writeUInt16LE(value, at)
    else if (type === 4 || type === 13) bytes.writeUInt32LE(value, at)
    else if (type === 5) {
      bytes.writeUInt32LE(Math.round(value * 1000), at)
      bytes.writeUInt32LE(1000, at + 4)
    } else if (type === 12) bytes.writeDoubleLE(value, at)
    else bytes.writeBigUInt64LE(BigInt(value), at)
  })
  return bytes
}

/** Pages, each with the smaller levels that lie below it. */
export const writeTiledPages = (
  path: string,
  pageLevels: readonly (readonly TiledLevel[])[],
  options: Omit<TiledTiffOptions, 'isBelow'>
): void => {
  const { tile, isBig = false, description, perCentimetre, compression = 1, elementType = 'uint8' } = options
  const { compress = (bytes) => bytes, tags = [] } = options
  const [format, { BYTES_PER_ELEMENT: bytes }] = sampleTypes[elementType]
  const bits = 8 * bytes
  const parts: Buffer[] = [Buffer.alloc(16)]
  let length = 16
  const put = (bytes: Buffer): number => {
    const at = length
    parts.push(bytes)
    length += bytes.length
    return at
  }
  const [offsetType, offsetBytes] = isBig ? ([16, 8] as const) : ([4, 4] as const)
  const fieldsOf = (level: TiledLevel, index: number, below: readonly number[]): readonly Field[] => {
    const { height, width, isStrip, channels = options.channels, description: text = index === 0 ? description : undefined } = level
    const { photometric = channels === 3 ? 2 : 1 } = options
    const pixelBytes = (channels * bits) / 8
    const rows = isStrip ? [0] : Array.from({ length: Math.ceil(height / tile) }, (_, row) => row * tile)
    const columns = isStrip ? [0] : Array.from({ length: Math.ceil(width / tile) }, (_, column) => column * tile)
    const tiles = rows.flatMap((top) =>
      columns.map((left) => compress(isStrip ? Buffer.from(level.pixels) : tileOf(level, pixelBytes, tile, top, left)))
    )
    const places = tiles.map(put)
    const counts = tiles.map(({ length: bytes }) => bytes)
    const fields: readonly (Field | undefined)[] = [
      [254, 4, [index === 0 ? 0 : 1]],
      [256, 4, [width]],
      [257, 4, [height]],
      [258, 3, Array<number>(channels).fill(bits)],
      [259, 3, [compression]],
      [262, 3, [photometric]],
      text === undefined ? undefined : [270, 2, [...Buffer.from(`${text}\0`, 'utf8')]],
      isStrip ? [273, offsetType, places] : undefined,
      [277, 3, [channels]],
      isStrip ? [278, 4, [height]] : undefined,
      isStrip ? [279, offsetType, counts] : undefined,
      perCentimetre === undefined ? undefined : [282, 5, [perCentimetre]],
      perCentimetre === undefined ? undefined : [283, 5, [perCentimetre]],
      perCentimetre === undefined ? undefined : [296, 3, [3]],
      isStrip ? undefined : [322, 3, [tile]],
      isStrip ? undefined : [323, 3, [tile]],
      isStrip ? undefined : [324, offsetType, places],
      isStrip ? undefined : [325, offsetType, counts],
      below.length === 0 ? undefined : [330, isBig ? 18 : 13, below],
      [339, 3, Array<number>(channels).fill(format)]
    ]
    const own = [...(index === 0 ? tags : []), ...(level.tags ?? [])]
    const others = fields.flatMap((field) => (field === undefined || own.some(([tag]) => tag === field[0]) ? [] : [field]))
    return [...others, ...own].sort(([one], [other]) => one - other)
  }
  /**
   * Answers where the directory lies, and where in its bytes the place of the next one is written.
   */
  const putDirectory = (fields: readonly Field[]): { readonly at: number; readonly bytes: Buffer; readonly next: number } => {
    const [countBytes, entryBytes] = isBig ? [8, 20] : [2, 12]
    const places = fields.map(([, type, values]) => {
      const bytes = valuesOf(type, values)
      return bytes.length <= offsetBytes ? bytes : valuesOf(offsetType, [put(bytes)])
    })
    const bytes = Buffer.alloc(countBytes + entryBytes * fields.length + offsetBytes)
    if (isBig) bytes.writeBigUInt64LE(BigInt(fields.length), 0)
    else bytes.writeUInt16LE(fields.length, 0)
    fields.forEach(([tag, type, values], index) => {
      const at = countBytes + entryBytes * index
      bytes.writeUInt16LE(tag, at)
      bytes.writeUInt16LE(type, at + 2)
      valuesOf(offsetType, [values.length]).copy(bytes, at + 4)
      places[index]!.copy(bytes, at + 4 + offsetBytes)
    })
    return { at: put(bytes), bytes, next: bytes.length - offsetBytes }
  }
  const pages = pageLevels.map(([level, ...smaller], page) => {
    const below = smaller.map((one, index) => putDirectory(fieldsOf(one, index + 1, [])).at)
    return putDirectory(fieldsOf(level!, page, below))
  })
  pages.slice(1).forEach(({ at }, index) => valuesOf(offsetType, [at]).copy(pages[index]!.bytes, pages[index]!.next))
  const head = parts[0]!
  head.write('II', 0, 'latin1')
  head.writeUInt16LE(isBig ? 43 : 42, 2)
  if (isBig) head.writeUInt16LE(8, 4)
  valuesOf(offsetType, [pages[0]!.at]).copy(head, isBig ? 8 : 4)
  writeFileSync(path, Buffer.concat(parts))
}

/** Levels, finest first, uncompressed. */
export const writeTiledTiff = (path: string, levels: readonly TiledLevel[], options: TiledTiffOptions): void =>
  writeTiledPages(path, options.isBelow ? [levels] : levels.map((level) => [level]), options)

/**
 * Writes an 8-bit RGB BigTIFF of any size, in tiles of 512x512 that are all the same few, so that
 * the file is small.
 */
export const writeRepeatedTiff = (path: string, side: number): void => {
  const [tile, kinds] = [512, 8]
  const across = Math.ceil(side / tile)
  const tiles = Array.from({ length: kinds }, (_, kind) =>
    deflateSync(
      Uint8Array.from({ length: tile * tile * 3 }, (__, at) => {
        const [row, column] = [Math.floor(at / (3 * tile)), Math.floor(at / 3) % tile]
        return [(column >> 4) * kind + 20, (row >> 4) * (kind + 1), 31 * kind + 8 * ((row ^ column) >> 5)][at % 3]!
      })
    )
  )
  const start = 16
  const places = tiles.map((_, kind) => start + tiles.slice(0, kind).reduce((sum, { length }) => sum + length, 0))
  const kindOf = (index: number): number => (7 * index + 3 * Math.floor(index / across)) % kinds
  const all = Array.from({ length: across * across }, (_, index) => kindOf(index))
  const lists = [all.map((kind) => places[kind]!), all.map((kind) => tiles[kind]!.length)].map((values) => valuesOf(16, values))
  const listsAt = places.at(-1)! + tiles.at(-1)!.length
  const fields: readonly Field[] = [
    [256, 4, [side]],
    [257, 4, [side]],
    [258, 3, [8, 8, 8]],
    [259, 3, [8]],
    [262, 3, [2]],
    [277, 3, [3]],
    [322, 3, [tile]],
    [323, 3, [tile]]
  ]
  const entry = (tag: number, type: number, count: number, value: Buffer): Buffer => {
    const bytes = Buffer.alloc(20)
    bytes.writeUInt16LE(tag, 0)
    bytes.writeUInt16LE(type, 2)
    bytes.writeBigUInt64LE(BigInt(count), 4)
    value.copy(bytes, 12)
    return bytes
  }
  const listEntries = lists.map((list, index) =>
    entry(324 + index, 16, all.length, all.length === 1 ? list : valuesOf(16, [listsAt + index * list.length]))
  )
  const header = Buffer.alloc(start)
  header.write('II', 0, 'latin1')
  header.writeUInt16LE(43, 2)
  header.writeUInt16LE(8, 4)
  header.writeBigUInt64LE(BigInt(listsAt + 16 * all.length), 8)
  const directory = [
    valuesOf(16, [fields.length + listEntries.length]),
    ...fields.map(([tag, type, values]) => entry(tag, type, values.length, valuesOf(type, values))),
    ...listEntries,
    Buffer.alloc(8)
  ]
  writeFileSync(path, Buffer.concat([header, ...tiles, ...lists, ...directory]))
}
