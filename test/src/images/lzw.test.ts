/** LZW of TIFF: tables that are filled to their end, and data that are damaged. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openImage } from '../../../src/images/image-source'
import { decodeLzw } from '../../../src/images/tiff/lzw'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const [clear, end] = [256, 257]
const side = 256
const size = side * side
const noise = (index: number): number => {
  const mixed = Math.imul(index + 1, 2654435761)
  return (Math.imul(mixed ^ (mixed >>> 15), 2246822519) >>> 13) & 0xff
}
/** Noise until the table is nearly full, then a run, each code of which is the one before it. */
const pixels = Uint8Array.from({ length: size }, (_, index) => (index > 3700 && index < 40000 ? 7 : noise(index)))

/** Data by TIFF 6.0, section 13, that clears its table at entry `last`, and the largest code. */
const encode = (data: Uint8Array, last: number): { readonly bytes: Buffer; readonly largest: number } => {
  const bits: number[] = []
  let [table, next, width, largest] = [new Map<string, number>(), end + 1, 9, 0]
  const put = (code: number): void => {
    for (let bit = width - 1; bit >= 0; bit -= 1) bits.push((code >> bit) & 1)
    largest = Math.max(largest, code)
  }
  const reset = (): void => {
    put(clear)
    ;[table, next, width] = [new Map(), end + 1, 9]
  }
  const add = (text: string): void => {
    if (next <= 4095) table.set(text, next)
    if (next === last) reset()
    else if ([511, 1023, 2047].includes(next++)) width += 1
  }
  const codeOf = (text: string): number => (text.length === 1 ? text.charCodeAt(0) : table.get(text)!)
  reset()
  let known = ''
  for (const byte of data) {
    const longer = known + String.fromCharCode(byte)
    if (longer.length === 1 || table.has(longer)) known = longer
    else {
      put(codeOf(known))
      add(longer)
      known = String.fromCharCode(byte)
    }
  }
  put(codeOf(known))
  add('')
  put(end)
  const bytes = Buffer.alloc(Math.ceil(bits.length / 8))
  bits.forEach((bit, index) => (bytes[index >> 3]! |= bit << (7 - (index & 7))))
  return { bytes, largest }
}

const path = join(temporaryFolder(), 'lzw.tif')
const write = (compress: (tile: Buffer) => Buffer): void =>
  writeTiledTiff(path, [{ height: side, width: side, pixels }], { tile: side, channels: 1, compression: 5, compress })
const readAll = async () => (await valueOf(openImage(path, { level: 0, bands: [1] }))).read!({ top: 0, left: 0, height: side, width: side })

for (const [name, last, code] of [
  ['cleared where TIFF 6.0 has it', 4094, 4093],
  ['cleared at its last entry', 4095, 4094],
  ['never cleared', Infinity, 4095]
] as const)
  test(`pixels whose table is full, and ${name}, are read as they are`, async () => {
    const { bytes, largest } = encode(pixels, last)
    assert.is(largest, code)
    write(() => bytes)
    assert.equal(Buffer.from(await valueOf(await readAll())), Buffer.from(pixels))
  })

test('data that are cut end early; data of more than the tile has end with it', () => {
  const { bytes } = encode(pixels, 4094)
  assert.equal(Buffer.from(decodeLzw(bytes, 1000)), Buffer.from(pixels.subarray(0, 1000)))
  const cut = decodeLzw(bytes.subarray(0, 3000), size)
  assert.ok(cut.length > 1000 && cut.length < size)
  assert.equal(Buffer.from(cut), Buffer.from(pixels.subarray(0, cut.length)))
  assert.is(decodeLzw(new Uint8Array(), size).length, 0)
})

test('damaged data end in a sentence, or in no more than the tile has', async () => {
  const { bytes } = encode(pixels, 4094)
  for (let seed = 0; seed < 300; seed += 1) {
    const damaged = Buffer.from(bytes)
    for (let i = 0; i < 20; i += 1) damaged[noise(seed * 20 + i) * 19] = noise(seed + 7 * i)
    try {
      assert.ok(decodeLzw(damaged, size).length <= size)
    } catch (thrown) {
      assert.match((thrown as Error).message, /^its LZW data have code \d+ where \d+ is the largest$/)
    }
  }
  write(() => bytes)
  const file = readFileSync(path)
  for (const [fill, fault] of [
    [0xff, 'its LZW data have code 511 where 258 is the largest'],
    [0, 'it ends before all of its values']
  ] as const) {
    writeFileSync(path, Buffer.from(file).fill(fill, 18, 16 + bytes.length))
    const { message } = await failureOf(await readAll())
    assert.match(message, new RegExp(`lzw\\.tif cannot be read at rows 0 to 255, columns 0 to 255: ${fault}; it is cut or damaged there`))
  }
})

test.run()
