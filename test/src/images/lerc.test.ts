/** LERC in TIFF: bytes that are not packed, floats that are no number, and transparency. */
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { PixelType } from '../../../native'
import { openImage } from '../../../src/images/image-source'
import { asBytes, asElements } from '../../../src/images/samples'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { type TiledTiffOptions, writeTiledTiff } from '../tiled-tiff'

const side = 16
const path = join(temporaryFolder(), 'lerc.tif')
const imageTypes = { int8: 0, uint8: 1, int16: 2, uint16: 3, float32: 6 } as const

const fletcher = (bytes: Buffer): number => {
  let [one, two] = [0xffff, 0xffff]
  for (let at = 0; at < bytes.length; at += 2) {
    one = (one + bytes[at]! * 256 + (bytes[at + 1] ?? 0)) % 0xffff
    two = (two + one) % 0xffff
  }
  return ((two || 0xffff) * 65536 + (one || 0xffff)) >>> 0
}

/** LERC 2.4 that packs nothing: of pixels that are not absent, one after the other. */
const encode = (type: PixelType, values: Buffer, dims: number, isThere?: (pixel: number) => boolean): Buffer => {
  const pixels = side * side
  const there = Array.from({ length: pixels }, (_, pixel) => isThere?.(pixel) ?? true)
  const bytes = values.length / pixels
  const bits = Buffer.alloc(pixels / 8)
  there.forEach((is, pixel) => (bits[pixel >> 3]! |= is ? 128 >> (pixel & 7) : 0))
  const mask = there.includes(false) ? Buffer.concat([Buffer.from([bits.length, 0]), bits, Buffer.from([0, 0x80])]) : Buffer.alloc(0)
  // Least and largest value of each of the dims: of no use here, but that they differ.
  const ranges = Buffer.concat([Buffer.alloc(bytes), Buffer.alloc(bytes, 1)])
  const kept = there.flatMap((is, pixel) => (is ? [values.subarray(pixel * bytes, (pixel + 1) * bytes)] : []))
  const header = Buffer.alloc(66)
  const body = Buffer.concat([Buffer.alloc(4), mask, ranges, Buffer.from([1]), ...kept])
  body.writeInt32LE(mask.length, 0)
  header.write('Lerc2 ', 0, 'latin1')
  header.writeInt32LE(4, 6)
  const numbers = [side, side, dims, kept.length, 8, header.length + body.length, imageTypes[type]]
  numbers.forEach((number, index) => header.writeInt32LE(number, 14 + 4 * index))
  header.writeDoubleLE(1, 58)
  const blob = Buffer.concat([header, body])
  blob.writeUInt32LE(fletcher(blob.subarray(14)), 10)
  return blob
}

const method = [50674, 4, [4, 0]] as const
const write = (type: PixelType, channels: number, stored: Buffer, options: Partial<TiledTiffOptions> = {}): void => {
  const pixels = new Uint8Array(side * side * channels * (type === 'float32' ? 4 : type === 'uint8' ? 1 : 2))
  writeTiledTiff(path, [{ height: side, width: side, pixels }], {
    ...{ tile: side, channels, elementType: type, photometric: 1, compression: 34887, compress: () => stored, tags: [method], ...options }
  })
}
const readBands = async (channels: number) => {
  const { read } = await valueOf(openImage(path, { level: 0, bands: Array.from({ length: channels }, (_, band) => band + 1) }))
  return read!({ top: 0, left: 0, height: side, width: side })
}
const valuesOf = async (type: PixelType, channels: number) => [...asElements(type, await valueOf(await readBands(channels)))]

const noise = Buffer.from(Array.from({ length: 4 * side * side }, (_, index) => (Math.imul(index + 1, 2654435761) >>> 16) & 255))
const bytesOf = (channels: number): Buffer => noise.subarray(0, channels * side * side)

test('bytes that LERC does not pack, in one band or several, and compressed once more, are read as they are', async () => {
  for (const channels of [1, 3]) {
    write('uint8', channels, encode('uint8', bytesOf(channels), channels))
    assert.equal(await valuesOf('uint8', channels), [...bytesOf(channels)])
  }
  write('uint8', 1, deflateSync(encode('uint8', bytesOf(1), 1)), { tags: [[50674, 4, [4, 1]]] })
  assert.equal(await valuesOf('uint8', 1), [...bytesOf(1)])
})

test('values of 16 bits, and floats', async () => {
  for (const [type, channels] of [
    ['uint16', 2],
    ['float32', 1]
  ] as const) {
    const values = asElements(type, asBytes(Float32Array.from({ length: side * side }, (_, index) => index / 7)))
    write(type, channels, encode(type, Buffer.from(asBytes(values)), channels))
    assert.equal(await valuesOf(type, channels), [...values])
  }
})

test('floats that LERC leaves out are no numbers: read as -0, by which the measure of means passes over them', async () => {
  const values = Float32Array.from({ length: 2 * side * side }, (_, index) => index + 1)
  const isThere = (pixel: number): boolean => pixel % 3 > 0
  write('float32', 2, encode('float32', Buffer.from(asBytes(values)), 2, isThere))
  const wanted = Array.from(values, (value, index) => (isThere(Math.floor(index / 2)) ? value : -0))
  assert.ok((await valuesOf('float32', 2)).every((value, index) => Object.is(value, wanted[index])))
})

test('transparency of 0 or 255 that LERC keeps as what is left out is a band', async () => {
  const isThere = (pixel: number): boolean => pixel % 5 > 0
  const tags = [method, [338, 3, [2]]] as const
  write('uint8', 4, encode('uint8', bytesOf(3), 3, isThere), { photometric: 2, tags })
  const wanted = Array.from({ length: side * side }, (_, pixel) =>
    isThere(pixel) ? [...bytesOf(3).subarray(3 * pixel, 3 * pixel + 3), 255] : [0, 0, 0, 0]
  )
  assert.equal(await valuesOf('uint8', 4), wanted.flat())
  write('uint8', 4, encode('uint8', bytesOf(3), 3), { photometric: 2, tags })
  assert.equal((await valuesOf('uint8', 4))[3], 255)
})

test('LERC of other bands than the file says, and damaged data, are refused by their place', async () => {
  const place = 'lerc.tif cannot be read at rows 0 to 15, columns 0 to 15'
  write('uint8', 3, encode('uint8', bytesOf(1), 1))
  assert.match((await failureOf(await readBands(3))).message, `${place}: its LERC data have 1 values a pixel instead of 3; it is cut`)
  const endless = encode('uint8', bytesOf(1), 1)
  endless.writeInt32LE(2, 6)
  endless.writeInt32LE(0, 26)
  write('uint8', 1, endless)
  assert.match(
    (await failureOf(await readBands(1))).message,
    `${place}: its LERC data are not as long as they say, or no single plane; it is cut`
  )
  write('uint8', 1, encode('uint8', bytesOf(1), 1).fill(9, 90, 99))
  assert.match((await failureOf(await readBands(1))).message, `${place}: Checksum failed; it is cut`)
})

test.run()
