/** Images of any number of bands and element types: windows, training, prediction, and bad ones. */
import { existsSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { PixelType } from '../../../native'
import { type TrainOptions, predict, train } from '../../../src'
import { decodeImage } from '../../../src/images/decode-image'
import { imageCache } from '../../../src/datasets/image-cache'
import { openImage } from '../../../src/images/image-source'
import { inspectMask } from '../../../src/datasets/masks/masks'
import { finest } from '../../../src/images/resolution'
import { asBytes, asElements, newElements } from '../../../src/images/samples'
import { measureNormalisation } from '../../../src/training/measure-normalisation'
import { writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { type TiledTiffOptions, noDataTag, writeTiledTiff } from '../tiled-tiff'
import { weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const [height, width] = [70, 50]

/** A value of every pixel and band, negative ones among those that may be. */
const valueAt = (type: PixelType, index: number): number => {
  const value = (Math.imul(index + 1, 2654435761) >>> 16) & 0xffff
  return { uint8: value & 255, uint16: value, int16: value - 32768, float32: Math.fround((value - 20000) / 7) }[type]
}
const write = (name: string, type: PixelType, channels: number, options: Partial<TiledTiffOptions> = {}, first?: number): void => {
  const elements = newElements(type, height * width * channels)
  for (let i = 0; i < elements.length; i += 1) elements[i] = valueAt(type, i)
  if (first !== undefined) elements[0] = first
  writeTiledTiff(at(name), [{ height, width, pixels: asBytes(elements) }], {
    ...{ tile: 32, channels, elementType: type },
    ...options
  })
}
const deflate = { compression: 8, compress: deflateSync } as const

for (const type of ['uint8', 'uint16', 'int16', 'float32'] as const)
  for (const [compression, options] of [
    ['none', {}],
    ['deflate', deflate]
  ] as const)
    test(`windows of 6 bands of ${type}, ${compression}: all, and some in an order of their own`, async () => {
      write('bands.tif', type, 6, options)
      for (const bands of [undefined, [4, 3, 2], [6, 6]]) {
        const { read, channels, elementType, header } = await valueOf(openImage(at('bands.tif'), { level: 0, ...(bands && { bands }) }))
        assert.equal([channels, elementType, header.height, header.width], [bands?.length ?? 6, type, height, width])
        const found = asElements(type, await valueOf(read!({ top: 25, left: 17, height: 20, width: 33 })))
        const expected = Array.from({ length: 20 * 33 }, (_, pixel) =>
          (bands ?? [1, 2, 3, 4, 5, 6]).map((band) =>
            valueAt(type, ((25 + Math.floor(pixel / 33)) * width + 17 + (pixel % 33)) * 6 + band - 1)
          )
        )
        assert.equal([...found], expected.flat())
      }
    })

test('bits and kind of samples may be said once for all bands', async () => {
  for (const [type, bits, format] of [
    ['uint8', 8, 1],
    ['int16', 16, 2],
    ['float32', 32, 3]
  ] as const) {
    write('once.tif', type, 5, {
      tags: [
        [258, 3, [bits]],
        [339, 3, [format]]
      ]
    })
    const { read } = await valueOf(openImage(at('once.tif'), { level: 0, bands: [5, 2] }))
    const found = asElements(type, await valueOf(read!({ top: 1, left: 0, height: 1, width: 1 })))
    assert.equal([...found], [valueAt(type, 5 * width + 4), valueAt(type, 5 * width + 1)])
  }
})

test('what holds nothing is read as 0', async () => {
  for (const [type, value, tag] of [
    ['int16', -9999, '-9999'],
    ['float32', NaN, 'nan'],
    ['float32', Math.fround(-3.4e38), '-3.4e+38']
  ] as const) {
    write('nothing.tif', type, 2, { tags: [noDataTag(tag)] }, value)
    const { read } = await valueOf(openImage(at('nothing.tif')))
    const found = asElements(type, await valueOf(read!({ top: 0, left: 0, height: 1, width: 1 })))
    assert.equal([...found], [0, valueAt(type, 1)])
  }
})

test('a tile that a sparse file leaves out is read as 0, whatever holds nothing there', async () => {
  const counts = [2048 * 2, 0, 2048 * 2, 2048 * 2, 2048 * 2, 2048 * 2]
  write('sparse.tif', 'uint16', 2, { tags: [noDataTag('-9999'), [325, 4, counts]] })
  const { read } = await valueOf(openImage(at('sparse.tif')))
  const found = asElements('uint16', await valueOf(read!({ top: 0, left: 31, height: 1, width: 2 })))
  assert.equal([...found], [valueAt('uint16', 62), valueAt('uint16', 63), 0, 0])
})

test('a 16-bit PNG, and bands of an 8-bit one, are decoded as they are stored', async () => {
  const values = Uint16Array.from({ length: 12 }, (_, index) => index * 5000)
  await sharp(values, { raw: { width: 2, height: 2, channels: 3 } })
    .toColourspace('rgb16')
    .png()
    .toFile(at('deep.png'))
  const one = { height: 1, width: 1 }
  const deep = await valueOf(decodeImage(at('deep.png'), one))
  assert.equal([...asElements(deep.elementType, deep.pixels as Uint8Array)], [...values])
  const grey = Uint8Array.from({ length: 6 }, (_, index) => 40 * index)
  await sharp(grey, { raw: { width: 3, height: 2, channels: 1 } })
    .toColourspace('b-w')
    .toFile(at('grey.png'))
  const single = await valueOf(decodeImage(at('grey.png'), one, undefined, { level: 0, channels: 1 }))
  assert.equal([...(single.pixels as Uint8Array)], [...grey])
  assert.is((await valueOf(decodeImage(at('grey.png'), one))).channels, 3)
  const colours = Uint8Array.from({ length: 12 }, (_, index) => 20 * index)
  await writeColours(at('colours.png'), colours, { height: 2, width: 2 })
  const last = await valueOf(decodeImage(at('colours.png'), one, undefined, { level: 0, bands: [3] }))
  assert.equal([...(last.pixels as Uint8Array)], [40, 100, 160, 220])
  const clear = Uint8Array.from({ length: 12 }, (_, index) => 20 * index)
  await sharp(clear, { raw: { width: 3, height: 2, channels: 2 } })
    .toColourspace('b-w')
    .png()
    .toFile(at('clear.png'))
  for (const bands of [[1, 2], [2]]) {
    const { pixels } = await valueOf(decodeImage(at('clear.png'), one, undefined, { level: 0, bands }))
    assert.equal(
      [...(pixels as Uint8Array)],
      bands.length === 2 ? [...clear] : [...clear].filter((_, index) => index % 2 === 1),
      `${bands}`
    )
  }
})

test('of images of bands that are too large for the cache, the last one is held', async () => {
  const names = ['first.png', 'second.png'].map(at)
  for (const name of names) await writeColours(name, new Uint8Array(12), { height: 2, width: 2 })
  const cached = imageCache({ height: 1, width: 1 }, 3, { level: 0, bands: [3] })
  const first = await valueOf(cached(names[0]!))
  assert.ok(first.pixels instanceof Uint8Array)
  assert.is(await valueOf(cached(names[0]!)), first)
  await valueOf(cached(names[1]!))
  assert.is.not(await valueOf(cached(names[0]!)), first)
})

test('a colour profile changes no bands', async () => {
  const colours = Uint8Array.from({ length: 48 }, (_, index) => (37 * index) % 256)
  await sharp(colours, { raw: { width: 4, height: 4, channels: 3 } })
    .withIccProfile('p3')
    .png()
    .toFile(at('profile.png'))
  const stored = await sharp(at('profile.png'), { ignoreIcc: true }).raw().toBuffer()
  assert.not.equal([...stored], [...colours])
  const found = await valueOf(decodeImage(at('profile.png'), { height: 1, width: 1 }, undefined, { level: 0, bands: [1, 2, 3] }))
  assert.equal([...(found.pixels as Uint8Array)], [...stored])
})

test('the four inks of a CMYK JPEG reach a network of four channels', async () => {
  const red = Uint8Array.from({ length: 3 * 16 * 16 }, (_, index) => (index % 3 === 0 ? 255 : 0))
  await sharp(red, { raw: { width: 16, height: 16, channels: 3 } })
    .toColourspace('cmyk')
    .jpeg({ quality: 100 })
    .toFile(at('inks.jpg'))
  const { pixels } = await valueOf(decodeImage(at('inks.jpg'), { height: 1, width: 1 }, undefined, { level: 0, channels: 4 }))
  const inks = pixels as Uint8Array
  assert.is(inks.length, 4 * 16 * 16)
  inks.forEach((ink, index) => assert.ok(Math.abs(ink - [0, 255, 255, 0][index % 4]!) < 8, `${index}: ${ink}`))
})

/** The kernels of the first convolution. */
const kernelsOf = async (name: string): Promise<Float64Array> => (await weightsOf(at(name))).get('stem.0.weight')!

const options = { model: segmenting, input: [2, 4, 32, 16], device: 'reference', threads: 1, seed: 5, steps: 3 } as const
const losses = async (more: Partial<TrainOptions> & Pick<TrainOptions, 'data'>) => valueOf(train({ ...options, ...more }))

const writeData = async (type: PixelType): Promise<void> => {
  write('data.tif', type, 6, deflate)
  const classes = Uint8Array.from({ length: height * width }, (_, index) => (index >> 3) % 3)
  writePng(at('mask.png'), classes, { height, width, bitDepth: 8 })
  writeFileSync(at('data.csv'), 'path,mask\ndata.tif,mask.png\ndata.tif,mask.png\n')
}

test('training measures mean and deviation of the bands, keeps them, and prediction finds them in the weights', async () => {
  await writeData('uint16')
  const notices: string[] = []
  const bands = [6, 1, 2, 3]
  const onNotice = (sentence: string) => notices.push(sentence)
  const measured = await losses({ data: at('data.csv'), bands, onNotice, save: at('bands.safetensors') })
  const kept = JSON.parse(readFileSync(at('data.csv.normalisation.json'), 'utf8')) as { mean: number[]; deviation: number[] }
  assert.ok(notices.some((sentence) => /^the channels have means .* measured and kept in .*data\.csv\.normalisation\.json$/.test(sentence)))
  // Uniform from 0 to 65535.
  for (const [index, mean] of kept.mean.entries()) {
    assert.ok(Math.abs(mean - 32768) < 1500)
    assert.ok(Math.abs(kept.deviation[index]! - 65536 / Math.sqrt(12)) < 800)
  }
  assert.equal((await losses({ data: at('data.csv'), bands, mean: kept.mean, deviation: kept.deviation })).loss, measured.loss)
  const common = { model: segmenting, weights: at('bands.safetensors'), image: at('data.tif'), device: 'reference', threads: 1 } as const
  const found = await valueOf(predict({ ...common, out: at('found.png') }))
  const asked = { bands, mean: kept.mean, deviation: kept.deviation, budget: '60%' } as const
  assert.equal((await valueOf(predict({ ...common, ...asked, out: at('asked.png') }))).pixels, found.pixels)
  assert.ok(existsSync(at('asked.png')))
  // Another type has another unit.
  write('other.tif', 'float32', 6)
  const other = { ...common, image: at('other.tif'), out: at('other.png') } as const
  const { message } = await failureOf(predict(other))
  assert.match(
    message,
    /other\.tif has values of float32, but the weights were trained on uint16: convert it, or give --mean and --deviation$/
  )
  await valueOf(predict({ ...other, ...asked }))
})

test('what was measured is kept for the same bands of the same files alone', async () => {
  const [csv, image] = [at('kept.csv'), at('kept.tif')]
  const writeKept = (offset: number): void => {
    const pixels = Uint8Array.from({ length: 32 * 32 * 3 }, (_, index) => offset + 50 * (index % 3) + (Math.floor(index / 3) % 20))
    writeTiledTiff(image, [{ height: 32, width: 32, pixels }], { tile: 32, channels: 3 })
  }
  writeKept(0)
  const measured = (...bands: readonly number[]) => valueOf(measureNormalisation([image], csv, { level: 0, bands }, bands.length))
  const [first, second] = [await measured(1, 2), await measured(2, 3)]
  assert.equal([first.isNew, second.isNew], [true, true])
  assert.ok(Math.abs(second.mean[0]! - first.mean[1]!) < 1e-12 && second.mean[0]! > first.mean[0]! + 0.1)
  assert.equal(await measured(2, 3), { ...second, isNew: false })
  const { size } = statSync(image)
  writeKept(30)
  utimesSync(image, 1e9, 1e9)
  assert.is(statSync(image).size, size)
  const third = await measured(2, 3)
  assert.is(third.isNew, true)
  assert.ok(Math.abs(third.mean[0]! - second.mean[0]! - 30 / 255) < 1e-12)
})

test('values of 8 bits are measured from 0 to 1, and of many images, ones from first to last are looked at', async () => {
  const measured = async (names: readonly string[]) => valueOf(measureNormalisation(names.map(at), undefined, finest, 3))
  const writePixels = (name: string, toValue: (pixel: number) => number): void => {
    const pixels = Uint8Array.from({ length: 16 * 16 * 3 }, (_, index) => toValue(Math.floor(index / 3)))
    writeTiledTiff(at(name), [{ height: 16, width: 16, pixels }], { tile: 16, channels: 3 })
  }
  const assertNear = (found: readonly number[], wanted: number): void =>
    assert.ok(
      found.every((value) => Math.abs(value - wanted) < 1e-12),
      `${found} is not ${wanted}`
    )
  writePixels('two-values.tif', (pixel) => (pixel % 2 === 0 ? 0 : 20))
  const { mean, deviation } = await measured(['two-values.tif'])
  assertNear(mean, 10 / 255)
  assertNear(deviation, 10 / 255)
  // The first half is dark; of 128 images 64 are looked at.
  const names = Array.from({ length: 128 }, (_, index) => `plain-${index}.tif`)
  names.forEach((name, index) => writePixels(name, () => (index < 64 ? 40 : 160) + 20 * (Math.floor(index / 2) % 2)))
  assertNear((await measured(names)).mean, 110 / 255)
})

test('a channel of one value has no deviation, whatever rounding leaves of it, and no pixel that counts has no mean', async () => {
  const side = 256
  const writeSquare = (name: string, pixels: Uint8Array, options: Partial<TiledTiffOptions> = {}): string => {
    writeTiledTiff(at(name), [{ height: side, width: side, pixels }], { tile: side, channels: 3, elementType: 'uint8', ...options })
    return at(name)
  }
  const noise = Uint8Array.from({ length: 3 * side * side }, (_, index) => (index % 3 === 1 ? 100 : valueAt('uint8', index)))
  const measured = (path: string) => measureNormalisation([path], undefined, finest, 3)
  assert.match((await failureOf(measured(writeSquare('flat.tif', noise)))).message, /^channel 2 of the images has one value wherever/)
  const nothing = writeSquare('nothing.tif', new Uint8Array(6 * side * side), { elementType: 'int16', tags: [noDataTag('-9999')] })
  assert.match((await failureOf(measured(nothing))).message, /^no pixel that counts was found where images were looked at/)
})

test('floats that are no number in any band are left out of the measure, with a nodata tag or without; zeros count', async () => {
  const side = 64
  const measured = async (fill: number, tags: TiledTiffOptions['tags'] = []) => {
    const elements = Float32Array.from({ length: 2 * side * side }, (_, index) => (index < side * side ? fill : 10 + (index % 4)))
    writeTiledTiff(at('no-number.tif'), [{ height: side, width: side, pixels: asBytes(elements) }], {
      ...{ tile: side, channels: 2, elementType: 'float32', tags }
    })
    return (await valueOf(measureNormalisation([at('no-number.tif')], undefined, { level: 0 }, 2))).mean
  }
  assert.equal(await measured(NaN), [11, 12])
  assert.equal(await measured(NaN, [noDataTag('-9999')]), [11, 12])
  assert.equal(await measured(0), [5.5, 6])
})

test('an infinite value is named with its image and place, in the measure, in training and in prediction; nodata may be infinite', async () => {
  await writeData('float32')
  const common = { bands: [1, 2, 3, 4], mean: [0, 0, 0, 0], deviation: [1, 1, 1, 1] } as const
  await losses({ data: at('data.csv'), ...common, save: at('floats.safetensors') })
  const predicting = { model: segmenting, weights: at('floats.safetensors'), device: 'reference', threads: 1, out: at('no.png') } as const
  writeFileSync(at('infinite.csv'), 'path,mask\ninfinite.tif,mask.png\n')
  for (const value of [Infinity, -Infinity]) {
    const sentence = `the image ${at('infinite.tif')} is not finite: band 1 is ${value} at row 0, column 0; store NaN in its place, which is read as 0, or leave the image out`
    write('infinite.tif', 'float32', 6, {}, value)
    for (const run of [
      measureNormalisation([at('infinite.tif')], undefined, { level: 0 }, 6),
      train({ ...options, input: [2, 4, 64, 48], data: at('infinite.csv'), ...common, save: at('no.safetensors') }),
      predict({ ...predicting, image: at('infinite.tif') })
    ]) {
      const { code, message } = await failureOf(run)
      assert.equal([code, message], ['input', sentence])
    }
    write('infinite.tif', 'float32', 6, { tags: [noDataTag(value > 0 ? 'inf' : '-Infinity')] }, value)
    await valueOf(predict({ ...predicting, image: at('infinite.tif'), out: at('holes.png') }))
  }
  for (const name of ['no.png', 'no.safetensors']) assert.not(existsSync(at(name)))
})

test('float32 trains to finite losses by window and larger than the bytes of crops', async () => {
  await writeData('float32')
  const { loss } = await losses({ data: at('data.csv'), bands: [1, 2, 3, 4] })
  assert.ok(loss.every(Number.isFinite))
})

test('bands that are not there, or not as many as the network reads, are refused, and so is a cut tile', async () => {
  await writeData('uint16')
  const refusal = async (more: Partial<TrainOptions>) => (await failureOf(train({ ...options, data: at('data.csv'), ...more }))).message
  assert.match(
    await refusal({}),
    /data\.tif has 6 channels of uint16 where the network reads 4: give --bands with 4 of them, or train with another --input$/
  )
  assert.match(
    await refusal({ bands: [1, 2, 3, 7] }),
    /has 6 channels of uint16 and no band 7: bands are counted from 1; give other --bands$/
  )
  assert.match(
    await refusal({ bands: [1, 2] }),
    /of which --bands names 2 where the network reads 4: name as many, or train with another --input$/
  )
  assert.match(await refusal({ bands: [1, 2, 3, 4], mean: [1] }), /^--mean and --deviation belong together: give both$/)
  write('grey.tif', 'uint16', 1)
  const { message: ofGrey } = await failureOf(openImage(at('grey.tif'), { level: 0, channels: 3 }))
  assert.match(
    ofGrey,
    /grey\.tif has 1 channel of uint16 where the network reads 3: give --bands with 3 of them, which may repeat: 1,1,1, or train with another --input$/
  )
  const jitter = { input: [2, 3, 32, 16], bands: [1, 2, 3], colourJitter: '0.2,0.2,0.2,0.05' } as const
  assert.match(await refusal(jitter), /^--colour-jitter changes red, green and blue of 8 bits/)
  write('damaged.tif', 'uint16', 6, deflate)
  const { read } = await valueOf(openImage(at('damaged.tif')))
  // Directories stand last: what is cut there is seen at once, so a tile is overwritten instead.
  writeFileSync(at('damaged.tif'), readFileSync(at('damaged.tif')).fill(0xff, 32, 3000))
  assert.match(
    (await failureOf(read!({ top: 0, left: 0, height: 20, width: 20 }))).message,
    /damaged\.tif cannot be read at rows 0 to 31, columns 0 to 31: .*; it is cut or damaged there/
  )
  for (const compress of [{}, deflate]) {
    write('cut.tif', 'uint16', 6, compress)
    truncateSync(at('cut.tif'), 2000)
    assert.match((await failureOf(openImage(at('cut.tif')))).message, /^the image .*cut\.tif/)
  }
})

/** A frame of zstd as of one block: its bytes as they are (0), or one byte so many times (1). */
const zstdBlock = (kind: 0 | 1, size: number, isLast: boolean): readonly number[] => {
  const header = (size << 3) | (kind << 1) | (isLast ? 1 : 0)
  return [header & 255, (header >> 8) & 255, header >> 16]
}
const zstdMagic = [0x28, 0xb5, 0x2f, 0xfd]
const zstdFrame = (tile: Uint8Array): Buffer =>
  Buffer.from([...zstdMagic, 0x60, (tile.length - 256) & 255, (tile.length - 256) >> 8, ...zstdBlock(0, tile.length, true), ...tile])

test('tiles of deflate and zstd that are cut, or hold far more than a tile, are refused at once', async () => {
  const window = { top: 0, left: 0, height: 20, width: 20 }
  const readFirst = async () => {
    const { read } = await valueOf(openImage(at('frames.tif')))
    return read!(window)
  }
  const zstd = { compression: 50000, compress: zstdFrame }
  const expected = Uint16Array.from({ length: 20 * 20 * 2 }, (_, place) => {
    const pixel = place >> 1
    return valueAt('uint16', (Math.floor(pixel / 20) * width + (pixel % 20)) * 2 + (place & 1))
  })
  write('frames.tif', 'uint16', 2, zstd)
  assert.equal(asElements('uint16', await valueOf(await readFirst())), expected)
  const blocks = Array.from({ length: 4000 }, () => [...zstdBlock(1, 2 ** 17, false), 7]).flat()
  const manifold = Buffer.from([...zstdMagic, 0x00, 0x58, ...blocks, ...zstdBlock(0, 0, true)])
  const deflated = deflateSync(Buffer.alloc(2 ** 28))
  for (const options of [
    { ...zstd, compress: (tile: Uint8Array) => zstdFrame(tile).subarray(0, 1000) },
    { ...zstd, compress: (tile: Uint8Array) => zstdFrame(tile).subarray(0, 11) },
    { ...zstd, compress: () => manifold },
    { ...zstd, compress: () => Buffer.alloc(100, 7) },
    { ...deflate, compress: (tile: Uint8Array) => deflateSync(tile).subarray(0, 500) },
    { ...deflate, compress: () => deflated }
  ]) {
    write('frames.tif', 'uint16', 2, options)
    const began = process.cpuUsage()
    assert.match((await failureOf(await readFirst())).message, /frames\.tif cannot be read at rows 0 to 31, .*; it is cut or damaged there/)
    assert.ok(process.cpuUsage(began).user < 2e6)
  }
})

test('kernels of 3 channels start a network of n: their planes in turn, scaled by 3/n, or their sum', async () => {
  await writeData('uint16')
  const start = { data: at('data.csv'), input: [2, 3, 32, 16], bands: [1, 2, 3], steps: 1, lr: 1e-30 } as const
  await losses({ ...start, save: at('three.safetensors') })
  // Kernels of 3 channels are read in float32.
  const three = Float32Array.from(await kernelsOf('three.safetensors'))
  for (const [bands, planes] of [
    [
      [1, 2, 3, 4],
      [0, 1, 2, 0]
    ],
    [[5], [0]]
  ] as const) {
    const notices: string[] = []
    const n = bands.length
    await losses({
      ...{ ...start, input: [2, n, 32, 16], bands, weights: at('three.safetensors'), reset: ['norm'], save: at('more.safetensors') },
      onNotice: (sentence) => notices.push(sentence)
    })
    const more = await kernelsOf('more.safetensors')
    const from = (kernel: number, plane: number, place: number) => three[(kernel * 3 + plane) * 9 + place]!
    for (let kernel = 0; kernel < 8; kernel += 1)
      for (let channel = 0; channel < n; channel += 1)
        for (let place = 0; place < 9; place += 1) {
          const sum = from(kernel, 0, place) + from(kernel, 1, place) + from(kernel, 2, place)
          const expected = n === 1 ? sum : (from(kernel, planes[channel]!, place) * 3) / n
          assert.is(more[(kernel * n + channel) * 9 + place], expected)
        }
    const said =
      n === 1 ? /its planes are added up for the one of the input$/ : /its planes are repeated for the 4 of the input, and scaled by 3\/4$/
    assert.ok(notices.some((sentence) => said.test(sentence)))
  }
})

/** A big-endian TIFF of one band of uint16, whose list of strips is too long to stand by itself. */
const writeBigEndian = (name: string, rows: number, columns: number, predictor = 1): void => {
  const [short, long] = [3, 4]
  const bytes = 2 * columns
  const lists = 146
  const tags: readonly (readonly [tag: number, type: number, count: number, value: number])[] = [
    [256, long, 1, columns],
    [257, long, 1, rows],
    [258, short, 1, 16],
    [259, short, 1, 1],
    [262, short, 1, 1],
    [273, long, rows, lists],
    [277, short, 1, 1],
    [278, short, 1, 1],
    [279, long, rows, lists + 4 * rows],
    [317, short, 1, predictor],
    [339, short, 1, 1]
  ]
  const file = Buffer.alloc(lists + 8 * rows + rows * bytes)
  file.write('MM', 'latin1')
  file.writeUInt16BE(42, 2)
  file.writeUInt32BE(8, 4)
  file.writeUInt16BE(tags.length, 8)
  tags.forEach(([tag, type, count, value], index) => {
    const entry = 10 + 12 * index
    file.writeUInt16BE(tag, entry)
    file.writeUInt16BE(type, entry + 2)
    file.writeUInt32BE(count, entry + 4)
    if (type === short) file.writeUInt16BE(value, entry + 8)
    else file.writeUInt32BE(value, entry + 8)
  })
  for (let row = 0; row < rows; row += 1) {
    const strip = lists + 8 * rows + row * bytes
    file.writeUInt32BE(strip, lists + 4 * row)
    file.writeUInt32BE(bytes, lists + 4 * (rows + row))
    for (let column = 0; column < columns; column += 1) file.writeUInt16BE((row * columns + column) % 65536, strip + 2 * column)
  }
  writeFileSync(at(name), file)
}

test('a big-endian file of many strips is read as it is', async () => {
  const [rows, columns] = [3000, 40]
  writeBigEndian('big-endian.tif', rows, columns)
  const { read, elementType } = await valueOf(openImage(at('big-endian.tif'), { level: 0 }))
  assert.is(elementType, 'uint16')
  for (const top of [0, 1500, rows - 2]) {
    const window = await valueOf(read!({ top, left: 7, height: 2, width: 3 }))
    const expected = [0, 1].flatMap((row) => [7, 8, 9].map((column) => ((top + row) * columns + column) % 65536))
    assert.equal([...asElements('uint16', window)], expected, `${top}`)
  }
})

test('a file that ends before its pixels, or before their places, is no black one', async () => {
  const [rows, columns] = [3000, 40]
  const window = { top: rows - 1, left: 0, height: 1, width: columns }
  for (const [name, bytes] of [
    ['values.tif', -1],
    ['counts.tif', 146 + 8 * rows - 2],
    ['places.tif', 146 + 2 * rows]
  ] as const) {
    writeBigEndian(name, rows, columns)
    truncateSync(at(name), bytes < 0 ? statSync(at(name)).size + bytes : bytes)
    const { read } = await valueOf(openImage(at(name), { level: 0 }))
    const { message } = await failureOf(read!(window))
    assert.match(
      message,
      /cannot be read at rows 2999 to 2999, columns 0 to 39: it ends before all of its values; it is cut or damaged there/
    )
  }
})

test('values that would be read as other ones, or by no decoder, are refused by name', async () => {
  const bands = [1] as const
  const refusal = async (name: string): Promise<string> => (await failureOf(openImage(at(name), { level: 0, bands }))).message
  writeBigEndian('predicted.tif', 4, 8, 2)
  assert.match(
    await refusal('predicted.tif'),
    /predicted\.tif is big-endian and compressed with a predictor, which is not read: store it little-endian, or without a predictor$/
  )
  for (const [compression, method] of [
    [34925, 'LZMA'],
    [50001, 'WebP'],
    [50002, 'JPEG XL'],
    [32946, undefined],
    [12345, 'method 12345']
  ] as const) {
    write('method.tif', 'uint8', 4, { compression })
    if (method === undefined) await valueOf(openImage(at('method.tif'), { level: 0, bands }))
    else
      assert.match(
        await refusal('method.tif'),
        new RegExp(`method\\.tif is compressed by ${method}, of which no bands are read: store it with deflate, LZW or zstd$`)
      )
  }
  for (const [compression, remedy] of [
    [50000, 'give --bands 1,2,3, or store it with deflate, LZW or JPEG, colours together'],
    [34925, 'store it with deflate, LZW or JPEG']
  ] as const) {
    write('method.tif', 'uint8', 3, { compression })
    assert.match(
      (await failureOf(openImage(at('method.tif')))).message,
      new RegExp(`method\\.tif is compressed by (zstd|LZMA), of which 8-bit grey and colours are not read: ${remedy}$`)
    )
  }
  for (const [format, kind] of [
    [4, 'undefined'],
    [5, 'complex']
  ] as const) {
    write('kind.tif', 'uint16', 2, { tags: [[339, 3, [format, format]]] })
    assert.match(await refusal('kind.tif'), new RegExp(`kind\\.tif has ${kind} 16-bit samples, but uint8, .* are read: convert it$`))
  }
  // Of a palette, bands would be places in it.
  write('method.tif', 'uint8', 1, { compression: 50000, photometric: 3 })
  assert.match((await failureOf(openImage(at('method.tif')))).message, /are not read: store it with deflate, LZW or JPEG$/)
  write('planar.tif', 'uint8', 3, { tags: [[284, 3, [2]]] })
  assert.match(
    (await failureOf(openImage(at('planar.tif')))).message,
    /planar\.tif has tiles of its own for each colour, which are not read as colours: give --bands 1,2,3, or store it with .*$/
  )
  write('planar.tif', 'uint8', 1, { tags: [[284, 3, [2]]] })
  assert.match(
    (await failureOf(openImage(at('planar.tif')))).message,
    /planar\.tif has tiles of its own .*: give --bands 1,1,1, or store it/
  )
  writeTiledTiff(at('strips.tif'), [{ height, width, pixels: new Uint8Array(2 * height * width), isStrip: true }], {
    ...{ tile: 32, channels: 2, tags: [[284, 3, [2]]] }
  })
  assert.match(
    (await failureOf(openImage(at('strips.tif')))).message,
    /strips\.tif has strips of its own for each colour, which are not read as colours: give --bands 1,1,1, or store it with .*$/
  )
  assert.match(
    (await failureOf(inspectMask(at('planar.tif')))).message,
    /planar\.tif has tiles of its own .*: store it with deflate or LZW, and interleaved by pixel, as GDAL and rasterio call it$/
  )
  for (const [channels, photometric, bands] of [
    [2, 1, '1,1,1'],
    [4, 2, '1,2,3']
  ] as const) {
    write('beside.tif', 'uint8', channels, { compression: 7, photometric })
    assert.match(
      (await failureOf(openImage(at('beside.tif')))).message,
      new RegExp(
        `beside\\.tif has a channel beside its colours in tiles of JPEG, which are not read as colours: give --bands ${bands}, or store it with deflate or LZW, colours together$`
      )
    )
  }
  write('old.tif', 'uint8', 3, { compression: 6, photometric: 6 })
  assert.match(
    (await failureOf(openImage(at('old.tif')))).message,
    /old\.tif is compressed by the JPEG of TIFF 6\.0, of which 8-bit grey and colours are not read: store it with deflate, LZW or JPEG$/
  )
  write('reversed.tif', 'uint16', 2, { tags: [[266, 3, [2]]] })
  assert.match(
    await refusal('reversed.tif'),
    /reversed\.tif has the bits of each byte in reverse \(fill order 2\), of which no bands are read: store it with fill order 1$/
  )
  write('mask.tif', 'uint8', 1, { compression: 50000 })
  assert.match(
    (await failureOf(inspectMask(at('mask.tif')))).message,
    /^the mask .*mask\.tif is compressed by zstd, of which 8-bit grey and colours are not read: store it with deflate or LZW$/
  )
  await sharp(new Uint8Array(64 * 64 * 3), { raw: { height: 64, width: 64, channels: 3 } })
    .tiff({ compression: 'jpeg', tile: true, tileWidth: 32, tileHeight: 32 })
    .toFile(at('luma.tif'))
  assert.match(await refusal('luma.tif'), /luma\.tif has YCbCr colours, of which no bands are read: leave out --bands, or store it as RGB$/)
  assert.is((await valueOf(openImage(at('luma.tif')))).channels, 3)
})

/** Writes over an entry of a file's first directory: its tag, type, number of values, or value. */
const spoilEntry = (name: string, tag: number, { at: offset, value }: { readonly at: 0 | 2 | 4 | 8; readonly value: number }): void => {
  const bytes = readFileSync(at(name))
  const directory = bytes.readUInt32LE(4)
  for (let entry = directory + 2; entry < directory + 2 + 12 * bytes.readUInt16LE(directory); entry += 12)
    if (bytes.readUInt16LE(entry) === tag) {
      if (offset < 4) bytes.writeUInt16LE(value, entry + offset)
      else bytes.writeUInt32LE(value, entry + offset)
      writeFileSync(at(name), bytes)
      return
    }
  throw new Error(`${name} has no entry ${tag}`)
}

test('a damaged header is refused in a sentence', async () => {
  const damaged = 'it is cut or damaged in its header, so store it anew or leave it out'
  for (const [tag, change, fault] of [
    [257, { at: 8, value: 0 }, `has ${width}x0 pixels`],
    [322, { at: 8, value: 0 }, 'is stored in tiles of 0x32 pixels'],
    [324, { at: 0, value: 65000 }, 'does not say where its pixels lie']
  ] as const) {
    write('damaged.tif', 'uint16', 3)
    spoilEntry('damaged.tif', tag, change)
    assert.is((await failureOf(openImage(at('damaged.tif')))).message, `the image ${at('damaged.tif')} ${fault}: ${damaged}`)
  }
  // A number of channels in four bytes, where two keep it.
  write('damaged.tif', 'uint16', 3)
  spoilEntry('damaged.tif', 277, { at: 2, value: 4 })
  spoilEntry('damaged.tif', 277, { at: 8, value: 2 ** 32 - 1 })
  const { message } = await failureOf(openImage(at('damaged.tif')))
  assert.is(message, `the image ${at('damaged.tif')} does not say how many channels it has: ${damaged}`)
  // More values than a file, or a process, can hold.
  write('damaged.tif', 'uint16', 3)
  spoilEntry('damaged.tif', 259, { at: 2, value: 4 })
  spoilEntry('damaged.tif', 259, { at: 4, value: 2_063_597_569 })
  const { read } = await valueOf(openImage(at('damaged.tif')))
  assert.match(
    (await failureOf(read!({ top: 0, left: 0, height: 8, width: 8 }))).message,
    /damaged\.tif cannot be read at rows .* cut or damaged/
  )
})

test('the measure of mean and deviation goes on without what cannot be read, where --skip-bad says so', async () => {
  write('sound.tif', 'uint16', 3, deflate)
  // Its first tile is no deflate any more.
  let tiles = 0
  write('spoilt.tif', 'uint16', 3, { ...deflate, compress: (tile) => (tiles++ === 0 ? Buffer.alloc(40, 1) : deflateSync(tile)) })
  writeFileSync(at('spoilt.csv'), 'path,label\nsound.tif,0\nspoilt.tif,1\n')
  const notices: string[] = []
  const given = {
    model: 'resnet18',
    classes: 2,
    input: [2, 3, 64, 48],
    data: at('spoilt.csv'),
    steps: 1,
    device: 'cpu',
    threads: 1
  } as const
  const common = { ...given, bands: [1, 2, 3], seed: 1, onNotice: (sentence: string) => notices.push(sentence) }
  assert.match((await failureOf(train(common))).message, /^the image .*spoilt\.tif cannot be read at rows/)
  await valueOf(train({ ...common, skipBad: true }))
  const left = notices.filter((sentence) => /spoilt\.tif cannot be read at rows .*; it is left out of the means$/.test(sentence))
  assert.is(left.length, 1)
})

test.run()
