/**
 * Images in tiles: levels, windows, resampling, training and prediction by window, and bad ones.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { predict, readDataset, train } from '../../../src'
import type { TrainOptions } from '../../../src'
import { decodeImage } from '../../../src/images/decode-image'
import { imageNotices } from '../../../src/images/image-notices'
import { openImage } from '../../../src/images/image-source'
import { inspectMask } from '../../../src/datasets/masks/masks'
import type { Extent2, Resolution } from '../../../src/images/resolution'
import { readTiffDirectories } from '../../../src/images/tiff/directories'
import { noise } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'
import { type Field, type TiledLevel, type TiledTiffOptions, writeTiledPages, writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const level = (height: number, width: number, channels = 3): TiledLevel => ({
  height,
  width,
  pixels: noise(height * width * channels, height)
})

const rgb = { tile: 16, channels: 3 } as const satisfies TiledTiffOptions
const pyramid = [level(200, 120), level(100, 60), level(50, 30)]
const aperio = 'Aperio Image Library v10\r\n200x120 (16x16) RAW|AppMag = 20|MPP = 0.5000|Left = 2'

const windowOf = (pixels: Uint8Array, width: number, top: number, left: number, rows: number, columns: number): readonly number[] =>
  Array.from({ length: rows }, (_, row) => [
    ...pixels.subarray(((top + row) * width + left) * 3, ((top + row) * width + left + columns) * 3)
  ]).flat()

const writeSlides = (): void => {
  writeTiledTiff(at('pages.tif'), pyramid, { ...rgb, description: aperio })
  writeTiledTiff(at('big.tif'), pyramid, { ...rgb, isBig: true, perCentimetre: 20_000 })
  const ome = '<?xml version="1.0"?><OME><Image><Pixels PhysicalSizeX="500" PhysicalSizeXUnit="nm"/></Image></OME>'
  writeTiledTiff(at('below.tif'), pyramid, { ...rgb, isBelow: true, description: ome })
  writeTiledTiff(at('big-below.tif'), pyramid, { ...rgb, isBig: true, isBelow: true, description: ome })
}

test.before(writeSlides)

for (const name of ['pages.tif', 'big.tif', 'below.tif', 'big-below.tif'])
  test(`${name}: levels, micrometres, and windows of each level`, async () => {
    for (const [index, { height, width, pixels }] of pyramid.entries()) {
      const { header, read } = await valueOf(openImage(at(name), { level: index }))
      assert.equal([header.height, header.width, header.levels.length], [height, width, 3])
      assert.is(header.view.micronsPerPixel, 0.5 * 2 ** index)
      assert.is(header.pages, 1)
      assert.equal(imageNotices([{ path: name, header }]), [])
      for (const [top, left, rows, columns] of [
        [0, 0, height, width],
        [7, 5, 21, 19],
        [height - 1, width - 1, 1, 1]
      ] as const)
        assert.equal(
          [...(await valueOf(read!({ top, left, height: rows, width: columns })))],
          windowOf(pixels, width, top, left, rows, columns)
        )
    }
    const { message } = await failureOf(openImage(at(name), { level: 3 }))
    assert.match(message, /^the image .*tif is stored in 3 levels, 0 to 2, so there is no level 3: give another --level$/)
  })

test('a colour profile that the finest level alone has changes the colours of no level', async () => {
  const colour = (height: number, width: number): Buffer => Buffer.alloc(height * width * 3, Buffer.from([200, 60, 90]))
  const { data } = await sharp(colour(1, 1), { raw: { height: 1, width: 1, channels: 3 } })
    .withIccProfile('p3')
    .tiff()
    .toBuffer({ resolveWithObject: true })
  const { icc } = await sharp(data).metadata()
  const [whole, half] = [level(200, 120), level(100, 60)].map(({ height, width }) => ({ height, width, pixels: colour(height, width) }))
  const profile: Field = [34675, 7, [...icc!]]
  for (const [name, profiled] of [
    ['one-profile.tif', [{ ...whole!, tags: [profile] }, half!]],
    ['two-profiles.tif', [whole!, half!].map((one) => ({ ...one, tags: [profile] }))]
  ] as const) {
    writeTiledTiff(at(name), profiled, rgb)
    const colours = []
    for (const index of [0, 1]) {
      const { header, read } = await valueOf(openImage(at(name), { level: index }))
      colours.push([...(await valueOf(read!({ top: 0, left: 0, height: 1, width: 1 })))])
      assert.equal(
        imageNotices([{ path: name, header }]),
        name === 'one-profile.tif' ? [`the image ${name} has a colour profile of some levels alone, which is not applied`] : []
      )
    }
    assert.equal(colours[0], colours[1])
    assert.is(colours[0]!.join() === '200,60,90', name === 'one-profile.tif')
  }
})

test('thumbnails, labels, and pages of the same size or of other channels are no levels', async () => {
  const grey = { ...level(50, 30, 1), channels: 1 }
  const others = [level(200, 120), { ...level(50, 30), isStrip: true as const }, level(40, 40), grey, level(100, 60)]
  writeTiledTiff(at('others.tif'), [pyramid[0]!, ...others], rgb)
  const { header } = await valueOf(openImage(at('others.tif'), { level: 1 }))
  assert.equal([header.levels.length, header.height, header.width], [2, 100, 60])
  assert.match(imageNotices([{ path: 'others.tif', header }])[0] ?? '', /several pages or frames/)
})

test('levels of an image of a short and a long side are told by the long one, of which rounding is less', async () => {
  for (const turned of [false, true]) {
    const sides = (
      [
        [77, 573],
        [38, 286],
        [19, 143]
      ] as const
    ).map(([short, long]) => (turned ? level(short, long) : level(long, short)))
    writeTiledTiff(at('long.tif'), sides, rgb)
    const { header } = await valueOf(openImage(at('long.tif')))
    assert.equal(
      header.levels.map(({ height, width }) => [height, width]),
      sides.map(({ height, width }) => [height, width])
    )
  }
})

test('of a header that is longer than any, only so much is read', async () => {
  const page = { height: 16, width: 16, pixels: new Uint8Array(16 * 16) }
  const pages = Array.from({ length: 20 }, () => [{ ...page, description: 'x'.repeat(2 ** 20 - 1) }])
  writeTiledPages(at('long.tif'), pages, { tile: 16, channels: 1 })
  const found = await readTiffDirectories(at('long.tif'))
  assert.is(found.length, 20)
  assert.ok(found.reduce((sum, { description }) => sum + description.length, 0) < 2 ** 24)
})

const maskText = 'a mask of what is transparent, which is not applied'

test('masks of what is transparent, and pages of other samples, are no levels', async () => {
  for (const [isMask, tags] of [
    [true, [[254, 4, [5]]]],
    [false, [[339, 3, [2]]]],
    [
      true,
      [
        [258, 3, [1]],
        [262, 3, [4]]
      ]
    ]
  ] satisfies readonly (readonly [boolean, readonly Field[]])[]) {
    const [whole, other, half] = [level(200, 120, 1), { ...level(100, 60, 1), tags }, level(100, 60, 1)]
    writeTiledTiff(at('masked.tif'), [whole, other, half], { tile: 16, channels: 1 })
    const { header, read } = await valueOf(openImage(at('masked.tif'), { level: 1, bands: [1] }))
    assert.is(header.levels.length, 2)
    const [told] = imageNotices([{ path: 'masked.tif', header }])
    assert.is(told, `the image masked.tif has ${isMask ? maskText : 'several pages or frames, of which the first is read'}`)
    if (isMask) assert.equal(imageNotices([{ path: 'masked.tif', header: (await valueOf(openImage(at('masked.tif')))).header }]), [told])
    assert.equal([...(await valueOf(read!({ top: 0, left: 0, height: 1, width: 60 })))], [...half.pixels.subarray(0, 60)])
  }
})

test('a level that is stored otherwise than the first is refused where it would be read as other values', async () => {
  for (const [tags, bands, fault] of [
    [[[262, 3, [6]]], [1, 2, 3], 'has YCbCr colours, of which no bands are read'],
    [[[262, 3, [6]]], undefined, 'has YCbCr colours that are not compressed as JPEG'],
    [[[259, 3, [50000]]], undefined, 'is compressed by zstd, of which 8-bit grey and colours are not read']
  ] satisfies readonly (readonly [tags: readonly Field[], bands: readonly number[] | undefined, fault: string])[]) {
    writeTiledTiff(at('other.tif'), [level(200, 120), { ...level(100, 60), tags }], rgb)
    await valueOf(openImage(at('other.tif'), { level: 0, ...(bands && { bands }) }))
    const { message } = await failureOf(openImage(at('other.tif'), { level: 1, ...(bands && { bands }) }))
    assert.match(message, new RegExp(`^level 1 of the image .*other\\.tif ${fault}: `))
  }
})

test('OME-XML tells the size of a pixel in any unit', async () => {
  for (const [size, unit] of [
    ['0.5', 'µm'],
    ['0.5', '&#181;m'],
    ['0.5', '&#xB5;m'],
    ['500', 'nm'],
    ['0.0005', 'mm'],
    ['0.00005', 'cm']
  ] as const) {
    const description = `<OME><Image><Pixels PhysicalSizeX="${size}" PhysicalSizeXUnit="${unit}"/></Image></OME>`
    writeTiledTiff(at('unit.tif'), [pyramid[2]!], { ...rgb, description })
    const { micronsPerPixel = NaN } = (await valueOf(openImage(at('unit.tif')))).header.view
    assert.ok(Math.abs(micronsPerPixel - 0.5) < 1e-12, `${micronsPerPixel} by ${unit}`)
  }
  const description = '<OME><Image><Pixels PhysicalSizeX="0.5" PhysicalSizeXUnit="constructor"/></Image></OME>'
  writeTiledTiff(at('unit.tif'), [pyramid[2]!], { ...rgb, description })
  assert.is((await valueOf(openImage(at('unit.tif')))).header.view.micronsPerPixel, undefined)
})

test('thumbnail, label and macro of an Aperio slide are named, and other pages are not taken for them', async () => {
  const page = (height: number, width: number, name?: string) => ({
    ...level(height, width),
    isStrip: true as const,
    ...(name === undefined ? {} : { description: `Aperio Image Library v11.2.1 \r\n${name}` })
  })
  const thumbnail = page(50, 30, '120x200 -> 30x50 - ')
  const [label, macro] = [page(20, 21, 'label 21x20'), page(18, 60, 'macro 60x18')]
  const noticesOf = async (name: string, pages: readonly TiledLevel[], description = aperio) => {
    writeTiledTiff(at(name), [pyramid[0]!, ...pages], { ...rgb, description })
    const { header } = await valueOf(openImage(at(name)))
    return imageNotices([{ path: name, header }])
  }
  const slide = await noticesOf('slide.svs', [thumbnail, level(100, 60), label, macro])
  assert.equal(slide, ['the image slide.svs has pages beside the slide (thumbnail, label, macro), which are not read'])
  assert.equal(await noticesOf('bare.svs', [thumbnail, level(100, 60)]), [
    'the image bare.svs has pages beside the slide (thumbnail), which are not read'
  ])
  assert.equal(await noticesOf('more.svs', [thumbnail, label, page(9, 9)]), [
    'the image more.svs has pages beside the slide (thumbnail, label), which are not read',
    'the image more.svs has several pages or frames, of which the first is read'
  ])
  assert.equal(await noticesOf('other.tif', [thumbnail, label], 'a label of another maker'), [
    'the image other.tif has several pages or frames, of which the first is read'
  ])
  const { header } = await valueOf(openImage(join(__dirname, '../../../examples/data/slides/CMU-1-Small-Region.svs')))
  const two = ['one.svs', 'two.svs'].map((path) => ({ path, header }))
  assert.equal(imageNotices(two), ['2 of 2 images have pages beside the slide (thumbnail, label, macro), which are not read: one.svs, …'])
})

test('windows of files that sharp writes are those of the file decoded whole, JPEG and profiles included', async () => {
  const image = (): sharp.Sharp => sharp(Buffer.from(noise(150 * 170 * 3, 1)), { raw: { height: 150, width: 170, channels: 3 } }).blur(2)
  for (const [name, make] of [
    ['jpeg', (i: sharp.Sharp) => i.tiff({ compression: 'jpeg', quality: 60, tile: true, tileWidth: 32, tileHeight: 32 })],
    ['lzw', (i: sharp.Sharp) => i.tiff({ compression: 'lzw', tile: true, tileWidth: 64, tileHeight: 16, pyramid: true, bigtiff: true })],
    ['deflate', (i: sharp.Sharp) => i.tiff({ compression: 'deflate', predictor: 'horizontal', tile: true, tileWidth: 48, tileHeight: 48 })],
    ['p3', (i: sharp.Sharp) => i.withIccProfile('p3').tiff({ tile: true, tileWidth: 32, tileHeight: 32 })],
    ['grey', (i: sharp.Sharp) => i.toColourspace('b-w').tiff({ tile: true, tileWidth: 32, tileHeight: 32 })],
    ['alpha', (i: sharp.Sharp) => i.ensureAlpha(0.5).tiff({ tile: true, tileWidth: 32, tileHeight: 32 })]
  ] as const) {
    await make(image()).toFile(at(`${name}.tif`))
    const whole = await valueOf(decodeImage(at(`${name}.tif`), { height: 1, width: 1 }))
    const { read } = await valueOf(openImage(at(`${name}.tif`)))
    const window = await valueOf(read!({ top: 31, left: 17, height: 70, width: 99 }))
    assert.equal([...window], windowOf(whole.pixels as Uint8Array, whole.width, 31, 17, 70, 99), name)
  }
})

test('what has no tiles is not read by window, and has one level', async () => {
  await sharp(Buffer.from(noise(300, 1)), { raw: { height: 10, width: 10, channels: 3 } })
    .png()
    .toFile(at('plain.png'))
  const { read, header } = await valueOf(openImage(at('plain.png')))
  assert.is(read, undefined)
  assert.is(header.levels.length, 1)
  const of = async (resolution: Resolution): Promise<string> => (await failureOf(openImage(at('plain.png'), resolution))).message
  assert.match(await of({ level: 1 }), /plain\.png is stored in one level, so there is no level 1: give another --level$/)
  assert.match(await of({ micronsPerPixel: 1 }), /plain\.png does not say how many micrometres a pixel is: give --level instead of --mpp$/)
})

/**
 * Antialiased bilinear by its definition: a triangle as wide as the coarser pixel on either side.
 */
const resampled = (pixels: Uint8Array, stored: Extent2, extent: Extent2): readonly number[] => {
  const weightsOf = (from: number, to: number): readonly (readonly number[])[] =>
    Array.from({ length: to }, (_, index) => {
      const scale = from / to
      const width = Math.max(1, scale)
      const weights = Array.from({ length: from }, (_, tap) => Math.max(0, 1 - Math.abs(tap + 0.5 - (index + 0.5) * scale) / width))
      const sum = weights.reduce((total, weight) => total + weight, 0)
      return weights.map((weight) => weight / sum)
    })
  const [rows, columns] = [weightsOf(stored.height, extent.height), weightsOf(stored.width, extent.width)]
  return rows.flatMap((down) =>
    columns.flatMap((right) =>
      [0, 1, 2].map((channel) => {
        let sum = 0
        for (const [row, weight] of down.entries())
          if (weight > 0)
            for (const [column, other] of right.entries())
              if (other > 0) sum += weight * other * pixels[(row * stored.width + column) * 3 + channel]!
        return sum
      })
    )
  )
}

test('micrometres a pixel: the coarsest level that is as fine, resampled the same in every window', async () => {
  for (const [asked, index, extent] of [
    [0.8, 0, { height: 125, width: 75 }],
    [1.3, 1, { height: 77, width: 46 }],
    [5, 2, { height: 20, width: 12 }],
    [0.3, 0, { height: 333, width: 200 }]
  ] as const) {
    const { header, read } = await valueOf(openImage(at('pages.tif'), { micronsPerPixel: asked }))
    assert.equal([header.height, header.width, header.view.micronsPerPixel], [extent.height, extent.width, asked])
    const whole = await valueOf(read!({ top: 0, left: 0, ...extent }))
    const wanted = resampled(pyramid[index]!.pixels, pyramid[index]!, extent)
    assert.is(whole.length, wanted.length)
    for (const [place, value] of wanted.entries()) assert.ok(Math.abs(whole[place]! - value) <= 0.501, `${asked} at ${place}`)
    const window = await valueOf(read!({ top: 3, left: 2, height: 11, width: 9 }))
    assert.equal([...window], windowOf(whole, extent.width, 3, 2, 11, 9))
  }
  // A level that is near enough is taken as it is.
  for (const asked of [0.5, 0.997, 2.015]) {
    const { header } = await valueOf(openImage(at('pages.tif'), { micronsPerPixel: asked }))
    assert.is(header.height, header.view.level.height, `${asked}`)
  }
  assert.match(
    (await failureOf(openImage(at('pages.tif'), { micronsPerPixel: 0.2 }))).message,
    /has 0\.5 micrometres a pixel at its finest: give --mpp of at least half of that$/
  )
})

const options = { model: segmenting, input: [2, 3, 32, 16], device: 'reference', threads: 1, seed: 5, steps: 4 } as const
const losses = async (more: Partial<TrainOptions> & Pick<TrainOptions, 'data'>) => (await valueOf(train({ ...options, ...more }))).loss

/** The same image and mask in tiles, and as PNG. */
const writeAlike = async (): Promise<void> => {
  const image = pyramid[0]!
  await sharp(Buffer.from(image.pixels), { raw: { height: 200, width: 120, channels: 3 } })
    .png()
    .toFile(at('whole.png'))
  const classes = Uint8Array.from({ length: 200 * 120 }, (_, index) => [0, 1, 2, 255][(Math.floor(index / 40) + (index % 7)) % 4]!)
  writePng(at('mask.png'), classes, { height: 200, width: 120, bitDepth: 8 })
  writeTiledTiff(at('mask.tif'), [{ height: 200, width: 120, pixels: classes }], { tile: 32, channels: 1 })
  writeFileSync(at('png.csv'), 'path,mask\nwhole.png,mask.png\nwhole.png,mask.png\n')
  writeFileSync(at('tiles.csv'), 'path,mask\npages.tif,mask.tif\nbig.tif,mask.png\n')
}

test('training by window gives the bits of training on the same images decoded whole, masks included', async () => {
  await writeAlike()
  for (const more of [
    {},
    { flip: true, rotate: true, input: [2, 3, 32, 32] as const },
    { colourJitter: '0.2,0.2,0.2,0.05', classWeights: 'balanced' }
  ] as const) {
    const found = await losses({ ...more, data: at('tiles.csv'), validation: at('tiles.csv') })
    assert.equal(found, await losses({ ...more, data: at('png.csv'), validation: at('png.csv') }))
    assert.is(new Set(found).size, found.length)
  }
  const { validations, cropBytes } = await valueOf(train({ ...options, data: at('tiles.csv'), validation: at('tiles.csv') }))
  const whole = await valueOf(train({ ...options, data: at('png.csv'), validation: at('png.csv') }))
  assert.equal(validations, whole.validations)
  assert.is(cropBytes, 2 * 2 * 32 * 16 * 3)
  assert.is(whole.cropBytes, undefined)
  const [tiled, png] = [await valueOf(readDataset(at('tiles.csv'))), await valueOf(readDataset(at('png.csv')))]
  const countsOf = ({ examples }: typeof tiled) => examples.map(({ label }) => typeof label !== 'number' && { ...label, path: '' })
  assert.equal(countsOf(tiled), countsOf(png))
})

test('training at a level is training on that level, under masks of the finest', async () => {
  await writeAlike()
  writeTiledTiff(at('level.tif'), [pyramid[1]!], rgb)
  // Of every second row and column, the one after the middle of two.
  const raw = await sharp(at('mask.png')).toColourspace('b-w').raw().toBuffer()
  const halved = Uint8Array.from({ length: 100 * 60 }, (_, index) => raw[(2 * Math.floor(index / 60) + 1) * 120 + 2 * (index % 60) + 1]!)
  writePng(at('half.png'), halved, { height: 100, width: 60, bitDepth: 8 })
  writeFileSync(at('level.csv'), 'path,mask\nlevel.tif,half.png\nlevel.tif,half.png\n')
  const atLevel = await losses({ data: at('tiles.csv'), level: 1 })
  assert.equal(atLevel, await losses({ data: at('level.csv') }))
  assert.equal(atLevel, await losses({ data: at('tiles.csv'), mpp: 1 }))
  const { message } = await failureOf(train({ ...options, data: at('tiles.csv'), level: 1, mpp: 1 }))
  assert.is(message, '--level and --mpp both say how fine images are read: give one')
})

test('a PNG mask of a coarser level, smaller than the crop, lies on the image as one in tiles does', async () => {
  const coarse = { height: 50, width: 30, pixels: Uint8Array.from({ length: 50 * 30 }, (_, index) => (index * 7) % 3) }
  writePng(at('coarse.png'), coarse.pixels, { height: 50, width: 30, bitDepth: 8 })
  writeTiledTiff(at('coarse.tif'), [coarse], { tile: 16, channels: 1 })
  for (const kind of ['png', 'tif']) writeFileSync(at(`coarse-${kind}.csv`), `path,mask\n${`pages.tif,coarse.${kind}\n`.repeat(2)}`)
  const input = [2, 3, 64, 32] as const
  assert.equal(await losses({ input, data: at('coarse-png.csv') }), await losses({ input, data: at('coarse-tif.csv') }))
})

test('predict tells where images are read otherwise than those that the weights were trained on', async () => {
  await writeAlike()
  const weights = at('of-level.safetensors')
  await valueOf(train({ ...options, data: at('tiles.csv'), level: 1, save: weights }))
  const notices = async (more: { readonly level?: number; readonly mpp?: number }): Promise<readonly string[]> => {
    const told: string[] = []
    const files = { model: segmenting, weights, image: at('big-below.tif'), out: at('level-classes.png') }
    const common = { device: 'reference', threads: 1, onNotice: (sentence: string) => void told.push(sentence) } as const
    await valueOf(predict({ ...files, ...common, ...more }))
    return told.filter((sentence) => sentence.startsWith(weights))
  }
  assert.equal(await notices({ level: 1 }), [])
  const sentence = `${weights} were trained on images as --level 1 reads them, and these are read`
  assert.equal(await notices({}), [`${sentence} as they are stored`])
  assert.equal(await notices({ mpp: 0.5 }), [`${sentence} by --mpp 0.5`])
})

test('predict by window gives the scores, and the mask, of the image decoded whole', async () => {
  await writeAlike()
  await valueOf(train({ ...options, data: at('png.csv'), save: at('pixels.safetensors') }))
  const common = { model: segmenting, weights: at('pixels.safetensors'), device: 'reference', threads: 1 } as const
  const whole = await valueOf(predict({ ...common, image: at('whole.png'), out: at('whole-classes.png') }))
  const tiled = await valueOf(predict({ ...common, image: at('big-below.tif'), out: at('tiled-classes.png'), budget: '60%' }))
  assert.equal(tiled.pixels, whole.pixels)
  assert.equal(readFileSync(at('tiled-classes.png')), readFileSync(at('whole-classes.png')))
  assert.ok(tiled.windowBytes! > 0)
  assert.is(whole.windowBytes, undefined)
  const half = await valueOf(predict({ ...common, image: at('big-below.tif'), out: at('half-classes.png'), level: 1 }))
  assert.equal([half.height, half.width], [100, 60])
})

/** A tile whose bytes are no JPEG any more, somewhere below the middle. */
const writeDamaged = async (name: string): Promise<void> => {
  await sharp(Buffer.from(noise(256 * 256 * 3, 9)), { raw: { height: 256, width: 256, channels: 3 } })
    .tiff({ compression: 'jpeg', tile: true, tileWidth: 32, tileHeight: 32 })
    .toFile(at(name))
  const bytes = readFileSync(at(name))
  bytes.fill(0, Math.floor(bytes.length * 0.6), Math.floor(bytes.length * 0.7))
  writeFileSync(at(name), bytes)
}

test('a tile that cannot be decoded is named by its place; --skip-bad draws another crop and counts', async () => {
  await writeDamaged('damaged.tif')
  const place =
    /^the image .*damaged\.tif cannot be read at rows \d+ to \d+, columns \d+ to \d+: .*; it is cut or damaged there, so store it anew or leave it out/
  writeFileSync(at('damaged.csv'), 'path,label\ndamaged.tif,0\ndamaged.tif,1\n')
  const training = { ...options, model: small, input: [2, 3, 32, 32] as const, data: at('damaged.csv'), steps: 12 } as const
  const failure = await failureOf(train(training))
  assert.is(failure.code, 'input')
  assert.match(failure.message, place)
  const notices: string[] = []
  const skipping = { ...training, skipBad: true, onNotice: (sentence: string) => notices.push(sentence) }
  const report = await valueOf(train(skipping))
  assert.is(report.steps, 12)
  assert.ok(report.skippedCrops! > 0)
  assert.is(notices.length, 1)
  assert.match(notices[0]!, place)
  assert.match(notices[0]!, /; another crop is drawn$/)
  assert.equal((await valueOf(train(skipping))).loss, report.loss)
  assert.match((await failureOf(train({ ...training, checkData: true }))).message, place)
  const weights = at('small.safetensors')
  await valueOf(train({ ...skipping, save: weights }))
  const common = { model: small, weights, device: 'reference', threads: 1 } as const
  const predicted = await failureOf(predict({ ...common, image: at('damaged.tif') }))
  assert.is(predicted.code, 'input')
  assert.match(predicted.message, place)
})

test('a tile or strip that cannot be unpacked is no black one, in images and masks', async () => {
  // The last of them is no deflate any more.
  const writeSpoilt = (name: string, channels: number, more: { readonly isStrip?: true } = {}): void => {
    const compress = (spoilt: number): ((tile: Buffer) => Buffer) => {
      let tiles = 0
      return (tile) => (tiles++ === spoilt ? Buffer.alloc(40, 1) : deflateSync(tile))
    }
    const pixels = noise(100 * 100 * channels, 3)
    const spoilt = more.isStrip ? 0 : 8
    writeTiledTiff(at(name), [{ height: 100, width: 100, pixels, ...more }], {
      tile: 48,
      channels,
      compression: 8,
      compress: compress(spoilt)
    })
  }
  writeSpoilt('unpacked.tif', 3)
  writeSpoilt('strips.tif', 3, { isStrip: true })
  writeSpoilt('mask.tif', 1)
  const source = await valueOf(openImage(at('unpacked.tif')))
  await valueOf(source.read!({ top: 0, left: 0, height: 96, width: 100 }))
  for (const window of [
    { top: 90, left: 90, height: 10, width: 10 },
    { top: 97, left: 98, height: 1, width: 1 },
    { top: 0, left: 0, height: 100, width: 100 }
  ]) {
    const { code, message } = await failureOf(source.read!(window))
    assert.is(code, 'input')
    assert.match(message, /unpacked\.tif cannot be read at rows 96 to 99, columns 96 to 99: .*; it is cut or damaged there/)
  }
  assert.match(
    (await failureOf(decodeImage(at('strips.tif'), { height: 1, width: 1 }))).message,
    /strips\.tif cannot be read: .*; it is cut or damaged/
  )
  assert.match((await failureOf(inspectMask(at('mask.tif')))).message, /^the mask .*mask\.tif cannot be read: /)
})

test('a tile that a sparse file leaves out says so, in images and masks', async () => {
  for (const channels of [3, 1]) {
    const counts = Array.from({ length: 9 }, (_, tile) => (tile === 8 ? 0 : 48 * 48 * channels))
    writeTiledTiff(at(`sparse-${channels}.tif`), [level(100, 100, channels)], { tile: 48, channels, tags: [[325, 4, counts]] })
  }
  const source = await valueOf(openImage(at('sparse-3.tif')))
  const reason = 'it holds no bytes there, as sparse files leave out what is empty'
  const whole = 'store it whole, by gdal_translate -co TILED=YES OLD\\.tif NEW\\.tif'
  assert.match(
    (await failureOf(source.read!({ top: 90, left: 90, height: 10, width: 10 }))).message,
    new RegExp(`sparse-3\\.tif cannot be read at rows 96 to 99, columns 96 to 99: ${reason}; ${whole} or leave it out$`)
  )
  assert.match(
    (await failureOf(inspectMask(at('sparse-1.tif')))).message,
    new RegExp(`^the mask .*sparse-1\\.tif cannot be read: ${reason}; ${whole}, or leave its row out, as --skip-bad does$`)
  )
})

test('an image that is taken away since it was opened is named once', async () => {
  const pixels = noise(100 * 100 * 3, 3)
  writeTiledTiff(at('gone.tif'), [{ height: 100, width: 100, pixels }], { tile: 48, channels: 3 })
  const bytes = readFileSync(at('gone.tif'))
  for (const bands of [undefined, [3, 2, 1]]) {
    writeFileSync(at('gone.tif'), bytes)
    const { read } = await valueOf(openImage(at('gone.tif'), { level: 0, ...(bands && { bands }) }))
    rmSync(at('gone.tif'))
    const { message } = await failureOf(read!({ top: 0, left: 0, height: 100, width: 100 }))
    assert.match(message, /^the image .*gone\.tif cannot be read: (Input file is missing|no such file or directory)$/)
  }
})

test('a tag that is not as it should be refuses no sound image, in tiles or strips', async () => {
  const pixels = noise(100 * 100 * 3, 3)
  // Software, whose text has no zero at its end.
  const tags: readonly Field[] = [[305, 2, [...Buffer.from('no end of it')]]]
  for (const isStrip of [undefined, true] as const) {
    const layer = { height: 100, width: 100, pixels, ...(isStrip && { isStrip }) }
    writeTiledTiff(at('tags.tif'), [layer], { tile: 48, channels: 3, compression: 8, compress: (tile) => deflateSync(tile), tags })
    assert.equal((await valueOf(decodeImage(at('tags.tif'), { height: 1, width: 1 }))).pixels, pixels)
  }
})

test('where nothing can be read, --skip-bad ends too', async () => {
  await writeDamaged('all.tif')
  const bytes = readFileSync(at('all.tif'))
  bytes.fill(0, Math.floor(bytes.length * 0.3), Math.floor(bytes.length * 0.8))
  writeFileSync(at('all.tif'), bytes)
  writeFileSync(at('all.csv'), 'path,label\nall.tif,0\nall.tif,1\n')
  const { message } = await failureOf(
    train({ ...options, model: small, input: [2, 3, 200, 200], data: at('all.csv'), steps: 2, skipBad: true, onNotice: () => undefined })
  )
  assert.match(message, /^the image .*all\.tif cannot be read at rows /)
})

test('JPEG 2000 is refused by name', async () => {
  writeTiledTiff(at('jp2.tif'), [level(64, 64)], { ...rgb, compression: 33005 })
  assert.match(
    (await failureOf(openImage(at('jp2.tif')))).message,
    /jp2\.tif is (compressed as JPEG 2000, which is not read: store it with JPEG, LZW or deflate$|of a format that OpenSlide reads)/
  )
})

test('decoding gives its memory back', async () => {
  const height = 1000
  await sharp(Buffer.alloc(height * 2000 * 3, 7), { raw: { height, width: 2000, channels: 3 } })
    .png()
    .toFile(at('large.png'))
  const decode = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      await valueOf(decodeImage(at('large.png'), { height: 1, width: 1 }))
      globalThis.gc?.()
    }
  }
  await decode(10)
  const before = process.memoryUsage().rss
  await decode(60)
  // All of them would be 360 MB.
  assert.ok(process.memoryUsage().rss - before < 180e6, `${process.memoryUsage().rss - before}`)
})

test.run()
