/** What image files can hold: read exactly, or refused by name. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { asElements } from '../../../src/images/samples'
import { decodeImage } from '../../../src/images/decode-image'
import { fileReason, readHeader } from '../../../src/images/image-header'
import { imageNotices } from '../../../src/images/image-notices'
import { decodeMask, inspectMask, openMask } from '../../../src/datasets/masks/masks'
import type { Extent2 } from '../../../src/images/resolution'
import { noise } from '../example-images'
import { type PngOptions, type TiffOptions, chunk, greyProfile, profileChunk, writePng, writeTiff } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const one: Extent2 = { height: 1, width: 1 }
const bytesOf = async (path: string, least = one): Promise<readonly number[]> => [
  ...((await valueOf(decodeImage(path, least))).pixels as Uint8Array)
]

const ramp = [0, 1, 2, 3]
const tiff = (name: string, options: Omit<TiffOptions, 'height' | 'width'>, values: readonly number[] = ramp): string => {
  const samples = Array.from({ length: 4 * (options.channels ?? 1) }, (_, index) => values[index % values.length]!)
  writeTiff(at(name), samples, { height: 2, width: 2, ...options })
  return at(name)
}

test('TIFFs of 8-bit samples are read as they are: grey, RGB, with a channel beside', async () => {
  assert.equal(
    await bytesOf(tiff('grey.tif', { type: 'uint8' }, [0, 100, 200, 255])),
    [0, 0, 0, 100, 100, 100, 200, 200, 200, 255, 255, 255]
  )
  const rgb = Array.from({ length: 12 }, (_, index) => index * 20)
  assert.equal(await bytesOf(tiff('rgb.tif', { type: 'uint8', channels: 3 }, rgb)), rgb)
  const beside = Array.from({ length: 16 }, (_, index) => index * 15)
  const path = tiff('beside.tif', { type: 'uint8', channels: 4, extraSamples: [0] }, beside)
  assert.equal(
    await bytesOf(path),
    beside.filter((_, index) => index % 4 !== 3)
  )
  assert.ok((await valueOf(readHeader(path))).hasAlpha)
})

test('signed bytes are read as int16', async () => {
  const path = tiff('signed.tif', { type: 'int8' }, [-128, -1, 0, 127])
  const { pixels, elementType } = await valueOf(decodeImage(path, one, undefined, { level: 0, channels: 1 }))
  assert.is(elementType, 'int16')
  assert.equal([...asElements('int16', pixels as Uint8Array)], [-128, -1, 0, 127])
})

const refused: readonly (readonly [options: Omit<TiffOptions, 'height' | 'width'>, sentence: RegExp])[] = [
  [{ type: 'uint32' }, /has 32-bit samples, but uint8, int8, uint16, int16 and float32 are read: convert it$/],
  [{ type: 'int32' }, /has signed 32-bit samples, but/],
  [{ type: 'float64' }, /has floating-point 64-bit samples, but/],
  [{ type: 'uint8', channels: 3, photometric: 8 }, /the image .* (has|cannot be read)/]
]

test('TIFFs of other samples and colours are refused by name', async () => {
  for (const [options, sentence] of refused) {
    const { code, message } = await failureOf(decodeImage(tiff('refused.tif', options), one))
    assert.is(code, 'input')
    assert.match(message, /^the image .*refused\.tif /)
    assert.match(message, sentence, JSON.stringify(options))
  }
})

test('TIFFs whose colours the decoder would hand out as other ones are refused; it makes those of JPEG right', async () => {
  const yCbCr = { type: 'uint8', channels: 3, photometric: 6 } as const
  assert.match(
    (await failureOf(decodeImage(tiff('ycc.tif', yCbCr), one))).message,
    /^the image .*ycc\.tif has YCbCr colours that are not compressed as JPEG: store it as RGB$/
  )
  assert.match(
    (await failureOf(readHeader(tiff('sensor.tif', { type: 'uint8', photometric: 32803 })))).message,
    /sensor\.tif has colours of a kind that is not read \(photometric interpretation 32803\): store it as RGB$/
  )
  assert.equal(
    await bytesOf(tiff('white.tif', { type: 'uint8', photometric: 0 }, [0, 255, 55, 100])),
    [255, 0, 200, 155].flatMap((value) => [value, value, value])
  )
  const reds = Buffer.from(Array.from({ length: 3 * 32 * 32 }, (_, index) => (index % 3 === 0 ? 220 : 20)))
  const image = () => sharp(reds, { raw: { width: 32, height: 32, channels: 3 } })
  for (const [name, options] of [
    ['jpeg.tif', { compression: 'jpeg', quality: 100 }],
    ['big.tif', { compression: 'lzw', bigtiff: true }],
    ['big-jpeg.tif', { compression: 'jpeg', quality: 100, bigtiff: true, tile: true, tileWidth: 16, tileHeight: 16 }]
  ] as const) {
    await image().tiff(options).toFile(at(name))
    const [r, g, b] = await bytesOf(at(name))
    assert.ok(Math.abs(r! - 220) < 5 && Math.abs(g! - 20) < 5 && Math.abs(b! - 20) < 5, `${name}: ${r},${g},${b}`)
  }
  // The same bytes with the high ones first.
  const little = readFileSync(tiff('little.tif', yCbCr))
  writeFileSync(at('high-first.tif'), highFirst(little))
  assert.match((await failureOf(readHeader(at('high-first.tif')))).message, /has YCbCr colours that are not compressed as JPEG/)
})

/** A little-endian TIFF of one directory, whose values have 2 or 4 bytes, as a big-endian one. */
const highFirst = (little: Buffer): Buffer => {
  const big = Buffer.from(little)
  const turn = (at: number, size: number): void => void big.subarray(at, at + size).reverse()
  const start = little.readUInt32LE(4)
  const count = little.readUInt16LE(start)
  big.write('MM', 0, 'latin1')
  turn(2, 2)
  turn(4, 4)
  turn(start, 2)
  for (let at = start + 2; at < start + 2 + 12 * count; at += 12) {
    const size = little.readUInt16LE(at + 2) === 3 ? 2 : 4
    const length = little.readUInt32LE(at + 4)
    const values = size * length > 4 ? little.readUInt32LE(at + 8) : at + 8
    for (let value = 0; value < length; value += 1) turn(values + size * value, size)
    if (size * length > 4) turn(at + 8, 4)
    turn(at, 2)
    turn(at + 2, 2)
    turn(at + 4, 4)
  }
  return big
}

test('another image under the same name is read anew, in every format', async () => {
  for (const [name, encode] of [
    ['same.webp', (image: sharp.Sharp) => image.webp({ lossless: true })],
    ['same.png', (image: sharp.Sharp) => image.png()],
    ['same.jpg', (image: sharp.Sharp) => image.jpeg({ quality: 100 })],
    ['same.tif', (image: sharp.Sharp) => image.tiff({ compression: 'lzw' })]
  ] as const)
    for (const [level, size] of [
      [10, 16],
      [200, 16],
      [200, 32]
    ] as const) {
      const image = sharp(Buffer.alloc(3 * size * size, level), { raw: { width: size, height: size, channels: 3 } })
      writeFileSync(at(name), await encode(image).toBuffer())
      assert.is((await valueOf(readHeader(at(name)))).height, size, name)
      assert.equal(new Set(await bytesOf(at(name))), new Set([level]), name)
      assert.is((await bytesOf(at(name))).length, 3 * size * size)
    }
})

test('PNGs of 1, 2 and 4 bits are grey over the whole range, palettes their colours', async () => {
  for (const bitDepth of [1, 2, 4, 8] as const) {
    const most = 2 ** bitDepth - 1
    const options: PngOptions = { height: 2, width: 2, bitDepth }
    writePng(at('grey.png'), [0, most, most, 0], options)
    assert.equal(await bytesOf(at('grey.png')), [0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0])
    writePng(at('palette.png'), [0, 1, 1, 0], { ...options, isPalette: true })
    const colours = [
      [0, 89, 178],
      [11, 100, 189]
    ] as const
    assert.equal(await bytesOf(at('palette.png')), [...colours[0], ...colours[1], ...colours[1], ...colours[0]])
  }
})

const red = Buffer.from([255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0])
const raw = { raw: { width: 2, height: 2, channels: 3 } } as const

test('CMYK and colours of another profile become sRGB', async () => {
  await sharp(red, raw).toColourspace('cmyk').jpeg({ quality: 100 }).toFile(at('cmyk.jpg'))
  const [r, g, b] = await bytesOf(at('cmyk.jpg'))
  assert.ok(r! > 200 && g! < 60 && b! < 60, `${r},${g},${b}`)
  await sharp(red, raw).withIccProfile('p3').png().toFile(at('p3.png'))
  const profiled = await bytesOf(at('p3.png'))
  assert.ok(profiled[0]! > 250 && profiled[1]! < 8 && profiled[2]! < 8)
})

test('colours beneath transparency count, enlarged or not', async () => {
  const hidden = Buffer.from([200, 10, 20, 0, 200, 10, 20, 255, 200, 10, 20, 128, 200, 10, 20, 1])
  await sharp(hidden, { raw: { width: 2, height: 2, channels: 4 } })
    .png()
    .toFile(at('hidden.png'))
  for (const least of [one, { height: 5, width: 4 }]) {
    const pixels = await bytesOf(at('hidden.png'), least)
    pixels.forEach((value, index) => assert.is(value, [200, 10, 20][index % 3]))
  }
})

test('orientation tags are not applied; they, pages and transparency are told', async () => {
  const row = Buffer.from([255, 0, 0, 0, 0, 255])
  const wide = { raw: { width: 2, height: 1, channels: 3 } } as const
  await sharp(row, wide).withMetadata({ orientation: 6 }).png().toFile(at('turned.png'))
  const { height, width } = await valueOf(decodeImage(at('turned.png'), one))
  assert.equal([height, width], [1, 2])
  assert.equal(await bytesOf(at('turned.png')), [...row])
  const frames = await Promise.all([row, Buffer.from([9, 9, 9, 90, 90, 90])].map((frame) => sharp(frame, wide).png().toBuffer()))
  await sharp(frames, { join: { animated: true } })
    .webp({ lossless: true })
    .toFile(at('animated.webp'))
  await sharp(frames, { join: { animated: true } })
    .tiff({ compression: 'none' })
    .toFile(at('pages.tif'))
  assert.equal(await bytesOf(at('animated.webp')), [...row])
  assert.equal(await bytesOf(at('pages.tif')), [...row])
  await sharp(row, wide).ensureAlpha(0.5).png().toFile(at('clear.png'))
  const names = ['turned.png', 'animated.webp', 'pages.tif', 'clear.png']
  const seen = await Promise.all(names.map(async (name) => ({ path: name, header: await valueOf(readHeader(at(name))) })))
  assert.equal(imageNotices(seen), [
    '2 of 4 images have several pages or frames, of which the first is read: animated.webp, …',
    '1 of 4 images have a channel beside the colours, such as transparency, which is dropped: clear.png',
    '1 of 4 images have an orientation tag, which is not applied: turned.png'
  ])
  assert.equal(imageNotices(seen.slice(0, 1)), ['the image turned.png has an orientation tag, which is not applied'])
  // Of 16 bits, which another decoder reads.
  writeTiledTiff(at('turned.tif'), [{ height: 1, width: 2, pixels: new Uint8Array(4) }], {
    ...{ tile: 16, channels: 1, elementType: 'uint16' },
    tags: [[274, 3, [6]]]
  })
  const header = await valueOf(readHeader(at('turned.tif'), { level: 0, channels: 1 }))
  assert.equal(imageNotices([{ path: 'turned.tif', header }]), ['the image turned.tif has an orientation tag, which is not applied'])
})

test('other formats under these names are refused by name', async () => {
  writeFileSync(at('drawing.png'), '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"><rect width="2" height="2"/></svg>')
  await sharp(red, raw).gif().toFile(at('gif.png'))
  await sharp(red, raw).avif().toFile(at('avif.jpg'))
  for (const [name, format] of [
    ['drawing.png', 'svg'],
    ['gif.png', 'gif'],
    ['avif.jpg', 'heif']
  ])
    assert.match((await failureOf(decodeImage(at(name!), one))).message, new RegExp(`is of the format ${format}: store it as PNG, JPEG`))
})

test('a header that is cut, an empty file, and another format have a sentence each', async () => {
  const whole = sharp(Buffer.alloc(3 * 64 * 64, 7), { raw: { height: 64, width: 64, channels: 3 } })
  for (const [format, kept] of [
    ['PNG', 20],
    ['JPEG', 40],
    ['WebP', 18],
    ['TIFF', 6]
  ] as const) {
    const file = at(`header.${format}`)
    const bytes = await whole
      .clone()
      .toFormat(format.toLowerCase() as 'png')
      .toBuffer()
    writeFileSync(file, bytes.subarray(0, kept))
    assert.is(
      (await failureOf(readHeader(file))).message,
      `the image ${file} cannot be read: it begins as a ${format}, but is cut or damaged in its header; store it anew, or leave it out`
    )
  }
  const tall = await whole.clone().tiff({ compression: 'none' }).toBuffer()
  const directory = tall.readUInt32LE(4)
  // Field by field of 12 bytes: the height (257) becomes a LONG of 4,294,967,280.
  for (let field = directory + 2; field < directory + 2 + 12 * tall.readUInt16LE(directory); field += 12)
    if (tall.readUInt16LE(field) === 257) {
      tall.writeUInt16LE(4, field + 2)
      tall.writeUInt32LE(0xfffffff0, field + 8)
    }
  writeFileSync(at('tall.tif'), tall)
  assert.match(
    (await failureOf(readHeader(at('tall.tif')))).message,
    /^the image .*tall\.tif cannot be read: .*; its header is damaged, or says what no decoder here reads; store it anew, or leave it out$/
  )
  const sentenceOf = async (bytes: string): Promise<string> => {
    writeFileSync(at('start'), bytes, 'latin1')
    return (await failureOf(readHeader(at('start')))).message
  }
  assert.is(await sentenceOf(''), `the image ${at('start')} cannot be read: it is empty; store it anew, or leave it out`)
  assert.is(
    await sentenceOf('neither\0this nor that'),
    `the image ${at('start')} cannot be read: it is of no format that is read (docs/images.md); store it as PNG, JPEG, TIFF or WebP, or leave it out`
  )
  for (const [start, format] of [
    ['BM\x36\0\x0c\0', 'a BMP'],
    ['\0\0\0\x0cjP  \r\n', 'JPEG 2000'],
    ['ZISRAWFILE', 'a CZI of Zeiss']
  ] as const)
    assert.match(await sentenceOf(start), new RegExp(`start cannot be read: it is ${format}, which is not read `))
  assert.match(
    await sentenceOf(`${'\0'.repeat(128)}DICM`),
    /start cannot be read: it is DICOM, which OpenSlide 4 reads; install that, or leave it out$/
  )
})

test('an image that is cut behind its header says so, and what to do', async () => {
  const bytes = await sharp(noise(3 * 64 * 64, 1), { raw: { height: 64, width: 64, channels: 3 } })
    .png()
    .toBuffer()
  writeFileSync(at('cut.png'), bytes.subarray(0, bytes.length / 2))
  assert.match(
    (await failureOf(decodeImage(at('cut.png'), one))).message,
    /^the image .*cut\.png cannot be read: [^;]+; it is cut or damaged, so store it anew or leave it out$/
  )
})

test('what is no ordinary file is refused without opening it', async () => {
  execFileSync('mkfifo', [at('pipe.png')])
  for (const path of [at('pipe.png'), folder, '/dev/zero']) {
    assert.match((await failureOf(decodeImage(path, one))).message, /^the image .* cannot be read: it is no ordinary file$/)
    assert.match(
      (await failureOf(decodeMask(path))).message,
      /^the mask .* cannot be read: it is no ordinary file; mend its path, or leave its row out$/
    )
  }
})

test('a thin image that a crop would make huge is refused, and what is just too small is not', async () => {
  await sharp({ create: { width: 60_000, height: 1, channels: 3, background: 'red' } })
    .png()
    .toFile(at('thin.png'))
  for (const [side, size] of [
    [512, '512x30720000'],
    [64, '64x3840000']
  ] as const) {
    const { message } = await failureOf(decodeImage(at('thin.png'), { height: side, width: side }))
    assert.match(message, /thin\.png is 1x60000: to hold a crop of (64x64|512x512) it would be enlarged to .*; take a smaller --crop/)
    assert.match(message, size)
  }
  const { height, width } = await valueOf(decodeImage(at('thin.png'), { height: 2, width: 2 }))
  assert.equal([height, width], [2, 120_000])
})

const chunkSets: Readonly<Record<string, readonly Buffer[]>> = {
  none: [],
  gamma: [chunk('gAMA', Buffer.from([0, 0, 0xb1, 0x8f]))],
  'linear gamma': [chunk('gAMA', Buffer.from([0, 1, 0x86, 0xa0]))],
  sRGB: [chunk('sRGB', Buffer.from([0]))],
  chromaticities: [chunk('cHRM', Buffer.alloc(32, 1)), chunk('gAMA', Buffer.from([0, 0, 0xb1, 0x8f]))],
  'a profile of gamma 2.2': [profileChunk(greyProfile(2.2))],
  'a linear profile': [profileChunk(greyProfile(1))],
  transparency: [chunk('tRNS', Buffer.from([0, 1]))],
  orientation: [chunk('eXIf', Buffer.from('MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0', 'latin1'))]
}

test('the classes of a mask are the stored values, whatever else the file says', async () => {
  for (const [name, chunks] of Object.entries(chunkSets))
    for (const bitDepth of [1, 2, 4, 8] as const)
      for (const isInterlaced of [false, true])
        for (const isPalette of [false, true]) {
          const values = Array.from({ length: 9 * 11 }, (_, index) => (index * 7) % 2 ** bitDepth)
          writePng(at('mask.png'), values, { height: 9, width: 11, bitDepth, isInterlaced, isPalette, chunks })
          const { pixels, height, width } = await valueOf(decodeMask(at('mask.png')))
          const what = `${name}, ${bitDepth} bits, ${isPalette ? 'palette' : 'grey'}${isInterlaced ? ', interlaced' : ''}`
          assert.equal([height, width], [9, 11])
          assert.equal([...pixels], values, what)
        }
})

test('a mask in tiles of one bit has the classes 0 and 1; of 4 bits it is refused', async () => {
  const values = Uint8Array.from({ length: 96 * 80 }, (_, index) => ((index >> 3) % 3 === 0 ? 255 : 0))
  for (const bitdepth of [1, 4] as const)
    await sharp(values, { raw: { height: 96, width: 80, channels: 1 } })
      .toColourspace('b-w')
      .tiff({ bitdepth, tile: true, tileWidth: 32, tileHeight: 32, compression: 'none' })
      .toFile(at(`bits-${bitdepth}.tif`))
  const mask = await valueOf(openMask(at('bits-1.tif')))
  const read = await valueOf(mask!.read({ top: 3, left: 5, height: 40, width: 50 }))
  const expected = Array.from({ length: 40 * 50 }, (_, at) => values[(3 + Math.floor(at / 50)) * 80 + 5 + (at % 50)]! & 1)
  assert.equal([...read], expected)
  const { counts } = await valueOf(inspectMask(at('bits-1.tif')))
  assert.is(counts[1], values.filter((value) => value === 255).length)
  assert.match((await failureOf(openMask(at('bits-4.tif')))).message, /^the mask .*bits-4\.tif is a TIFF with .*other than 1 or 8 bits/)
})

test('a mask whose header is damaged is refused', async () => {
  writePng(at('whole.png'), [0, 1, 1, 0], { height: 2, width: 2, bitDepth: 8 })
  const bytes = readFileSync(at('whole.png'))
  bytes[19] = 3
  writeFileSync(at('damaged.png'), bytes)
  assert.match(
    (await failureOf(decodeMask(at('damaged.png')))).message,
    /^the mask .*damaged\.png is damaged in its header: store it anew, or leave its row out$/
  )
})

test('a reason is said without the path of its file, which may be a part of a word', () => {
  const reason = (path: string, text: string): string => fileReason(path, new Error(text))
  assert.is(reason('in', 'Input file is missing: in'), 'Input file is missing')
  assert.is(reason('a', 'bad marker in a'), 'bad marker in the file')
  assert.is(
    reason('/data/x (1).png', 'Input file contains unsupported image format: /data/x (1).png'),
    'Input file contains unsupported image format'
  )
  assert.is(reason('s/a.tif', 's/a.tif: not a TIFF'), 'the file: not a TIFF')
})

test.run()
