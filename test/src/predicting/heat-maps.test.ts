/**
 * Where in an image a class is seen: class activation maps and gradients by pixels, over the image.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type Model,
  batchNorm,
  checkpoint,
  classLoss,
  conv2d,
  dropout,
  globalAvgPool,
  globalMaxPool,
  linear,
  maxPool2d,
  model,
  named,
  relu,
  seq,
  tanh
} from '../../../dsl'
import { type PredictOptions, predict, train } from '../../../src'
import { openImage } from '../../../src/images/image-source'
import { finest } from '../../../src/images/resolution'
import { imageNetSource } from '../../../src/plans/plan-network'
import { type ComputedHeatMap, computeHeatMap } from '../../../src/predicting/heat-map'
import { readInput } from '../../../src/predicting/input'
import { fillNormalised, rowReader } from '../../../src/predicting/normalised-input'
import type { HeatMapKind } from '../../../src/results/formats'
import { noise, writeColours } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const input = [2, 3, 40, 48] as const
const features = [
  conv2d({ out: 6, k: 3, s: 2, p: 1, bias: false }),
  batchNorm(),
  relu,
  maxPool2d({ k: 2, s: 2 }),
  conv2d({ out: 5, k: 3, p: 1 })
] as const
const pooled: Model = model({
  name: 'pooled',
  input,
  layers: [seq('features', features), globalAvgPool, dropout({ rate: 0.2 }), named('fc', linear({ out: 3 }))]
})
/** Smooth, so that differences of images tell its derivative. */
const smooth: Model = model({
  name: 'smooth',
  input,
  layers: [conv2d({ out: 4, k: 3, s: 2 }), tanh, conv2d({ out: 4, k: 3 }), globalAvgPool, linear({ out: 3 })]
})
const peaked: Model = model({ name: 'peaked', input, layers: [conv2d({ out: 4, k: 3 }), globalMaxPool, named('fc', linear({ out: 3 }))] })

const pixels = Uint8Array.from({ length: 40 * 48 * 3 }, (_, index) => 60 + ((Math.imul(index >> 4, 2654435761) >>> 13) & 127))
const writeImage = (name: string, data: Uint8Array): Promise<unknown> => writeColours(at(name), data, { height: 40, width: 48 })

const common = { device: 'reference', precision: 'float64', threads: 1 } as const
const options = (name: Model): PredictOptions & { readonly image: string } => ({
  ...common,
  model: name,
  weights: at(`${name.name}.safetensors`),
  image: at('image.png')
})

test.before(async () => {
  await writeImage('image.png', pixels)
  await sharp(pixels, { raw: { height: 40, width: 48, channels: 3 } })
    .resize(600, 500)
    .tiff({ tile: true, tileWidth: 64, tileHeight: 64, xres: 200, yres: 200, resolutionUnit: 'cm' })
    .toFile(at('slide.tif'))
  writeFileSync(at('data.csv'), 'image.png,0\nimage.png,1\nimage.png,2\n')
  for (const one of [pooled, smooth, peaked])
    await valueOf(train({ ...common, model: one, data: at('data.csv'), steps: 2, lr: 0.1, seed: 4, save: at(`${one.name}.safetensors`) }))
})

const mapOf = async (kind: HeatMapKind, of: number, name: Model, budget?: string): Promise<ComputedHeatMap> => {
  const source = await valueOf(openImage(at('image.png')))
  const size = budget === undefined ? {} : { budget: { kind: 'ofPlain', fraction: Number(budget) } as const }
  return valueOf(
    computeHeatMap({
      ...{ kind, of: `${of}`, weights: { path: at(`${name.name}.safetensors`) }, watching: {} },
      setup: { ...common, model: name, ...size },
      input: await valueOf(readInput(source, finest)),
      normalisation: imageNetSource,
      readRows: await valueOf(rowReader(source, finest))
    })
  )
}

const mean = (values: ArrayLike<number>): number => Array.from(values).reduce((sum, value) => sum + value, 0) / values.length

test('the mean of a class activation map is the score of the class; in tiles it is the same', async () => {
  const { scores } = await valueOf(predict(options(pooled)))
  for (const of of [0, 1, 2]) {
    const whole = await mapOf('cam', of, pooled)
    assert.equal([whole.height, whole.width], [10, 12])
    assert.ok(Math.abs(mean(whole.values) - scores![of]!) < 1e-9)
    assert.is(new Set(Array.from(whole.values)).size > 20, true)
    const tiled = await mapOf('cam', of, pooled, '0.6')
    assert.ok(tiled.predictedPeakBytes <= 0.6 * whole.predictedPeakBytes)
    Array.from(tiled.values).forEach((value, index) => assert.ok(Math.abs(value - whole.values[index]!) < 1e-12))
  }
})

const deviation = [0.229, 0.224, 0.225]

test('saliency is the derivative of the score by pixels, as differences of images tell it', async () => {
  const { values, height, width } = await mapOf('saliency', 1, smooth)
  assert.equal([height, width], [40, 48])
  const scoreWith = async (at0: number, change: number): Promise<number> => {
    await writeImage(
      'changed.png',
      pixels.map((value, index) => (index === at0 ? value + change : value))
    )
    return (await valueOf(predict({ ...options(smooth), image: at('changed.png') }))).scores![1]!
  }
  for (const pixel of [0, 5 * 48 + 7, 22 * 48 + 31]) {
    let most = 0
    for (const channel of [0, 1, 2]) {
      const place = 3 * pixel + channel
      const slope = ((await scoreWith(place, 1)) - (await scoreWith(place, -1))) / (2 / 255 / deviation[channel]!)
      most = Math.max(most, Math.abs(slope))
    }
    assert.ok(most > 1e-6 && Math.abs(values[pixel]! - most) < 1e-3 * most, `${values[pixel]} against ${most}`)
  }
  const tiled = await mapOf('saliency', 1, smooth, '0.8')
  Array.from(tiled.values).forEach((value, index) => assert.ok(Math.abs(value - values[index]!) < 1e-9))
})

test('an image that is higher than the rows that are read at once is normalised in its place', async () => {
  const extent = { height: 300, width: 4 }
  const bytes = noise(extent.height * extent.width * 3, 3)
  const readRows = (top: number, rows: number) => TE.right(bytes.subarray(top * 4 * 3, (top + rows) * 4 * 3))
  const [mean, deviation] = [
    [0.1, 0.2, 0.3],
    [0.5, 0.25, 2]
  ] as const
  const values = new Float64Array(bytes.length)
  await valueOf(fillNormalised(extent, readRows, { kind: 'image', mean, deviation }, values))
  for (let channel = 0; channel < 3; channel += 1)
    for (let pixel = 0; pixel < 300 * 4; pixel += 1)
      assert.is(values[channel * 300 * 4 + pixel], (bytes[3 * pixel + channel]! / 255 - mean[channel]!) / deviation[channel]!)
})

test('the picture: the image where nothing speaks for the class, colour where most does', async () => {
  const report = await valueOf(
    predict({
      ...options(pooled),
      image: at('slide.tif'),
      heatmap: 'cam',
      class: 'fat',
      classNames: ['stroma', 'tumour', 'fat'],
      out: at('cam.tif')
    })
  )
  const { heatMap } = report
  assert.equal([heatMap!.kind, heatMap!.class, heatMap!.height, heatMap!.width], ['cam', 2, 125, 150])
  const { header } = await valueOf(openImage(at('cam.tif')))
  assert.equal([header.height, header.width, header.levels.length], [500, 600, 3])
  assert.ok(Math.abs(header.view.micronsPerPixel! - 5) < 1e-6)
  await valueOf(predict({ ...options(pooled), image: at('slide.tif'), heatmap: 'cam', class: '2', out: at('cam.png') }))
  assert.is((await sharp(at('cam.png')).metadata()).density, 5080)
  await valueOf(predict({ ...options(smooth), heatmap: 'saliency', class: '1', out: at('saliency.png') }))
  const seen = await sharp(at('saliency.png')).removeAlpha().raw().toBuffer()
  assert.is(seen.length, pixels.length)
  const map = await mapOf('saliency', 1, smooth)
  const brightest = Array.from(map.values).sort((one, other) => one - other)[Math.floor(0.99 * (map.values.length - 1))]!
  const distances = Array.from(map.values, (value, index) => [value / brightest, Math.abs(seen[3 * index]! - pixels[3 * index]!)] as const)
  const within = (low: number, high: number): readonly number[] =>
    distances.flatMap(([share, away]) => (share >= low && share < high ? [away] : []))
  assert.is(mean(within(0, 0.002)), 0)
  assert.ok(mean(within(0.9, Infinity)) > 60, `${mean(within(0.9, Infinity))}`)
})

test('the world file of a picture that was halved is that of its own pixels', async () => {
  const [high, wide] = [20, 9001]
  const long = { height: high, width: wide, pixels: Uint8Array.from({ length: high * wide * 3 }, (_, index) => index % 251) }
  const tags = [
    [33550, 12, [0.5, 0.25, 0]],
    [33922, 12, [0, 0, 0, 1000, 2000, 0]]
  ] as const
  writeTiledTiff(at('long.tif'), [long], { tile: 256, channels: 3, tags })
  await valueOf(predict({ ...options(pooled), image: at('long.tif'), heatmap: 'cam', class: '1', out: at('long.png') }))
  const { width } = await sharp(at('long.png')).metadata()
  assert.is(width, Math.ceil(wide / 4))
  const numbers = readFileSync(at('long.pgw'), 'utf8').trim().split('\n').map(Number)
  assert.equal(numbers, [2, 0, 0, -1, 1001, 1999.5])
})

test('a loss at the end, of any kind, is no part of the head', async () => {
  const asked = { ...options(pooled), class: '1' } as const
  const pixelsOf = async (name: Model, kind: HeatMapKind): Promise<Buffer> => {
    await valueOf(predict({ ...asked, model: name, heatmap: kind, out: at('ending.png') }))
    return readFileSync(at('ending.png'))
  }
  for (const end of [[classLoss({ loss: 'focal' })], [checkpoint, named('loss', classLoss({ loss: 'cross-entropy:smoothing=0.1' }))]]) {
    const ending: Model = { name: 'pooled', layers: [...pooled.layers, ...end] }
    for (const kind of ['cam', 'saliency'] as const) assert.equal(await pixelsOf(ending, kind), await pixelsOf(pooled, kind))
  }
})

test('what no heat map is made of is refused in a sentence', async () => {
  const cam = { ...options(pooled), heatmap: 'cam', class: '1', out: at('x.png') } as const
  const { class: _, ...without } = cam
  for (const [given, sentence] of [
    [without, /^--heatmap is of one class: give --class, its name or number$/],
    [{ ...cam, out: at('x.geojson') }, /^--heatmap is a picture: give --out, \*\.tif or \*\.png$/],
    [{ ...cam, class: '3' }, /^--class: there is no class 3; give one of 0, 1, 2, or its number$/],
    [{ ...cam, skipBad: true }, /^--heatmap is of one image: give --image, without --data and --skip-bad$/],
    [
      { ...cam, probabilities: 'float32' },
      /^--heatmap is written in place of classes, and --probabilities is of those: leave one of both out$/
    ],
    [{ ...cam, palette: true }, /^--heatmap is written in place of classes, and --palette is of those: /],
    [{ ...cam, background: '0' }, /^--heatmap is written in place of classes, and --background is of those: /],
    [
      { ...cam, model: peaked, weights: at('peaked.safetensors') },
      /^peaked does not end in global average pooling and one linear layer, of which cam is made: take --heatmap saliency$/
    ],
    [
      { ...cam, model: segmenting },
      /^segmenting does not end in a linear layer, of which the score of one class is taken: give another model$/
    ]
  ] as const)
    assert.match((await failureOf(predict(given))).message, sentence)
  await valueOf(predict({ ...cam, model: peaked, weights: at('peaked.safetensors'), heatmap: 'saliency' }))
})

test.run()
