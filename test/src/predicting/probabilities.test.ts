/** Probabilities of the classes of pixels: what `predict --probabilities` writes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fromFile } from 'geotiff'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Model, checkpoint, conv2d, globalAvgPool, linear, model, named, pixelLoss, relu, seq } from '../../../dsl'
import { predict, train } from '../../../src'
import { openImage } from '../../../src/images/image-source'
import { writeProbabilities } from '../../../src/results/probability-map'
import { tableWriters } from '../../../src/results/scores-csv'
import { tilefold } from '../command-line'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

/** Softmax by its definition, of scores that are not large. */
const softmax = (scores: readonly number[]): readonly number[] => {
  const sum = scores.reduce((total, score) => total + Math.exp(score), 0)
  return scores.map((score) => Math.exp(score) / sum)
}

/** The bands of a level, pixel by pixel, and what they are. */
const bandsOf = async (path: string, level = 0) => {
  const file = await fromFile(path)
  try {
    const image = await file.getImage(level)
    const values = (await image.readRasters({ interleave: true })) as unknown as Float32Array | Uint8Array
    return {
      height: image.getHeight(),
      width: image.getWidth(),
      bands: image.getSamplesPerPixel(),
      levels: await file.getImageCount(),
      values
    }
  } finally {
    file.close()
  }
}

const [height, width] = [300, 530]

/** Planes of scores that differ from place to place. */
const scoresOf = (classes: number) => {
  const planes = Array.from({ length: classes }, (_, one) =>
    Float32Array.from(
      { length: height * width },
      (__, index) => 4 * Math.sin(index * (one + 1) * 0.37) * Math.cos((index / width) * (one + 2) * 0.11)
    )
  )
  const rows = (one: number, top: number, count: number): Float32Array => planes[one]!.subarray(top * width, (top + count) * width)
  return { planes, scores: { classes, height, width, rows, leave: () => undefined, mostRows: 7 } }
}

const headerOf = async () => {
  const pixels = new Uint8Array(height * width * 3)
  writeTiledTiff(at('like.tif'), [{ height, width, pixels }], { tile: 256, channels: 3, perCentimetre: 20_000 })
  return (await valueOf(openImage(at('like.tif')))).header
}

for (const classes of [1, 3, 5])
  test(`${classes} scores a pixel become as many bands of probabilities, with smaller levels of their means`, async () => {
    const header = await headerOf()
    const { planes, scores } = scoresOf(classes)
    await valueOf(writeProbabilities(at('float.tif'), { header, scores, elementType: 'float32', softmax: true }))
    await valueOf(writeProbabilities(at('bytes.tif'), { header, scores, elementType: 'uint8', softmax: true }))
    const [float, bytes] = [await bandsOf(at('float.tif')), await bandsOf(at('bytes.tif'))]
    assert.equal([float.height, float.width, float.bands, float.levels], [height, width, classes, 3])
    assert.equal([bytes.height, bytes.width, bytes.bands, bytes.levels], [height, width, classes, 3])
    assert.instance(float.values, Float32Array)
    assert.instance(bytes.values, Uint8Array)
    for (let index = 0; index < height * width; index += 1) {
      const given = planes.map((plane) => plane[index]!)
      // A single score is that of class 1, beside 0.
      const expected = classes === 1 ? [softmax([given[0]!, 0])[0]!] : softmax(given)
      expected.forEach((value, one) => {
        const place = index * classes + one
        if (Math.abs(float.values[place]! - value) > 1e-7)
          assert.unreachable(`band ${one} of pixel ${index}: ${float.values[place]} for ${value}`)
        if (Math.abs(bytes.values[place]! - 255 * value) > 0.5 + 1e-6) assert.unreachable(`${bytes.values[place]} for ${255 * value}`)
      })
    }
    const half = await bandsOf(at('float.tif'), 1)
    assert.equal([half.height, half.width], [height / 2, width / 2])
    for (const [row, column] of [
      [0, 0],
      [140, 260],
      [149, 264]
    ] as const)
      for (let one = 0; one < classes; one += 1) {
        const of = (y: number, x: number): number => float.values[((2 * row + y) * width + 2 * column + x) * classes + one]!
        const mean = (of(0, 0) + of(0, 1) + of(1, 0) + of(1, 1)) / 4
        assert.ok(Math.abs(half.values[(row * half.width + column) * classes + one]! - mean) < 1e-6)
      }
    assert.is((await sharp(at('bytes.tif')).metadata()).channels, classes)
  })

test('scores whose powers no number holds have probabilities too, in a map and in a table', async () => {
  const header = await headerOf()
  const rows = (one: number, _: number, count: number): Float32Array => new Float32Array(count * width).fill(one === 0 ? 1000 : 0)
  const scores = { classes: 2, height, width, rows, leave: () => undefined, mostRows: 7 }
  for (const [isSoftmax, wanted] of [
    [true, [1, 0]],
    [false, [1, 0.5]]
  ] as const) {
    await valueOf(writeProbabilities(at('high.tif'), { header, scores, elementType: 'float32', softmax: isSoftmax }))
    assert.equal([...(await bandsOf(at('high.tif'))).values.subarray(0, 2)], wanted)
  }
  await valueOf(tableWriters.softmax(at('high.csv'), ['rest', 'gland'], [{ path: 'high.png', scores: [1000, 0], class: 0 }]))
  assert.is(readFileSync(at('high.csv'), 'utf8'), 'path,class,probability of rest,probability of gland\nhigh.png,rest,1,0\n')
})

test('a network that ends in layers of a name, as the built-in U-Nets do, has probabilities', async () => {
  const layers = [conv2d({ out: 4, k: 3, p: 1 }), relu, seq('outc', [named('conv', conv2d({ out: 3, k: 1 }))])] as const
  const common = { model: model({ name: 'held', input: [1, 3, 16, 16], layers }), device: 'reference', threads: 1 } as const
  await sharp(Buffer.alloc(16 * 16 * 3, 90), { raw: { height: 16, width: 16, channels: 3 } })
    .png()
    .toFile(at('held.png'))
  writeTiledTiff(at('held.tif'), [{ height: 16, width: 16, pixels: new Uint8Array(16 * 16).fill(1) }], { tile: 16, channels: 1 })
  writeFileSync(at('held.csv'), 'path,mask\nheld.png,held.tif\n')
  const weights = at('held.safetensors')
  await valueOf(train({ ...common, data: at('held.csv'), classes: 3, steps: 1, save: weights }))
  await valueOf(predict({ ...common, weights, image: at('held.png'), out: at('held-bands.tif'), probabilities: 'float32' }))
  const { bands, values } = await bandsOf(at('held-bands.tif'))
  assert.is(bands, 3)
  assert.ok(Math.abs(values[0]! + values[1]! + values[2]! - 1) < 1e-6)
})

test('a single score a pixel tells two classes, and what is named is the second', async () => {
  const layers = [conv2d({ out: 1, k: 3, p: 1 })] as const
  const common = { model: model({ name: 'single', input: [1, 3, 16, 16], layers }), loss: 'dice', device: 'reference', threads: 1 } as const
  await sharp(noise(3 * 16 * 16, 5), { raw: { height: 16, width: 16, channels: 3 } })
    .png()
    .toFile(at('single.png'))
  writeTiledTiff(at('single.tif'), [{ height: 16, width: 16, pixels: Uint8Array.from({ length: 256 }, (_, index) => index % 2) }], {
    tile: 16,
    channels: 1
  })
  writeFileSync(at('single.csv'), 'path,mask\nsingle.png,single.tif\n')
  const weights = at('single.safetensors')
  await valueOf(train({ ...common, data: at('single.csv'), steps: 1, save: weights, classNames: ['rest', 'gland'] }))
  const asked = { ...common, weights, image: at('single.png'), out: at('classes-of-one.png') } as const
  const kept = await valueOf(predict(asked))
  assert.equal(kept.names, ['background', 'gland'])
  assert.equal((await valueOf(predict({ ...asked, classNames: ['rest', 'gland'] }))).names, ['rest', 'gland'])
  const classes = await sharp(at('classes-of-one.png')).toColourspace('b-w').raw().toBuffer()
  const ones = classes.filter((one) => one === 1).length
  assert.equal(kept.pixels, [256 - ones, ones])
})

test('predict writes probabilities whose highest is the class that it writes otherwise, in any budget', async () => {
  const pixels = Uint8Array.from({ length: 96 * 80 * 3 }, (_, index) => (Math.imul(index >> 5, 2654435761) >>> 13) & 255)
  writeTiledTiff(at('slide.tif'), [{ height: 96, width: 80, pixels }], { tile: 16, channels: 3, perCentimetre: 20_000 })
  const mask = { height: 96, width: 80, pixels: Uint8Array.from({ length: 96 * 80 }, (_, index) => (index >> 4) % 3) }
  writeTiledTiff(at('mask.tif'), [mask], { tile: 16, channels: 1 })
  writeFileSync(at('data.csv'), 'path,mask\nslide.tif,mask.tif\nslide.tif,mask.tif\n')
  const common = { model: segmenting, device: 'cpu', threads: 2 } as const
  await valueOf(train({ ...common, input: [2, 3, 32, 32], data: at('data.csv'), steps: 3, lr: 0.1, save: at('w.safetensors') }))
  const options = { ...common, weights: at('w.safetensors'), image: at('slide.tif') }
  const classified = await valueOf(predict({ ...options, out: at('classes.tif') }))
  const classes = await sharp(at('classes.tif')).toColourspace('b-w').raw().toBuffer()
  for (const budget of [undefined, '60%']) {
    const limit = budget === undefined ? {} : { budget }
    const report = await valueOf(predict({ ...options, ...limit, out: at('probabilities.tif'), probabilities: 'float32' }))
    const { bands, values } = await bandsOf(at('probabilities.tif'))
    assert.is(bands, 3)
    let different = 0
    classes.forEach((one, index) => {
      const shares = [...values.subarray(index * bands, (index + 1) * bands)]
      if (Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) > 1e-6) assert.unreachable(`${shares} of pixel ${index}`)
      if (shares.indexOf(Math.max(...shares)) !== one) different += 1
    })
    // Tiles of another plan may round scores that are nearly the same otherwise.
    assert.ok(different <= 2, `${different} pixels have another class`)
    report.pixels!.forEach((count, one) => assert.ok(Math.abs(count - classified.pixels![one]!) <= 2))
  }
  assert.is((await valueOf(openImage(at('probabilities.tif')))).header.view.micronsPerPixel, 0.5)
})

test('the command says that probabilities, and not classes, are in the file', async () => {
  const given = [join(__dirname, '..', 'segmenting-model.ts'), '--weights', at('w.safetensors'), '--image', at('slide.tif')]
  const out = ['--out', at('told.tif'), '--device', 'reference', '--threads', '1']
  const { status, stdout, stderr } = await tilefold(['predict', ...given, ...out, '--probabilities', 'uint8'])
  assert.is(status, 0, stderr)
  assert.match(stdout, /; probabilities are in .*told\.tif$/m)
  assert.match((await tilefold(['predict', ...given, ...out])).stdout, /; classes are in .*told\.tif$/m)
})

test('of a model that ends in a binary loss each band is the sigmoid of its score', async () => {
  const layers = [conv2d({ out: 3, k: 1 })] as const
  const options = {
    device: 'cpu',
    threads: 1,
    weights: at('binary.safetensors'),
    image: at('slide.tif'),
    probabilities: 'float32'
  } as const
  const binary = model({ name: 'binary', input: [1, 3, 32, 32], layers: [...layers, pixelLoss({ loss: 'binary-cross-entropy' })] })
  const common = { model: binary, device: 'cpu', threads: 1 } as const
  await valueOf(train({ ...common, data: at('data.csv'), steps: 2, lr: 0.1, save: at('binary.safetensors') }))
  await valueOf(predict({ ...options, model: binary, out: at('sigmoids.tif') }))
  const plain = { ...options, model: model({ name: 'plain', input: [1, 3, 32, 32], layers }) }
  await valueOf(predict({ ...plain, loss: 'cross-entropy', out: at('shares.tif') }))
  // Where the model says no loss, the weights do.
  await valueOf(predict({ ...plain, out: at('said.tif') }))
  assert.equal((await bandsOf(at('said.tif'))).values, (await bandsOf(at('sigmoids.tif'))).values)
  const [sigmoids, shares] = [(await bandsOf(at('sigmoids.tif'))).values, (await bandsOf(at('shares.tif'))).values]
  let furthest = 0
  for (let index = 0; index < sigmoids.length; index += 3) {
    const found = [...sigmoids.subarray(index, index + 3)]
    // The softmax of the same scores, which are the log-odds.
    const expected = softmax(found.map((value) => Math.log(value / (1 - value))))
    expected.forEach((value, one) => assert.ok(Math.abs(value - shares[index + one]!) < 1e-4, `${value} for ${shares[index + one]}`))
    furthest = Math.max(furthest, Math.abs(found.reduce((sum, value) => sum + value, 0) - 1))
  }
  assert.ok(furthest > 0.01, `${furthest}`)
})

test('what cannot have bands of probabilities is refused before anything runs', async () => {
  const options = { model: segmenting, device: 'cpu', threads: 1, weights: at('w.safetensors'), image: at('slide.tif') } as const
  const png = await failureOf(predict({ ...options, out: at('out.png'), probabilities: 'uint8' }))
  assert.match(png.message, /^--probabilities are bands of a \*\.tif, but --out .*out\.png is another format: give \*\.tif$/)
  const list = await failureOf(
    predict({ ...options, image: undefined!, data: at('data.csv'), out: at('results'), formats: ['tif', 'png'], probabilities: 'uint8' })
  )
  assert.is(list.message, '--probabilities are bands of a *.tif, but --formats tif,png is another format: give --formats tif')
  const pooled = model({
    name: 'pooled',
    input: [1, 3, 32, 32],
    layers: [conv2d({ out: 4, k: 3 }), relu, globalAvgPool, linear({ out: 2 })]
  })
  await valueOf(train({ model: pooled, device: 'cpu', threads: 1, data: at('labels.csv'), steps: 1, save: at('pooled.safetensors') }))
  const images = await failureOf(
    predict({ ...options, model: pooled, weights: at('pooled.safetensors'), out: at('out.tif'), probabilities: 'uint8' })
  )
  assert.is(images.message, 'pooled scores whole images, whose probabilities are told with the scores: leave out --probabilities')
})

test.before(() => writeFileSync(at('labels.csv'), 'path,label\nslide.tif,0\nslide.tif,1\n'))

test('a network that asks for checkpoints and tiles has the same probabilities', async () => {
  const layers = [conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 3, k: 1 }), pixelLoss({ loss: 'focal' })] as const
  const [first, second, third, loss] = layers
  const free: Model = { name: 'asking', layers: [seq('a', [first, second]), seq('b', [third]), loss] }
  const asking: Model = { name: 'asking', layers: [seq('a', [first, checkpoint, second]), seq('b', [third]), checkpoint, loss] }
  const [data, weights] = [at('asking.csv'), at('asking.safetensors')]
  await writeColours(at('asking.png'), noise(24 * 16 * 3, 5), { height: 24, width: 16 })
  writePng(at('asking.mask.png'), Buffer.alloc(24 * 16, 1), { height: 24, width: 16, bitDepth: 8 })
  writeFileSync(data, 'path,mask\nasking.png,asking.mask.png\n')
  const common = { device: 'reference', threads: 1 } as const
  await valueOf(
    train({ ...common, model: asking, input: [1, 3, 24, 16], data, validation: data, validateOn: 'image', steps: 1, save: weights })
  )
  const bytesOf = async (model: Model): Promise<Buffer> => {
    await valueOf(predict({ ...common, model, weights, image: at('asking.png'), probabilities: 'float32', out: at('asking.tif') }))
    return readFileSync(at('asking.tif'))
  }
  assert.equal(await bytesOf(asking), await bytesOf(free))
})

test.run()
