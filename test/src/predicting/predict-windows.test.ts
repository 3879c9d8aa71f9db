/**
 * Images of sides that a network does not keep are predicted by windows, as a validation counts
 * them: in masks, probabilities and polygons, of one image and of lists.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fromFile } from 'geotiff'
import sharp from 'sharp'
import { type Model, convTranspose2d, instanceNorm, maxPool2d } from '../../../dsl'
import { type Planned, type PredictOptions, predict } from '../../../src'
import { joinWindows } from '../../../src/predicting/join-windows'
import { makePixelScores } from '../../../src/predicting/pixel-scores'
import { windowSpans } from '../../../src/running/window-spans'
import type { ReceptiveField } from '../../../staging'
import { noise, writeColours } from '../example-images'
import { at, classes, extents, maskOf, skipping, trained, writeMaskedImages } from '../masked-images'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const common = { model: skipping, device: 'reference', precision: 'float64', threads: 1, weights: at('w.safetensors') } as const
const { height, width } = extents[1]
const halving: Model = { name: 'halving', layers: [maxPool2d({ k: 4 }), convTranspose2d({ out: classes, k: 4, s: 4 })] }

const predicted = async (options: Partial<PredictOptions>) => {
  const [notices, plans]: [string[], Planned[]] = [[], []]
  const report = await valueOf(
    predict({ ...common, ...options, onNotice: (sentence) => notices.push(sentence), onPlan: (planned) => plans.push(planned) })
  )
  return { report, notices, plans }
}

const classesIn = (path: string): Promise<Buffer> => sharp(path).extractChannel(0).raw().toBuffer()

const assertSame = (one: Uint8Array, other: Uint8Array, what: string): void =>
  assert.is(Buffer.compare(one, other), 0, `${what}: ${one.filter((value, at) => value !== other[at]).length} pixels differ`)

test.before(async () => {
  await writeMaskedImages()
  await trained({ save: at('w.safetensors') })
})

test('the mask has of each pixel what a validation counts', async () => {
  writeFileSync(at('odd.csv'), 'path,mask\n1.png,1.mask.png\n')
  const again = at('again.safetensors')
  const { report } = await trained({ validation: at('odd.csv'), save: again })
  const { report: found, notices } = await predicted({ weights: again, image: at('1.png'), out: at('odd.png') })
  assert.equal(notices, [
    'skipping does not keep the sides of images of 101x94: they are predicted by windows of 76x72, as a validation does'
  ])
  const mask = await classesIn(at('odd.png'))
  assert.is(mask.length, height * width)
  const counts = Array.from({ length: classes }, () => new Array<number>(classes).fill(0))
  const pixels = new Array<number>(classes).fill(0)
  maskOf(1).forEach((label, index) => {
    pixels[mask[index]!]! += 1
    if (label !== 255) counts[label]![mask[index]!]! += 1
  })
  assert.equal(report.validations!.at(-1)!.confusion, counts)
  assert.equal(found.pixels, pixels)
})

test('each quarter of the mask is that of the image without what is over at the other ends, predicted at once', async () => {
  await predicted({ image: at('1.png'), out: at('odd.png') })
  const mask = await classesIn(at('odd.png'))
  const [middle, centre] = [50, 47]
  for (const [top, left] of [
    [0, 0],
    [0, 2],
    [1, 0],
    [1, 2]
  ] as const) {
    await sharp(at('1.png')).extract({ left, top, height: 100, width: 92 }).toFile(at('cut.png'))
    const { notices } = await predicted({ image: at('cut.png'), out: at('cut.mask.png') })
    assert.equal(notices, [])
    const cut = await classesIn(at('cut.mask.png'))
    const [from, to] = left === 0 ? [0, centre] : [centre, width]
    for (let row = top === 0 ? 0 : middle; row < (top === 0 ? middle : height); row += 1)
      assertSame(
        mask.subarray(row * width + from, row * width + to),
        cut.subarray((row - top) * 92 + from - left, (row - top) * 92 + to - left),
        `row ${row} of ${top}, ${left}`
      )
  }
})

test('a smaller budget has smaller windows, and tiles are read window by window: the same mask', async () => {
  await predicted({ image: at('1.png'), out: at('large.png') })
  await sharp(at('1.png')).tiff({ tile: true, tileWidth: 16, tileHeight: 16, compression: 'deflate' }).toFile(at('tiled.tif'))
  const { plans, report } = await predicted({ image: at('tiled.tif'), out: at('small.png'), budget: '300KB' })
  assert.ok(report.peakDeviceBytes <= 300_000)
  assert.ok(report.windowBytes! > 0)
  assert.is(plans.length, 1)
  assertSame(await classesIn(at('small.png')), await classesIn(at('large.png')), 'the budget')
})

test('kernels are measured of the windows that run alone, not of those that do not fit', async () => {
  process.env.XDG_CACHE_HOME = temporaryFolder()
  const heights: number[] = []
  const { plans } = await predicted({
    device: 'cpu',
    precision: 'float32',
    measure: 'sample',
    image: at('1.png'),
    out: at('measured.png'),
    strategy: 'plain',
    budget: '300KB',
    onKernel: (_done, _all, kernel) => {
      if ('inHeight' in kernel) heights.push(kernel.inHeight)
    }
  })
  const [window] = plans.map(({ staged }) => staged.graph.input[2])
  assert.ok(window! < 76 && heights.length > 0, `${window}`)
  assert.ok(Math.max(...heights) <= window!, `${heights.join()} are higher than ${window}`)
})

test('probabilities, polygons and the mask of a .tif are of the same pixels', async () => {
  await predicted({ image: at('1.png'), out: at('mask.tif') })
  await predicted({ image: at('1.png'), out: at('polygons.geojson') })
  const { report } = await predicted({ image: at('1.png'), out: at('probabilities.tif'), probabilities: 'float32' })
  const mask = await classesIn(at('mask.tif'))
  const file = await fromFile(at('probabilities.tif'))
  const values = (await (await file.getImage()).readRasters({ interleave: true })) as unknown as Float32Array & {
    readonly height: number
    readonly width: number
  }
  file.close()
  assert.equal([values.height, values.width, values.length], [height, width, height * width * classes])
  const highest = Uint8Array.from({ length: height * width }, (_, pixel) => {
    const of = values.subarray(pixel * classes, (pixel + 1) * classes)
    assert.ok(Math.abs(of.reduce((sum, one) => sum + one, 0) - 1) < 1e-6)
    return of.indexOf(Math.max(...of))
  })
  assertSame(highest, mask, 'the highest')
  const counted = new Array<number>(classes).fill(0)
  mask.forEach((one) => (counted[one]! += 1))
  assert.equal(report.pixels, counted)
  const areas = new Array<number>(classes).fill(0)
  const { features } = JSON.parse(readFileSync(at('polygons.geojson'), 'utf8')) as {
    readonly features: readonly {
      readonly geometry: { readonly coordinates: readonly (readonly (readonly [number, number])[])[] }
      readonly properties: { readonly classification: { readonly name: string } }
    }[]
  }
  const areaOf = (ring: readonly (readonly [number, number])[]): number =>
    Math.abs(ring.slice(1).reduce((sum, [x, y], index) => sum + ring[index]![0] * y - x * ring[index]![1], 0)) / 2
  for (const { geometry, properties } of features) {
    const [outer, ...holes] = geometry.coordinates.map(areaOf)
    areas[Number(properties.classification.name)]! += holes.reduce((rest, hole) => rest - hole, outer!)
  }
  assert.equal(areas, counted)
})

test('of a folder each image is as it is alone, whether its sides are kept or not, and a sentence says it once', async () => {
  mkdirSync(at('folder'))
  for (const [name, from] of [
    ['a', 0],
    ['b', 1],
    ['c', 1]
  ] as const)
    await sharp(at(`${from}.png`))
      .negate(name === 'c')
      .toFile(at(`folder/${name}.png`))
  await writeColours(at('folder/d.png'), noise(3 * 90 * 77, 3), { height: 90, width: 77 })
  const { report, notices } = await predicted({ data: at('folder'), out: at('masks'), formats: ['png'] })
  assert.is(report.images!.length, 4)
  assert.is(notices.length, 1)
  for (const name of ['a', 'b', 'c', 'd']) {
    const alone = await predicted({ image: at(`folder/${name}.png`), out: at('alone.png') })
    assertSame(readFileSync(at(`masks/${name}.png`)), readFileSync(at('alone.png')), name)
    assert.equal(alone.report.pixels, report.images!.find(({ path }) => path.endsWith(`${name}.png`))!.pixels)
  }
})

for (const extent of [
  { height: 40, width: 31 },
  { height: 1500, width: 1501 }
])
  test(`scores of windows are joined to those of ${extent.height}x${extent.width}, in memory or in a file`, async () => {
    const [high, wide] = [Math.ceil(extent.height / 2) + 3, Math.ceil(extent.width / 3) + 5]
    const entry = { name: 'scores', type: 'float32', shape: [1, 2, high, wide], offset: 64 } as const
    const joined = await valueOf(joinWindows({ step: { code: [], stepIoBytes: 0, stepIo: [entry] } }, extent))
    const field: ReceptiveField = { stride: 1, before: 2, after: 2 }
    const valueAt = (channel: number, row: number, column: number): number => (channel * extent.height + row) * extent.width + column
    for (const rows of windowSpans(extent.height, high, field))
      for (const columns of windowSpans(extent.width, wide, field)) {
        const scores = Float32Array.from({ length: 2 * high * wide }, (_, index) => {
          const [row, column] = [Math.floor(index / wide) % high, index % wide]
          const isTaken = row + rows.start >= rows.from && row + rows.start < rows.to
          return isTaken ? valueAt(Math.floor(index / wide / high), row + rows.start, column + columns.start) : NaN
        })
        joined.add({ view: () => scores, leaveToFile: () => undefined }, rows, columns)
      }
    const { classes: channels, rows, height, width } = makePixelScores(joined)
    assert.equal({ channels, height, width }, { channels: 2, ...extent })
    for (const channel of [0, 1]) {
      const wrong = rows(channel, 0, height).findIndex((value, index) => value !== Math.fround(channel * height * width + index))
      assert.is(wrong, -1)
    }
  })

test('an image that is smaller than what a score reads is predicted too, and none where no budget has room for a window', async () => {
  await writeColours(at('small-image.png'), noise(3 * 26 * 26, 3), { height: 26, width: 26 })
  const { report, notices } = await predicted({ image: at('small-image.png'), out: at('x.png') })
  assert.is(
    report.pixels!.reduce((sum, count) => sum + count, 0),
    26 * 26
  )
  assert.match(notices[0]!, /by windows of 24x24, /)
  await trained({ model: halving, steps: 1, save: at('halving.safetensors') })
  const of = { ...common, model: halving, weights: at('halving.safetensors'), image: at('small-image.png') } as const
  const failure = await failureOf(predict({ ...of, out: at('x.png'), budget: '1KB', strategy: 'plain' }))
  assert.is(failure.code, 'budget')
  assert.match(failure.message, /; images of 26x26 cannot be predicted by windows \(.* needs? /)
  const among = await failureOf(predict({ ...common, image: at('1.png'), out: at('x.png'), budget: '10KB' }))
  assert.match(among.message, /; images of 101x94 cannot be predicted by windows \(skipping on 1x3x28x28 does not fit /)
})

test('a network that reads the whole image for each pixel says so where it does not keep the sides, and which it does', async () => {
  const normalising: Model = { name: 'normalising', layers: [instanceNorm(), ...skipping.layers] }
  await trained({
    model: normalising,
    data: at('fitting.csv'),
    validation: at('fitting.csv'),
    steps: 1,
    save: at('normalising.safetensors')
  })
  const of = { ...common, model: normalising, weights: at('normalising.safetensors') } as const
  const { code, message } = await failureOf(predict({ ...of, image: at('1.png'), out: at('x.png') }))
  assert.is(code, 'input')
  assert.match(message, /^normalising on 1x3x101x94: .*; it reads the whole image for each pixel, so windows would not be exact: give /)
  assert.match(message, /: give images of sides that it keeps, such as 100x92$/)
})

test.run()
