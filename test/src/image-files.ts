/** Image files as no library writes them: PNG and TIFF by their specifications. */
import { writeFileSync } from 'node:fs'
import { crc32, deflateSync } from 'node:zlib'

export const chunk = (name: string, data: Uint8Array): Buffer => {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

export interface PngOptions {
  readonly height: number
  readonly width: number
  readonly bitDepth: 1 | 2 | 4 | 8
  readonly isPalette?: boolean
  readonly isInterlaced?: boolean
  /** Between header and samples. */
  readonly chunks?: readonly Buffer[]
}

/** Of Adam7: first row and column, and the steps between them (PNG specification, 8.2). */
const passes = [
  [0, 0, 8, 8],
  [0, 4, 8, 8],
  [4, 0, 8, 4],
  [0, 2, 4, 4],
  [2, 0, 4, 2],
  [0, 1, 2, 2],
  [1, 0, 2, 1]
] as const

const range = (from: number, to: number, step: number): readonly number[] =>
  Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, index) => from + index * step)

/**
 * A row of samples, packed from the highest bit on, after the byte that says that it is not
 * filtered.
 */
const packed = (samples: readonly number[], bitDepth: number): Buffer => {
  const row = Buffer.alloc(1 + Math.ceil((samples.length * bitDepth) / 8))
  samples.forEach((sample, index) => {
    const bit = index * bitDepth
    row[1 + (bit >> 3)]! |= sample << (8 - bitDepth - (bit & 7))
  })
  return row
}

/** A grey PNG, or one with a palette of colours that have nothing to do with the indices. */
export const writePng = (path: string, values: ArrayLike<number>, options: PngOptions): void => {
  const { height, width, bitDepth, isPalette = false, isInterlaced = false, chunks = [] } = options
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([bitDepth, isPalette ? 3 : 0, 0, 0, isInterlaced ? 1 : 0], 8)
  const rows = (isInterlaced ? passes : [[0, 0, 1, 1] as const]).flatMap(([top, left, down, right]) => {
    const columns = range(left, width, right)
    return columns.length === 0
      ? []
      : range(top, height, down).map((y) =>
          packed(
            columns.map((x) => values[y * width + x]!),
            bitDepth
          )
        )
  })
  const palette = isPalette
    ? [
        chunk(
          'PLTE',
          Uint8Array.from({ length: 3 * 2 ** bitDepth }, (_, index) => (index * 89) % 256)
        )
      ]
    : []
  writeFileSync(
    path,
    Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', header),
      ...palette,
      ...chunks,
      chunk('IDAT', deflateSync(Buffer.concat(rows))),
      chunk('IEND', Buffer.alloc(0))
    ])
  )
}

/** A grey ICC profile (ICC.1:2001) of a gamma, as image editors put it into grey files. */
export const greyProfile = (gamma: number): Buffer => {
  const tag = (type: string, ...rest: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from(type, 'latin1'), Buffer.alloc(4), ...rest])
  const numbers = (...values: readonly number[]): Buffer => {
    const bytes = Buffer.alloc(4 * values.length)
    values.forEach((value, index) => bytes.writeInt32BE(value, 4 * index))
    return bytes
  }
  const curve = Buffer.alloc(4)
  curve.writeUInt16BE(Math.round(gamma * 256))
  const name = Buffer.from('grey\0', 'latin1')
  const tags = [
    ['desc', tag('desc', numbers(name.length), name, Buffer.alloc(79))],
    ['cprt', tag('text', Buffer.from('none\0', 'latin1'), Buffer.alloc(3))],
    ['wtpt', tag('XYZ ', numbers(0xf6d6, 0x10000, 0xd32d))],
    ['kTRC', tag('curv', numbers(1), curve)]
  ] as const
  const table: Buffer[] = [numbers(tags.length)]
  const bodies: Buffer[] = []
  let offset = 128 + 4 + 12 * tags.length
  for (const [signature, body] of tags) {
    const aligned = Buffer.concat([body, Buffer.alloc((4 - (body.length % 4)) % 4)])
    table.push(Buffer.from(signature, 'latin1'), numbers(offset, body.length))
    bodies.push(aligned)
    offset += aligned.length
  }
  const header = Buffer.alloc(128)
  header.writeUInt32BE(offset, 0)
  header.writeUInt32BE(0x02400000, 8)
  header.write('mntrGRAYXYZ ', 12, 'latin1')
  header.write('acsp', 36, 'latin1')
  numbers(0xf6d6, 0x10000, 0xd32d).copy(header, 68)
  return Buffer.concat([header, ...table, ...bodies])
}

export const profileChunk = (profile: Buffer): Buffer =>
  chunk('iCCP', Buffer.concat([Buffer.from('grey\0\0', 'latin1'), deflateSync(profile)]))

/** TIFF's number of the sample format, and an array of such samples. */
export const sampleTypes = {
  uint8: [1, Uint8Array],
  int8: [2, Int8Array],
  uint16: [1, Uint16Array],
  int16: [2, Int16Array],
  uint32: [1, Uint32Array],
  int32: [2, Int32Array],
  float32: [3, Float32Array],
  float64: [3, Float64Array]
} as const

export interface TiffOptions {
  readonly height: number
  readonly width: number
  readonly type: keyof typeof sampleTypes
  readonly channels?: number
  /** 0 and 1 grey, 2 RGB, 5 CMYK, 6 YCbCr, 8 Lab, 32803 of a camera's sensor. */
  readonly photometric?: 0 | 1 | 2 | 5 | 6 | 8 | 32803
  /** Of channels beyond the colours: 0 unspecified, 2 transparency. */
  readonly extraSamples?: readonly number[]
}

/** An uncompressed little-endian TIFF 6.0 of one strip. */
export const writeTiff = (path: string, values: readonly number[], options: TiffOptions): void => {
  const { height, width, type, channels = 1, photometric = channels >= 3 ? 2 : 1, extraSamples = [] } = options
  const [format, Samples] = sampleTypes[type]
  const samples = Buffer.from(Samples.from(values).buffer)
  const bits = 8 * Samples.BYTES_PER_ELEMENT
  const [short, long] = [3, 4]
  const fields = [
    [256, long, [width]],
    [257, long, [height]],
    [258, short, Array<number>(channels).fill(bits)],
    [259, short, [1]],
    [262, short, [photometric]],
    [273, long, [8]],
    [277, short, [channels]],
    [278, long, [height]],
    [279, long, [samples.length]],
    ...(extraSamples.length === 0 ? [] : [[338, short, extraSamples] as const]),
    [339, short, Array<number>(channels).fill(format)]
  ] as const
  const start = 8 + samples.length + (samples.length % 2)
  const directory = Buffer.alloc(2 + 12 * fields.length + 4)
  const beyond: Buffer[] = []
  let place = start + directory.length
  directory.writeUInt16LE(fields.length, 0)
  fields.forEach(([tag, kind, list], index) => {
    const at = 2 + 12 * index
    const bytes = Buffer.alloc(Math.max(4, list.length * (kind === short ? 2 : 4)))
    list.forEach((value, entry) => (kind === short ? bytes.writeUInt16LE(value, 2 * entry) : bytes.writeUInt32LE(value, 4 * entry)))
    directory.writeUInt16LE(tag, at)
    directory.writeUInt16LE(kind, at + 2)
    directory.writeUInt32LE(list.length, at + 4)
    if (bytes.length === 4) bytes.copy(directory, at + 8)
    else {
      directory.writeUInt32LE(place, at + 8)
      beyond.push(bytes)
      place += bytes.length
    }
  })
  const header = Buffer.from('II*\0\0\0\0\0', 'latin1')
  header.writeUInt32LE(start, 4)
  writeFileSync(path, Buffer.concat([header, samples, Buffer.alloc(samples.length % 2), directory, ...beyond]))
}
