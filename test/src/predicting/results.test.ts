/**
 * What predictions are written as: pyramids that other programs open, and polygons.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { predict, train } from '../../../src'
import { openImage } from '../../../src/images/image-source'
import { colourOfClass, palette } from '../../../src/results/colours'
import { listGeoTags, writeGeoFiles } from '../../../src/results/geo-files'
import { rowsOfParts } from '../../../src/results/pixel-rows'
import { type TracedPolygon, tracePolygons } from '../../../src/results/trace-polygons'
import { writePyramid } from '../../../src/results/tiff-pyramid'
import { propertyRuns } from '../../property-runs'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

/** Blobs, and noise in one corner; several tiles, none of them full at the border. */
const [height, width] = [601, 530]
const classes = Uint8Array.from({ length: height * width }, (_, index) => {
  const [row, column] = [Math.floor(index / width), index % width]
  return row > 500 && column > 500
    ? (Math.imul(index, 2654435761) >>> 13) % 4
    : row > 256
      ? 0
      : Math.hypot(row - 150, column - 200) < 90
        ? 2
        : 1
})
const halved = (pixels: Uint8Array, high: number, wide: number): Uint8Array =>
  Uint8Array.from({ length: Math.ceil(high / 2) * Math.ceil(wide / 2) }, (_, index) => {
    const [row, column] = [Math.floor(index / Math.ceil(wide / 2)), index % Math.ceil(wide / 2)]
    return pixels[Math.min(2 * row + 1, high - 1) * wide + Math.min(2 * column + 1, wide - 1)]!
  })
const inParts = [classes.subarray(0, 123_456), classes.subarray(123_456, 246_912), classes.subarray(246_912)]

/** What OpenSlide says of a slide; undefined where it is not installed. */
const properties = (path: string): ReadonlyMap<string, string> | undefined => {
  try {
    const text = execFileSync('openslide-show-properties', [path], { encoding: 'utf8' })
    return new Map([...text.matchAll(/^(\S+): '(.*)'$/gm)].map(([, name, value]) => [name!, value!]))
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown
    console.log('openslide-show-properties is not installed: what OpenSlide opens is not looked at')
    return undefined
  }
}

test('a pyramid of classes: every level, and microns a pixel, in our reader, libvips and OpenSlide', async () => {
  await valueOf(writePyramid(at('grey.tif'), rowsOfParts({ height, width }, inParts), { micronsPerPixel: 0.499 }))
  const level1 = halved(classes, height, width)
  const level2 = halved(level1, 301, 265)
  for (const [page, pixels] of [classes, level1, level2].entries())
    assert.equal(await sharp(at('grey.tif'), { page }).toColourspace('b-w').raw().toBuffer(), Buffer.from(pixels))
  const { header } = await valueOf(openImage(at('grey.tif'), { level: 1 }))
  assert.equal([header.levels.length, header.height, header.width], [3, 301, 265])
  assert.ok(Math.abs(header.view.micronsPerPixel! - 0.998) < 0.002)
  const seen = properties(at('grey.tif'))
  if (seen === undefined) return
  assert.equal(
    ['vendor', 'level-count', 'level[2].width', 'level[2].height'].map((name) => seen.get(`openslide.${name}`)),
    ['generic-tiff', '3', '133', '151']
  )
  // OpenSlide 4 makes openslide.mpp-x of these; 3.4 only tells them.
  assert.is(seen.get('tiff.ResolutionUnit'), 'centimeter')
  assert.ok(Math.abs(1e4 / Number(seen.get('tiff.XResolution')) - 0.499) < 1e-5)
})

test('a palette, and a picture, as libvips and OpenSlide show them', async () => {
  await valueOf(writePyramid(at('palette.tif'), rowsOfParts({ height, width }, inParts), { palette }))
  const coloured = await sharp(at('palette.tif')).removeAlpha().raw().toBuffer()
  assert.equal(coloured, Buffer.from([...classes].flatMap((one) => [...colourOfClass(one)])))
  assert.is(new Set(palette.map(String)).size, 256)
  const flat = Buffer.alloc(300 * 700 * 3, Buffer.from([200, 40, 90]))
  const rows = (top: number, count: number) => Promise.resolve(flat.subarray(top * 700 * 3, (top + count) * 700 * 3))
  await valueOf(writePyramid(at('picture.tif'), { height: 300, width: 700, samples: 3, rows }))
  for (const page of [0, 1, 2]) {
    const { data, info } = await sharp(at('picture.tif'), { page }).raw().toBuffer({ resolveWithObject: true })
    assert.equal(
      [info.height, info.width, info.channels],
      [
        [300, 700, 3],
        [150, 350, 3],
        [75, 175, 3]
      ][page]
    )
    assert.ok([...data].every((value, index) => Math.abs(value - flat[index % 3]!) <= 2))
  }
  for (const name of ['palette.tif', 'picture.tif']) assert.is(properties(at(name))?.get('openslide.level-count') ?? '3', '3')
})

test('a mask keeps the place of its image, as GeoTIFF and in a world file with its .prj', async () => {
  for (const epsg of [32633, 4326, undefined]) {
    const geoTransform = {
      affine: [500_000, 0.5, 0.1, 4_100_000, 0.2, -0.5] as const,
      ...(epsg && { epsg }),
      ...(epsg === 4326 && { isGeodetic: true as const })
    }
    await valueOf(writePyramid(at('ground.tif'), rowsOfParts({ height, width }, inParts), { geoTags: listGeoTags(geoTransform) }))
    assert.equal((await valueOf(openImage(at('ground.tif')))).header.geoTransform, geoTransform)
    const said: string[] = []
    await valueOf(writeGeoFiles(at('ground.tif'), geoTransform, (sentence) => void said.push(sentence)))
    const numbers = readFileSync(at('ground.tfw'), 'utf8').trim().split('\n').map(Number)
    assert.equal(numbers, [0.5, 0.2, 0.1, -0.5, 500_000.3, 4_099_999.85])
    assert.equal(said, [])
    assert.is(existsSync(at('ground.prj')), epsg !== undefined)
    if (epsg === undefined) continue
    const [system] = /^(PROJCS|GEOGCS)\["[^"]+"/.exec(readFileSync(at('ground.prj'), 'utf8')) ?? []
    assert.is(system, epsg === 4326 ? 'GEOGCS["GCS_WGS_1984"' : 'PROJCS["WGS_1984_UTM_Zone_33N"')
    rmSync(at('ground.prj'))
  }
})

test('a coordinate system whose text is not known is named, and has no .prj', async () => {
  const said: string[] = []
  const geoTransform = { affine: [0, 1, 0, 0, 0, -1] as const, epsg: 29999 }
  await valueOf(writeGeoFiles(at('unknown.png'), geoTransform, (sentence) => void said.push(sentence)))
  assert.equal(said, ['no .prj is written for EPSG:29999, which @esri/proj-codes does not know'])
  assert.equal([existsSync(at('unknown.pgw')), existsSync(at('unknown.prj'))], [true, false])
})

test('a .prj that holds another text is left, and said', async () => {
  const said: string[] = []
  writeFileSync(at('own.prj'), 'another')
  const geoTransform = { affine: [0, 1, 0, 0, 0, -1] as const, epsg: 32633 }
  await valueOf(writeGeoFiles(at('own.tif'), geoTransform, (sentence) => void said.push(sentence)))
  assert.is(readFileSync(at('own.prj'), 'utf8'), 'another')
  assert.match(said.join(), /own\.prj is left as it is: it is not what would be written for EPSG:32633$/)
})

const traced = async (pixels: Uint8Array, high: number, wide: number): Promise<readonly TracedPolygon[]> => {
  const found: TracedPolygon[] = []
  await tracePolygons(rowsOfParts({ height: high, width: wide }, [pixels]), (polygon) => void found.push(polygon))
  return found
}

const areaOf = (ring: TracedPolygon['rings'][number]): number =>
  ring.slice(1).reduce((sum, [x, y], index) => sum + (ring[index]![0] * y - x * ring[index]![1]) / 2, 0)

/** Whether the middle of a pixel is inside, by the sides to its right. */
const holds = (rings: TracedPolygon['rings'], x: number, y: number): boolean =>
  rings
    .flatMap((ring) => ring.slice(1).map((to, index) => [ring[index]!, to] as const))
    .filter(([[x0, y0], [x1, y1]]) => x0 === x1 && x0 > x && y0 <= y !== y1 <= y).length %
    2 ===
  1

test('polygons hold exactly the pixels of their value; rings are closed, outer ones turn one way, holes the other', async () => {
  const grids = fc.integer({ min: 1, max: 9 }).chain((wide) =>
    fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 81 }).map((values) => ({
      wide,
      high: Math.ceil(values.length / wide),
      pixels: Uint8Array.from({ length: Math.ceil(values.length / wide) * wide }, (_, index) => values[index] ?? 0)
    }))
  )
  await fc.assert(
    fc.asyncProperty(grids, async ({ wide, high, pixels }) => {
      const polygons = await traced(pixels, high, wide)
      for (const { rings } of polygons)
        for (const [index, ring] of rings.entries()) {
          assert.equal(ring[0], ring.at(-1))
          assert.ok(areaOf(ring) > 0 === (index === 0))
        }
      pixels.forEach((value, index) => {
        const inside = polygons.filter(({ rings }) => holds(rings, (index % wide) + 0.5, Math.floor(index / wide) + 0.5))
        assert.equal(
          inside.map((polygon) => polygon.value),
          [value]
        )
      })
      // As many polygons as there are groups of pixels that touch by their sides.
      const group = Array.from(pixels, (_, index) => index)
      for (let changed = true; changed;) {
        changed = false
        pixels.forEach((value, index) => {
          for (const other of [...(index % wide > 0 ? [index - 1] : []), ...(index >= wide ? [index - wide] : [])])
            if (pixels[other] === value && group[other] !== group[index]) {
              group[other] = group[index] = Math.min(group[other]!, group[index]!)
              changed = true
            }
        })
      }
      assert.is(polygons.length, new Set(group).size)
    }),
    propertyRuns(300)
  )
})

test('where pixels of one group touch by a corner, a hole touches the border there', async () => {
  // The zero in the middle is enclosed; the ring of ones is closed over the corner at (2, 1).
  const pixels = Uint8Array.from([1, 1, 0, 1, 0, 1, 1, 1, 1])
  const ones = (await traced(pixels, 3, 3)).find(({ value }) => value === 1)!
  assert.is(ones.rings.length, 2)
  assert.equal(
    ones.rings.map((ring) => areaOf(ring)),
    [8, -1]
  )
})

test('predict writes the same classes as mask, pyramid and polygons in pixels of the finest level', async () => {
  const noise = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => (Math.imul(index >> 5, 2654435761) >>> 13) & 255)
  const slide = [
    { height: 128, width: 96, pixels: noise(128 * 96 * 3) },
    { height: 64, width: 48, pixels: noise(64 * 48 * 3) }
  ]
  writeTiledTiff(at('slide.tif'), slide, { tile: 16, channels: 3, perCentimetre: 20_000 })
  const mask = { height: 128, width: 96, pixels: Uint8Array.from({ length: 128 * 96 }, (_, index) => (index >> 4) % 3) }
  writeTiledTiff(at('mask.tif'), [mask], { tile: 32, channels: 1 })
  writeFileSync(at('data.csv'), 'path,mask\nslide.tif,mask.tif\nslide.tif,mask.tif\n')
  const common = { model: segmenting, device: 'reference', threads: 1 } as const
  await valueOf(train({ ...common, input: [2, 3, 32, 32], data: at('data.csv'), steps: 3, lr: 0.1, save: at('w.safetensors') }))
  const options = {
    ...common,
    weights: at('w.safetensors'),
    image: at('slide.tif'),
    level: 1,
    classNames: ['stroma', 'tumour', 'fat']
  } as const
  const { pixels } = await valueOf(predict({ ...options, out: at('out.png') }))
  await valueOf(predict({ ...options, out: at('out.tif') }))
  await valueOf(predict({ ...options, out: at('out.geojson') }))
  const raw = await sharp(at('out.png')).toColourspace('b-w').raw().toBuffer()
  assert.equal(await sharp(at('out.tif')).toColourspace('b-w').raw().toBuffer(), raw)
  assert.is((await valueOf(openImage(at('out.tif')))).header.view.micronsPerPixel, 1)
  const read = () =>
    JSON.parse(readFileSync(at('out.geojson'), 'utf8')) as {
      readonly features: readonly {
        readonly geometry: { readonly coordinates: TracedPolygon['rings'] }
        readonly properties: {
          readonly objectType: string
          readonly classification: { readonly name: string; readonly color: readonly number[] }
        }
      }[]
    }
  const { features } = read()
  for (const [index, name] of options.classNames.entries()) {
    const ofClass = features.filter(({ properties: { classification } }) => classification.name === name)
    const area = ofClass.flatMap(({ geometry }) => geometry.coordinates).reduce((sum, ring) => sum + areaOf(ring), 0)
    assert.is(area, 4 * pixels![index]!)
    for (const {
      properties: { objectType, classification }
    } of ofClass)
      assert.equal([objectType, classification.color], ['annotation', [...colourOfClass(index)]])
  }
  await valueOf(predict({ ...options, out: at('out.geojson'), background: 'stroma' }))
  assert.not(read().features.some(({ properties: { classification } }) => classification.name === 'stroma'))
  const { message } = await failureOf(predict({ ...options, out: at('out.geojson'), background: 'bone' }))
  assert.is(message, '--background: there is no class bone; give one of stroma, tumour, fat, or its number')
})

test.run()
