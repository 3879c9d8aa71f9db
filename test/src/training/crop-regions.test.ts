/** Where crops are drawn: in tissue, where masks count, and each class as often. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TrainOptions, readDataset, train } from '../../../src'
import { type Cells, cornerInCells, finestGrid } from '../../../src/datasets/cells'
import { findTissue, otsuThreshold, saturation } from '../../../src/datasets/tissue'
import { type CropRules, findCropRegions } from '../../../src/training/batches/crop-regions'
import { createSampler, drawReplacement } from '../../../src/training/batches/sampling'
import { propertyRuns } from '../../property-runs'
import { writeColours } from '../example-images'
import { box, collection, feature } from '../geojson'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'
import { noDataTag, writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

test('saturation is that of HSV, and no colour has none', () => {
  assert.equal(
    [
      [0, 0, 0],
      [200, 200, 200],
      [200, 100, 100],
      [0, 0, 9],
      [180, 120, 160]
    ].map(([red, green, blue]) => saturation(red!, green!, blue!)),
    [0, 0, 128, 255, 85]
  )
})

/** By its definition: the variance between what lies at most at a threshold and what lies above. */
const variance = (values: readonly number[], threshold: number): number => {
  const mean = (of: readonly number[]): number => of.reduce((sum, value) => sum + value, 0) / of.length
  const [below, above] = [values.filter((value) => value <= threshold), values.filter((value) => value > threshold)]
  return below.length === 0 || above.length === 0 ? 0 : below.length * above.length * (mean(below) - mean(above)) ** 2
}

test("Otsu's threshold maximises the variance between two classes", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 30 }), (values) => {
      const found = otsuThreshold(Uint8Array.from(values))
      const all = Array.from({ length: 256 }, (_, threshold) => variance(values, threshold))
      if (found === undefined) assert.ok(all.every((one) => one === 0))
      else assert.ok(all[found]! >= Math.max(...all) * (1 - 1e-9))
    }),
    propertyRuns(200)
  )
  assert.is(otsuThreshold(Uint8Array.of(7, 7, 7)), undefined)
})

const [height, width] = [1300, 700]
const isPink = (row: number, column: number): boolean => row >= 300 && row < 900 && column >= 100 && column < 400

/** Pink tissue on glass, and its pyramid. */
const slide = (scale: number) => {
  const pixels = new Uint8Array((height / scale) * (width / scale) * 3)
  for (let row = 0; row < height / scale; row += 1)
    for (let column = 0; column < width / scale; column += 1) {
      const shade = (row * 7 + column * 13) % 9
      const colour = isPink(row * scale, column * scale) ? [200 + shade, 90 + shade, 150] : [240, 238, 240 - shade / 3]
      pixels.set(colour, ((row * width) / scale + column) * 3)
    }
  return { height: height / scale, width: width / scale, pixels }
}

test.before(async () => {
  writeTiledTiff(at('slide.tif'), [slide(1), slide(2)], { tile: 64, channels: 3 })
  await writeColours(at('slide.png'), slide(1).pixels, { height, width })
  await sharp({ create: { width: 64, height: 64, channels: 3, background: 'white' } })
    .png()
    .toFile(at('glass.png'))
  const classes = Uint8Array.from({ length: height * width }, (_, index) => {
    const [row, column] = [Math.floor(index / width), index % width]
    return row < 20 && column < 30 ? 2 : isPink(row, column) ? 1 : 255
  })
  writePng(at('mask.png'), classes, { height, width, bitDepth: 8 })
  writePng(at('nothing.png'), new Uint8Array(height * width).fill(255), { height, width, bitDepth: 8 })
  writeTiledTiff(at('mask.tif'), [{ height, width, pixels: classes }], { tile: 64, channels: 1 })
  writeFileSync(at('mask.json'), collection(feature('b', box(100, 300, 400, 900)), feature('c', box(0, 0, 30, 20))))
  writeFileSync(at('half.csv'), 'path,mask\nslide.tif,mask.png\nslide.tif,nothing.png\n')
  for (const mask of ['mask.png', 'mask.tif', 'mask.json', 'nothing.png'])
    writeFileSync(at(`${mask}.csv`), `path,mask\nslide.tif,${mask}\n`)
  writeFileSync(at('labels.csv'), 'path,label\nslide.tif,0\nslide.png,0\nslide.png,1\n')
})

/** Middles of crops, drawn over and over. */
const middles = (cells: Cells, image = { height, width }, crop = { height: 32, width: 20 }) =>
  Array.from({ length: 300 }, (_, index) => {
    const draw = { top: (index * 0.618034) % 1, left: (index * 0.754877) % 1 }
    const { cropTop, cropLeft } = cornerInCells(cells, draw, image, crop)
    assert.ok(cropTop >= 0 && cropLeft >= 0 && cropTop + crop.height <= image.height && cropLeft + crop.width <= image.width)
    return [cropTop + crop.height / 2, cropLeft + crop.width / 2] as const
  })

test('tissue is found at the coarsest level, in tiles or whole, and crops lie in it at every extent', async () => {
  for (const [name, block] of [
    ['slide.tif', 2],
    ['slide.png', 3]
  ] as const) {
    const tissue = (await valueOf(findTissue(at(name))))!
    assert.is(tissue.grid.block, block)
    const cell = name === 'slide.tif' ? 4 : 3
    assert.ok(Math.abs(tissue.numbers.length - (600 * 300) / cell ** 2) < 400, `${tissue.numbers.length}`)
    for (const scale of [1, 2, 0.5])
      for (const [row, column] of middles(tissue, { height: height * scale, width: width * scale }))
        assert.ok(
          row / scale >= 300 - cell && row / scale < 900 + cell && column / scale >= 100 - cell && column / scale < 400 + cell,
          `${name} ${row} ${column}`
        )
  }
  assert.match((await failureOf(findTissue(at('glass.png')))).message, /glass\.png is equally saturated everywhere, so there is no tissue/)
})

test('of other than 8-bit RGB, cells with data are taken: what holds nothing is left out', async () => {
  const [high, wide] = [90, 60]
  const elements = new Float32Array(high * wide * 2).fill(-9999)
  for (let row = 30; row < 50; row += 1)
    for (let column = 10; column < 40; column += 1) elements[(row * wide + column) * 2 + 1] = row - 40.5
  const tags = [noDataTag('-9999')]
  const pixels = new Uint8Array(elements.buffer)
  writeTiledTiff(at('bands.tif'), [{ height: high, width: wide, pixels }], { tile: 32, channels: 2, elementType: 'float32', tags })
  const { numbers, grid } = (await valueOf(findTissue(at('bands.tif'), { channels: 2 })))!
  assert.equal([grid.block, numbers.length], [1, 20 * 30])
  for (const number of numbers) {
    const [row, column] = [Math.floor(number / wide), number % wide]
    assert.ok(row >= 30 && row < 50 && column >= 10 && column < 40)
  }
  const { message } = await failureOf(findTissue(at('bands.tif'), { bands: [1] }))
  assert.match(message, /bands\.tif holds no data anywhere, so no crop can be drawn: leave it out$/)
})

test('every cell is drawn, and every place in it; crops are moved in at the border', () => {
  const grid = finestGrid({ height: 10, width: 1030 })
  assert.equal([grid.block, grid.rows, grid.columns], [3, 4, 344])
  const cells = { grid, numbers: Uint32Array.of(0, 343 + 3 * 344) }
  const image = { height: 10, width: 1030 }
  const one = { height: 1, width: 1 }
  const found = Array.from({ length: 400 }, (_, index) =>
    cornerInCells(cells, { top: index / 400, left: ((index * 7) % 400) / 400 }, image, one)
  )
  assert.equal([...new Set(found.map(({ cropTop }) => cropTop))].sort(), [0, 1, 2, 9])
  assert.equal(
    [...new Set(found.map(({ cropLeft }) => cropLeft))].sort((a, b) => a - b),
    [0, 1, 2, 1029]
  )
  assert.equal(cornerInCells(cells, { top: 0, left: 0 }, image, { height: 8, width: 8 }), { cropTop: 0, cropLeft: 0 })
  assert.equal(cornerInCells(cells, { top: 0.99, left: 0.9 }, image, { height: 8, width: 8 }), { cropTop: 2, cropLeft: 1022 })
})

const anywhere: CropRules = { tissue: false, annotated: false, balanced: false }
const regionsOf = async (csv: string, rules: Partial<CropRules>) => {
  const data = await valueOf(readDataset(at(csv), '--data', csv.includes('json') ? { classNames: 'a,b,c' } : {}))
  return { data, regions: await valueOf(findCropRegions({ ...anywhere, ...rules }, data, 3)) }
}

for (const csv of ['mask.png.csv', 'mask.tif.csv', 'mask.json.csv'])
  test(`${csv}: crops near pixels of each class, or of any`, async () => {
    const { data, regions } = await regionsOf(csv, { balanced: true })
    const [example] = data.examples
    assert.equal(regions.byClass, [[], [0], [0]])
    for (const [row, column] of middles(regions.cellsOf(example!, 2)!)) assert.ok(row <= 24 && column <= 33, `${row} ${column}`)
    for (const [row, column] of middles(regions.cellsOf(example!, 1)!)) assert.ok(row >= 297 && row < 903 && column >= 97 && column < 403)
    const any = await regionsOf(csv, { annotated: true })
    assert.equal(
      any.regions.cellsOf(example!, undefined)!.numbers.length,
      regions.cellsOf(example!, 1)!.numbers.length + regions.cellsOf(example!, 2)!.numbers.length
    )
    assert.is((await regionsOf(csv, {})).regions.cellsOf(example!, undefined), undefined)
  })

test('balanced classes are drawn once each in turn, and of each all examples in turn', () => {
  const balanced = [[0], [], [1, 2, 3, 4, 5], [6, 7]]
  const sampling = { seed: 4, examples: 8, batch: 3, flip: false, balanced }
  const sample = createSampler(sampling)
  const draws = Array.from({ length: 30 }, (_, step) => sample(step)).flat()
  for (let block = 0; block < 30; block += 1)
    assert.equal(
      draws
        .slice(3 * block, 3 * block + 3)
        .map(({ inClass }) => inClass)
        .sort(),
      [0, 2, 3]
    )
  for (const [wanted, members] of balanced.entries()) {
    const drawn = draws.filter(({ inClass }) => inClass === wanted).map(({ example }) => example)
    for (let turn = 0; turn + members.length <= drawn.length && members.length > 0; turn += members.length)
      assert.equal(drawn.slice(turn, turn + members.length).sort(), members)
  }
  assert.equal(createSampler(sampling)(17), sample(17))
  const again = drawReplacement(sampling, 5, 1, 1, sample(5)[1]!)
  assert.ok(balanced[again.inClass!]!.includes(again.example))
})

const options = { device: 'reference', threads: 1, seed: 5, steps: 4, input: [2, 3, 32, 32] } as const
const lossOf = async (more: Partial<TrainOptions> & Pick<TrainOptions, 'data' | 'model'>) => {
  const notices: string[] = []
  const { loss } = await valueOf(train({ ...options, ...more, onNotice: (sentence) => notices.push(sentence) }))
  return { loss, notices }
}

test('training in tissue, on masks and balanced: other crops, the same ones each time, and resumed', async () => {
  const data = at('labels.csv')
  const plain = await lossOf({ model: small, data })
  const tissue = await lossOf({ model: small, data, tissue: true })
  assert.not.equal(tissue.loss, plain.loss)
  assert.equal((await lossOf({ model: small, data, tissue: true })).loss, tissue.loss)
  assert.match(tissue.notices.join('\n'), /^20 % of the training images is tissue$/m)
  const balanced = await lossOf({ model: segmenting, data: at('mask.tif.csv'), balanced: true })
  assert.equal((await lossOf({ model: segmenting, data: at('mask.png.csv'), balanced: true })).loss, balanced.loss)
  const state = { state: at('state'), stateEvery: 2, resume: true }
  await lossOf({ model: segmenting, data: at('mask.tif.csv'), balanced: true, ...state, steps: 2 })
  assert.equal((await lossOf({ model: segmenting, data: at('mask.tif.csv'), balanced: true, ...state })).loss, balanced.loss)
})

test('tissue is looked for without the tiles that cannot be read, and anywhere in images without any, where --skip-bad says so', async () => {
  const deflate = { tile: 256, channels: 3, compression: 8 } as const
  const writeWithout = (name: string, isSpoilt: (tile: number) => boolean): void => {
    let tiles = 0
    const compress = (tile: Buffer): Buffer => (isSpoilt(tiles++) ? Buffer.alloc(40, 1) : deflateSync(tile))
    writeTiledTiff(at(name), [slide(1)], { ...deflate, compress })
  }
  // In the middle of the tissue.
  writeWithout('spoilt.tif', (tile) => tile === 7)
  writeWithout('lost.tif', () => true)
  writeFileSync(at('spoilt.csv'), 'path,label\nspoilt.tif,0\nslide.png,1\n')
  const common = { model: small, data: at('spoilt.csv'), tissue: true } as const
  const place = /spoilt\.tif cannot be read at rows 512 to 767, columns 256 to 511: /
  assert.match((await failureOf(train({ ...options, ...common }))).message, /spoilt\.tif cannot be read at rows \d+ to \d+, columns/)
  const { notices } = await lossOf({ ...common, skipBad: true })
  const told = notices.filter((sentence) => sentence.endsWith('; no tissue is looked for there'))
  assert.is(told.length, 1)
  assert.match(told[0]!, place)
  assert.match(notices.join('\n'), /^1\d % of the training images is tissue; 1 part of them cannot be read$/m)

  const unread: string[] = []
  const found = await valueOf(findTissue(at('spoilt.tif'), {}, (_, path) => unread.push(path)))
  assert.equal(unread, [at('spoilt.tif')])
  const whole = (await valueOf(findTissue(at('slide.tif'))))!
  assert.ok(found!.numbers.length > whole.numbers.length / 2)
  const { block } = found!.grid
  for (const [row, column] of middles(found!, { height, width })) {
    assert.ok(row >= 300 - block && row < 900 + block && column >= 100 - block && column < 400 + block, `${row} ${column}`)
    assert.not.ok(row >= 512 + block && row < 768 - block && column >= 256 + block && column < 512 - block, `${row} ${column}`)
  }
  assert.is(await valueOf(findTissue(at('lost.tif'), {}, (_, path) => unread.push(path))), undefined)
  assert.ok(unread.length > 10)
})

test('a mask of tissue for an image: where it is not 0, or polygons, of any size', async () => {
  const half = Uint8Array.from({ length: 65 * 35 }, (_, index) => (Math.floor(index / 35) < 10 ? 255 : 0))
  writePng(at('top.png'), half, { height: 65, width: 35, bitDepth: 8 })
  writeFileSync(at('marked.csv'), 'path,label,tissue\nslide.tif,0,top.png\nslide.png,1,mask.json\nslide.png,1,\n')
  const data = await valueOf(readDataset(at('marked.csv')))
  const { cellsOf } = await valueOf(findCropRegions(anywhere, data, 2))
  const [top, polygons, none] = data.examples.map((example) => cellsOf(example, undefined))
  assert.is(none, undefined)
  for (const [row] of middles(top!)) assert.ok(row < 200)
  assert.ok(
    middles(polygons!).every(([row, column]) => (row <= 24 && column <= 33) || (row >= 297 && row < 903 && column >= 97 && column < 403))
  )
  const both = await valueOf(findCropRegions({ ...anywhere, tissue: true }, data, 2))
  assert.ok(both.cellsOf(data.examples[2]!, undefined)!.numbers.length > 0)
  assert.not.equal((await lossOf({ model: small, data })).loss, (await lossOf({ model: small, data: at('labels.csv') })).loss)
  writePng(at('zero.png'), new Uint8Array(4), { height: 2, width: 2, bitDepth: 8 })
  writeFileSync(at('zero.csv'), 'path,label,tissue\nslide.tif,0,zero.png\n')
  const { message } = await failureOf(train({ ...options, model: small, data: at('zero.csv') }))
  assert.match(
    message,
    /zero\.csv line 2: the mask of tissue .*zero\.png is 0 everywhere, so no crop can be drawn: mend it, or leave the row out$/
  )
})

const refused: readonly (readonly [sentence: RegExp, options: Partial<TrainOptions> & Pick<TrainOptions, 'data'>])[] = [
  [/^--annotated is for data with masks, which --data has not: leave it out$/, { data: 'labels.csv', annotated: true }],
  [
    /^--tissue and --annotated both say where crops of masks lie: give one of them$/,
    { data: 'mask.png.csv', tissue: true, annotated: true }
  ],
  [/^--tissue and --balanced both say where/, { data: 'mask.png.csv', tissue: true, balanced: true }],
  [/nothing\.png\.csv line 2: no pixel of the training masks counts/, { data: 'nothing.png.csv', balanced: true }],
  [
    /half\.csv line 3: --annotated finds no pixel that counts in the mask of .*slide\.tif: leave the row out/,
    { data: 'half.csv', annotated: true }
  ]
]

for (const [sentence, { data, ...more }] of refused)
  test(`refused: ${sentence.source.slice(0, 60)}`, async () => {
    const model = data === 'labels.csv' ? small : segmenting
    const { message } = await failureOf(train({ ...options, ...more, model, data: at(data as string) }))
    assert.match(message, sentence)
  })

test.run()
