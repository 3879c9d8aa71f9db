/**
 * Images with masks are validated whole: every pixel that counts, in one pass or by windows whose
 * outputs are those of the whole image; what it says of each image and of all, and what the
 * training keeps of it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import * as fc from 'fast-check'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import {
  type Layers,
  type Model,
  avgPool2d,
  batchNorm,
  conv2d,
  convTranspose2d,
  denseBlock,
  maxPool2d,
  meanSquaredError,
  named,
  relu,
  resize,
  pad
} from '../../dsl'
import { predict, train, type TrainOptions, type TrainReport } from '../../src'
import { decodeMask } from '../../src/images/masks'
import { frozenModel } from '../../src/model/model-layers'
import { buildSetupGraph, imageSource, planNetwork } from '../../src/plans/plan-network'
import { withNetwork } from '../../src/running/running-network'
import { areaUnderCurve } from '../../src/metrics/scores'
import { writeImageTable } from '../../src/training/image-table'
import { planValidation } from '../../src/training/plan-validation'
import { windowExtent, windowSpans } from '../../src/training/window-spans'
import { pixelMeasureOf, qualityOf, tallyImage } from '../../src/metrics/pixel-tally'
import { areasUnderCurves, countScore, emptyScoreCounts } from '../../src/metrics/score-areas'
import { buildGraph, receptiveField, type ReceptiveField } from '../../staging'
import { must } from '../must'
import { propertyRuns } from '../property-runs'
import { noise, writeColours } from './example-images'
import { writePng } from './image-files'
import { failureOf, valueOf } from './outcome'
import segmenting from './segmenting-model'
import { temporaryFolder } from './temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const classes = 3

const double = (out: number): Layers => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu]
/** Its sides are multiples of 4, and what it skips is held whole. */
const layers: Layers = [
  ...double(6),
  denseBlock([
    maxPool2d({ k: 2 }),
    ...double(6),
    denseBlock([maxPool2d({ k: 2 }), ...double(6), convTranspose2d({ out: 6, k: 2, s: 2 })]),
    ...double(6),
    convTranspose2d({ out: 6, k: 2, s: 2 })
  ]),
  named('head', conv2d({ out: classes, k: 1 }))
]
const skipping: Model = { name: 'skipping', layers }

/** Three images, of which the last has another extent and the middle one is no multiple of 4. */
const extents = [
  { height: 160, width: 144 },
  { height: 101, width: 94 },
  { height: 48, width: 64 }
] as const

const maskOf = (image: number): Uint8Array => {
  const { height, width } = extents[image]!
  return Uint8Array.from({ length: height * width }, (_, index) => {
    const [row, column] = [Math.floor(index / width), index % width]
    return row < 2 ? 255 : (Math.floor((row + 7 * image) / 20) + Math.floor(column / 30)) % classes
  })
}

test.before(async () => {
  for (const [image, { height, width }] of extents.entries()) {
    const mask = maskOf(image)
    writePng(at(`${image}.mask.png`), mask, { height, width, bitDepth: 8 })
    const random = noise(3 * height * width, image)
    const colours = Uint8Array.from(random, (value, index) => 40 + 70 * (mask[Math.floor(index / 3)]! % classes) + (value >> 2))
    await writeColours(at(`${image}.png`), colours, { height, width })
  }
  const rows = (images: readonly number[]): string => `path,mask\n${images.map((image) => `${image}.png,${image}.mask.png\n`).join('')}`
  writePng(at('ignored.mask.png'), new Uint8Array(48 * 64).fill(255), { height: 48, width: 64, bitDepth: 8 })
  writeFileSync(at('all.csv'), rows([0, 1, 2]))
  writeFileSync(at('fitting.csv'), rows([0, 2]))
})

const options = {
  model: skipping,
  input: [2, 3, 32, 32],
  data: at('all.csv'),
  validation: at('all.csv'),
  device: 'reference',
  precision: 'float64',
  threads: 1,
  seed: 5,
  lr: 0.05
} as const satisfies TrainOptions

const trained = async (changes: Partial<TrainOptions>): Promise<{ readonly report: TrainReport; readonly notices: readonly string[] }> => {
  const notices: string[] = []
  const report = await valueOf(train({ ...options, steps: 2, ...changes, onNotice: (sentence) => notices.push(sentence) }))
  return { report, notices }
}

/** The confusion of whole images, by what predict writes of them with the same weights. */
const confusionByPrediction = async (model: Model, weights: string, images: readonly number[]): Promise<readonly (readonly number[])[]> => {
  const counts = Array.from({ length: classes }, () => new Array<number>(classes).fill(0))
  for (const image of images) {
    const out = at(`${image}.predicted.png`)
    await valueOf(predict({ model, device: 'reference', precision: 'float64', threads: 1, weights, image: at(`${image}.png`), out }))
    const { pixels } = await valueOf(decodeMask(out))
    maskOf(image).forEach((label, index) => {
      if (label !== 255) counts[label]![pixels[index]!]! += 1
    })
  }
  return counts
}

test('windows cover a side once, each by what no cut edge reaches', () => {
  const field = fc.record({ step: fc.integer({ min: 1, max: 8 }), before: fc.nat({ max: 3 }), after: fc.nat({ max: 3 }) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 9 }), field, (length, parts, { step, before, after }) => {
      const given: ReceptiveField = { stride: step, before: step * before, after: step * after }
      const extent = windowExtent(length, parts, given)
      if (extent === undefined || extent === 0) return
      const spans = windowSpans(length, extent, given)
      assert.equal([spans[0]!.from, spans.at(-1)!.to], [0, length])
      spans.forEach(({ start, from, to }, index) => {
        assert.ok(start >= 0 && start + extent <= length && from < to)
        if (index > 0) assert.is(from, spans[index - 1]!.to)
        assert.ok(start === 0 || from >= start + given.before, 'too near to its beginning')
        assert.ok(start + extent === length || (to <= start + extent - given.after && start % step === 0), 'too near to its end')
      })
    }),
    propertyRuns(500)
  )
})

test('windows that are no larger than what lies around an output cover the side that they are, and no longer one', () => {
  const field: ReceptiveField = { stride: 16, before: 96, after: 96 }
  assert.is(windowExtent(128, 1, field), 128)
  assert.is(windowExtent(128, 1, field, 500), undefined)
  assert.is(windowExtent(208, 1, field, 500), 208)
  assert.equal(windowSpans(128, 128, field), [{ start: 0, from: 0, to: 128 }])
  assert.throws(() => windowSpans(500, 128, field), /never cover 500/)
})

test('what outputs read: of layers by hand, and of none where they read all', () => {
  const of = (body: Layers, side = 64): ReceptiveField | undefined =>
    receptiveField(must(buildGraph({ name: 'net', layers: body }, [1, 3, side, side])), 'H')
  const end = conv2d({ out: 2, k: 1 })
  assert.equal(of([end]), { stride: 1, before: 0, after: 0 })
  assert.equal(of([conv2d({ out: 2, k: 5, p: 2 }), end]), { stride: 1, before: 2, after: 2 })
  assert.equal(of([conv2d({ out: 2, k: 3, p: 3, d: 3 }), end]), { stride: 1, before: 3, after: 3 })
  assert.equal(of([maxPool2d({ k: 2 }), convTranspose2d({ out: 2, k: 2, s: 2 })]), { stride: 2, before: 0, after: 0 })
  // Output 2k reads the inputs 2(k - 1) to 2(k + 1) + 1 by a convolution at half the size.
  assert.equal(of([maxPool2d({ k: 2 }), conv2d({ out: 2, k: 3, p: 1 }), resize({ mode: 'nearest', scale: 2 })]), {
    ...{ stride: 2, before: 2, after: 2 }
  })
  assert.is(of([resize({ mode: 'bilinear', size: [48, 48] }), resize({ mode: 'nearest', size: [64, 64] }), end]), undefined)
  assert.is(receptiveField(must(buildGraph(frozenModel(segmenting), [1, 3, 64, 64])), 'H'), undefined)
})

/** Bodies that bring an image back to its size, of whatever they are drawn. */
const body: fc.Arbitrary<Layers> = fc
  .array(
    fc.constantFrom<Layers[]>(
      [conv2d({ out: 4, k: 3, p: 1 })],
      [conv2d({ out: 4, k: 3, p: 2, d: 2 }), relu],
      [pad({ p: [2, 0, 0, 2] }), conv2d({ out: 4, k: 3 })],
      [maxPool2d({ k: 2 }), conv2d({ out: 4, k: 3, p: 1 }), convTranspose2d({ out: 4, k: 2, s: 2 })],
      [avgPool2d({ k: 2 }), resize({ mode: 'bilinear', scale: 2 })],
      [denseBlock([conv2d({ out: 4, k: 3, s: 2, p: 1 }), convTranspose2d({ out: 4, k: 4, s: 2, p: 1 })])],
      [conv2d({ out: 4, k: 3, s: 2, p: 1 }), conv2d({ out: 4, k: 3, s: 2, p: 1 }), resize({ mode: 'nearest', scale: 4 })]
    ),
    { minLength: 1, maxLength: 3 }
  )
  .map((parts) => [...parts.flat(), conv2d({ out: 2, k: 1 })])

const scoresOf = (
  model: Model,
  pixels: Uint8Array,
  whole: number,
  { top, left, height, width }: Record<'top' | 'left' | 'height' | 'width', number>
) =>
  valueOf(
    pipe(
      buildSetupGraph(
        {
          model: { ...model, layers: [...frozenModel(model).layers, meanSquaredError] },
          device: 'reference',
          precision: 'float64',
          threads: 1,
          strategy: 'plain',
          input: [1, 3, height, width]
        },
        { kind: 'evaluate' },
        imageSource
      ),
      E.chain(planNetwork),
      TE.fromEither,
      TE.chain((planned) =>
        withNetwork({ planned, device: 'reference', seed: 9 }, (network) => {
          const image = { pixels, height: whole, width: whole, channels: 3, cropTop: top, cropLeft: left } as const
          return pipe(
            network.step({ learningRate: 0, step: 0, seed: 0 }, [
              { ...image, flipHorizontal: false, flipVertical: false, quarterTurns: 0 }
            ]),
            TE.map(() => Float64Array.from(network.io.view('scores')))
          )
        })
      )
    )
  )

test('a window makes, away from its cut edges, what the whole image makes there', async () => {
  const side = 64
  const pixels = noise(3 * side * side, 4)
  await fc.assert(
    fc.asyncProperty(body, fc.integer({ min: 2, max: 4 }), async (drawn, parts) => {
      const model: Model = { name: 'drawn', layers: drawn }
      const field = receptiveField(must(buildGraph(model, [1, 3, side, side])), 'H')!
      const extent = windowExtent(side, parts, field)!
      const whole = await scoresOf(model, pixels, side, { top: 0, left: 0, height: side, width: side })
      for (const { start, from, to } of windowSpans(side, extent, field)) {
        const cut = await scoresOf(model, pixels, side, { top: start, left: 0, height: extent, width: side })
        for (let channel = 0; channel < 2; channel += 1)
          for (let row = from; row < to; row += 1)
            for (let column = 0; column < side; column += 1) {
              const [one, other] = [cut[(channel * extent + row - start) * side + column]!, whole[(channel * side + row) * side + column]!]
              assert.ok(Math.abs(one - other) <= 1e-12 * Math.max(1, Math.abs(other)), `row ${row} of ${start} to ${start + extent}`)
            }
      }
    }),
    propertyRuns(12)
  )
})

test('all pixels of all images count: as predict says of the same weights, image by image and over all', async () => {
  const weights = at('w.safetensors')
  const { report, notices } = await trained({
    data: at('fitting.csv'),
    validation: at('fitting.csv'),
    save: weights,
    perImage: at('images.csv')
  })
  const [last] = report.validations!.slice(-1)
  assert.equal(notices, [])
  assert.equal(last!.confusion, await confusionByPrediction(skipping, weights, [0, 2]))
  const [header, ...rows] = parse(readFileSync(at('images.csv'), 'utf8')) as readonly (readonly string[])[]
  assert.equal(header!.slice(0, 8), ['path', 'pixels', 'loss', 'accuracy', 'iou', 'dice', 'auc', 'kappa'])
  assert.equal(header!.slice(8, 11), ['IoU of 0', 'IoU of 1', 'IoU of 2'])
  assert.equal(
    rows.map(([path, pixels]) => [path, pixels]),
    [0, 2].map((image) => [at(`${image}.png`), `${(extents[image]!.height - 2) * extents[image]!.width}`])
  )
  for (const [place, image] of [0, 2].entries()) {
    const own = await confusionByPrediction(skipping, weights, [image])
    const right = own.reduce((sum, row, one) => sum + row[one]!, 0)
    assert.is(Number(rows[place]![3]), right / own.flat().reduce((sum, count) => sum + count, 0))
  }
  assert.is(last!.classAuc!.length, classes)
  assert.ok(Math.abs(last!.auc! - last!.classAuc!.reduce<number>((sum, area) => sum + area!, 0) / classes) < 1e-12)
})

test('where a whole image does not fit the memory of the training it is validated by windows, to the same numbers', async () => {
  const fitting = { data: at('fitting.csv'), validation: at('fitting.csv'), steps: 3, validateEvery: 1 }
  const large = await trained({ ...fitting, budget: '20MB', save: at('large.safetensors') })
  const small = await trained({ ...fitting, budget: '500KB', strategy: 'auto', save: at('small.safetensors') })
  assert.equal(small.notices, [])
  assert.ok(small.report.peakDeviceBytes <= 500_000)
  for (const [index, one] of small.report.validations!.entries()) {
    const other = large.report.validations![index]!
    assert.equal(one.confusion, other.confusion)
    assert.ok(Math.abs(one.loss - other.loss) < 1e-9 && Math.abs(one.auc! - other.auc!) < 1e-9, `${one.loss} and ${other.loss}`)
  }
  // A side that the network cannot take whole is covered by windows that it can.
  const odd = await trained({ validation: at('all.csv'), perImage: at('odd.csv') })
  const rows = parse(readFileSync(at('odd.csv'), 'utf8')) as readonly (readonly string[])[]
  assert.is(rows[2]![1], `${(101 - 2) * 94}`)
  assert.equal(odd.notices, [])
})

const wide: Model = { name: 'wide', layers: [conv2d({ out: 4, k: 3, p: 40, d: 40 }), relu, conv2d({ out: classes, k: 1 })] }

test('images of many extents share windows of the least, where these are larger than what a score reads', async () => {
  const windowsOf = async (sides: readonly number[]): Promise<readonly number[]> => {
    const groups = await valueOf(
      planValidation({
        setup: { model: wide, device: 'reference', threads: 1, input: [1, 3, 32, 32] },
        ...{ arenaBytes: 2e7, source: imageSource, input: [1, 3, 32, 32], watching: {} },
        images: sides.map((side, place) => ({
          ...{ place, extent: { height: side, width: side } },
          example: { path: `${place}.png`, label: 0, origin: 'all' }
        }))
      })
    )
    return groups.map(({ window }) => window.height)
  }
  const nine = (least: number): readonly number[] => Array.from({ length: 9 }, (_, index) => least + 4 * index)
  assert.equal(await windowsOf(nine(84)), [84])
  assert.equal(await windowsOf(nine(64)), nine(64))
})

test('images of more than eight extents, of which the least is smaller than what a score reads, are all validated whole', async () => {
  const sides = [64, 68, 72, 76, 80, 84, 88, 92, 96]
  for (const side of sides) {
    await writeColours(at(`wide-${side}.png`), noise(3 * side * side, side), { height: side, width: side })
    writePng(at(`wide-${side}.mask.png`), new Uint8Array(side * side), { height: side, width: side, bitDepth: 8 })
  }
  writeFileSync(at('wide.csv'), `path,mask\n${sides.map((side) => `wide-${side}.png,wide-${side}.mask.png\n`).join('')}`)
  const of = { model: wide, data: at('wide.csv'), validation: at('wide.csv'), steps: 1, validateOn: 'image', budget: '20MB' } as const
  const { report } = await trained(of)
  const counted = report.validations!.at(-1)!.confusion!.flat()
  assert.is(
    counted.reduce((sum, count) => sum + count, 0),
    sides.reduce((sum, side) => sum + side ** 2, 0)
  )
})

test('an image of which a network makes fewer scores than it has pixels is covered by windows', async () => {
  const halving: Model = { name: 'halving', layers: [maxPool2d({ k: 4 }), convTranspose2d({ out: classes, k: 4, s: 4 })] }
  const { report, notices } = await trained({ model: halving, steps: 1, lr: 1e-4, perImage: at('halving.csv') })
  const rows = parse(readFileSync(at('halving.csv'), 'utf8')) as readonly (readonly string[])[]
  assert.ok(Number.isFinite(report.validations!.at(-1)!.loss))
  assert.is(rows[2]![1], `${(101 - 2) * 94}`)
  assert.equal(notices, [])
})

test('a training is the same to the bit, whether and however it is validated', async () => {
  const bytesOf = async (name: string, changes: Partial<TrainOptions>): Promise<Buffer> => {
    await trained({ ...changes, steps: 4, optimizer: 'adam', lr: 0.01, save: at(name) })
    return readFileSync(at(name))
  }
  const every = { validateEvery: 1, validation: at('all.csv') } as const
  const whole = await bytesOf('whole.safetensors', every)
  assert.equal(await bytesOf('crop.safetensors', { ...every, validateOn: 'crop' }), whole)
  assert.equal(await bytesOf('once.safetensors', { validation: at('fitting.csv') }), whole)
})

const losses = [
  'cross-entropy:smoothing=0.1',
  'focal:gamma=1.5',
  'dice+0.5*cross-entropy',
  'tversky',
  'binary-cross-entropy',
  'binary-focal+dice'
] as const

for (const loss of losses)
  test(`${loss}: of a whole image as of the crop that is all of it`, async () => {
    const one = `path,mask\n2.png,2.mask.png\n`
    writeFileSync(at('one.csv'), one)
    const run = (validateOn: 'image' | 'crop') =>
      trained({ loss, input: [1, 3, 48, 64], data: at('one.csv'), validation: at('one.csv'), steps: 1, validateOn })
    const [whole, crop] = [await run('image'), await run('crop')]
    const [a, b] = [whole.report.validations![0]!, crop.report.validations![0]!]
    assert.ok(Math.abs(a.loss - b.loss) < 1e-9 * b.loss, `${a.loss} and ${b.loss}`)
    assert.equal([a.confusion, a.accuracy, a.iou, a.kappa], [b.confusion, b.accuracy, b.iou, b.kappa])
  })

test('the measures of pixels, by their definitions', () => {
  const graph = must(buildGraph({ name: 'scores', layers: [conv2d({ out: 3, k: 1 })] }, [1, 3, 4, 5]))
  const measure = pixelMeasureOf(graph.nodes.at(-1)!)
  const [height, width] = [4, 5]
  const pixels = fc.record({
    scores: fc.array(fc.integer({ min: -400, max: 400 }), { minLength: 60, maxLength: 60 }),
    labels: fc.array(fc.constantFrom(0, 1, 2, 255), { minLength: 20, maxLength: 20 })
  })
  fc.assert(
    fc.property(pixels, ({ scores, labels }) => {
      const given = Float32Array.from(scores, (score) => score / 64)
      const tally = tallyImage(measure)
      tally.add(given, labels, { height, width }, { top: 0, left: 0, height: 2, width })
      tally.add(given, labels, { height, width }, { top: 2, left: 0, height: 2, width })
      const { counts, scoreCounts } = tally.finish()
      const areas = areasUnderCurves(scoreCounts)
      const found = qualityOf(measure, counts, areas)
      const counted = labels.flatMap((label, index) =>
        label === 255 ? [] : [{ label, own: [0, 1, 2].map((one) => given[one * 20 + index]!) }]
      )
      const shares = counted.map(({ own }) => {
        const sum = own.reduce((total, score) => total + Math.exp(score), 0)
        return own.map((score) => Math.exp(score) / sum)
      })
      const predicted = counted.map(({ own }) => own.indexOf(Math.max(...own)))
      const agree = counted.filter(({ label }, index) => label === predicted[index]).length
      const loss = counted.reduce((sum, { label }, index) => sum - Math.log(shares[index]![label]!), 0) / Math.max(1, counted.length)
      assert.ok(Math.abs(found.loss - loss) < 1e-6 && Math.abs(found.accuracy - agree / Math.max(1, counted.length)) < 1e-12)
      for (const one of [0, 1, 2]) {
        const [wanted, said] = [counted.filter(({ label }) => label === one).length, predicted.filter((other) => other === one).length]
        const both = counted.filter(({ label }, index) => label === one && predicted[index] === one).length
        assert.is(found.classIou![one], wanted + said === 0 ? null : both / (wanted + said - both))
        assert.is(found.classDice![one], wanted + said === 0 ? null : (2 * both) / (wanted + said))
        const odds = Float64Array.from(shares, (row) => Math.log(row[one]! / (row.reduce((sum, share) => sum + share, 0) - row[one]!)))
        // Twenty pixels that fall into one bin by chance may move it.
        const exact = areaUnderCurve(odds, (index) => counted[index]!.label === one)
        if (exact === undefined) assert.is(areas[one], null)
        else assert.ok(Math.abs(areas[one]! - exact) < 0.1, `${areas[one]} is not ${exact}`)
      }
    }),
    propertyRuns(200)
  )
})

test('areas under curves are exact but for pixels of one bin, which are tied', () => {
  const values = fc.array(fc.record({ bin: fc.integer({ min: -8000, max: 8000 }), isOf: fc.boolean() }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(values, (all) => {
      const counts = emptyScoreCounts(1)
      for (const { bin, isOf } of all) countScore(counts, 0, isOf, (bin + 0.5) / 512)
      const exact = areaUnderCurve(
        Float64Array.from(all, ({ bin }) => bin),
        (index) => all[index]!.isOf
      )
      const [found] = areasUnderCurves(counts)
      if (exact === undefined) assert.is(found, null)
      else assert.ok(Math.abs(found! - exact) < 1e-12)
    }),
    propertyRuns(300)
  )
})

test('a network that reads the whole image for each pixel is validated on crops where it does not fit, and says so', async () => {
  const wide = { model: segmenting, input: [2, 3, 24, 16], budget: '100KB' } as const
  const { report, notices } = await trained(wide)
  assert.is(notices.length, 1)
  assert.match(
    notices[0]!,
    /^images of 160x144 cannot be validated whole within the memory of the training \(.*segmenting reads the whole image for each pixel.*: the crop in the middle of each is validated in its place; give a larger --budget, or --validate-on crop$/
  )
  assert.is(
    report
      .validations!.at(-1)!
      .confusion!.flat()
      .reduce((sum, count) => sum + count, 0),
    3 * 24 * 16
  )
  const { code, message } = await failureOf(train({ ...options, ...wide, steps: 1, validateOn: 'image' }))
  assert.is(code, 'input')
  assert.match(message, /cannot be validated whole/)
})

test('of images that are smaller than what a score reads, which no budget helps, the notice says just that', async () => {
  const deep: Model = {
    name: 'deep',
    layers: [maxPool2d({ k: 4 }), conv2d({ out: 4, k: 3, p: 12, d: 12 }), relu, convTranspose2d({ out: classes, k: 4, s: 4 })]
  }
  const { notices } = await trained({ model: deep, steps: 1, lr: 1e-4, budget: '20MB' })
  assert.is(notices.length, 1)
  assert.match(
    notices[0]!,
    /^images of 101x94 cannot be validated whole \(.*they are smaller than the 100x100 pixels that a score reads\): the crop in the middle of each is validated in its place; give --validate-on crop, or larger images$/
  )
})

test('what cannot be asked for is said', async () => {
  const { validation, ...rest } = options
  for (const [changes, sentence] of [
    [{ validateOn: 'image' }, /^--validate-on needs --validation: give both$/],
    [{ perImage: at('x.csv') }, /^--per-image needs --validation: give both$/],
    [{ validation, validateOn: 'crop', perImage: at('x.csv') }, /^--per-image is for images with masks that are validated whole/]
  ] as const)
    assert.match((await failureOf(train({ ...rest, ...changes, steps: 1 }))).message, sentence)
})

test('an image that cannot be read ends the validation, or is left out by --skip-bad and named', async () => {
  const side = 256
  await sharp(noise(3 * side * side, 3), { raw: { height: side, width: side, channels: 3 } })
    .tiff({ tile: true, tileWidth: 32, tileHeight: 32, compression: 'jpeg' })
    .toFile(at('damaged.tif'))
  const bytes = readFileSync(at('damaged.tif'))
  bytes.fill(0, Math.floor(bytes.length * 0.6), Math.floor(bytes.length * 0.7))
  writeFileSync(at('damaged.tif'), bytes)
  writePng(at('damaged.mask.png'), new Uint8Array(side * side), { height: side, width: side, bitDepth: 8 })
  writeFileSync(at('damaged.csv'), 'path,mask\n0.png,0.mask.png\ndamaged.tif,damaged.mask.png\n2.png,2.mask.png\n')
  const { report: good } = await trained({ data: at('fitting.csv'), validation: at('fitting.csv') })
  const damaged = { data: at('fitting.csv'), validation: at('damaged.csv') } as const
  const { code, message } = await failureOf(train({ ...options, ...damaged, steps: 2 }))
  assert.is(code, 'input')
  const place = /the image .*damaged\.tif cannot be read at rows \d+ to \d+, columns \d+ to \d+: .*; it is cut or damaged there/
  assert.match(message, place)
  const { report, notices } = await trained({ ...damaged, skipBad: true, validateEvery: 1 })
  assert.equal(report.skippedImages, [at('damaged.tif')])
  assert.equal(report.validations!.at(-1), good.validations!.at(-1))
  assert.is(notices.length, 1)
  assert.match(notices[0]!, place)
  assert.match(notices[0]!, /damaged\.tif is left out of validation$/)
})

test('where no image can be validated whole, or no pixel of any counts, the training ends and says so', async () => {
  writeFileSync(at('none.csv'), 'path,mask\ndamaged.tif,damaged.mask.png\n')
  const none = { data: at('fitting.csv'), validation: at('none.csv'), skipBad: true, steps: 2 } as const
  const unread = await failureOf(train({ ...options, ...none, onNotice: () => undefined }))
  assert.is(unread.code, 'input')
  assert.match(unread.message, /damaged\.tif cannot be read at rows/)
  writeFileSync(at('ignored.csv'), 'path,mask\n2.png,ignored.mask.png\n')
  const ignored = await failureOf(train({ ...options, data: at('fitting.csv'), validation: at('ignored.csv'), steps: 2 }))
  assert.is(ignored.code, 'input')
  assert.match(ignored.message, /^all pixels of the 1 validation masks are 255/)
  writeFileSync(at('left.csv'), 'path,mask\n2.png,ignored.mask.png\ndamaged.tif,damaged.mask.png\n')
  const left = { data: at('fitting.csv'), validation: at('left.csv'), skipBad: true, steps: 2 } as const
  assert.is((await failureOf(train({ ...options, ...left, onNotice: () => undefined }))).code, 'input')
})

test('the table has no measures of an image of which no pixel counts, or whose scores are not finite', async () => {
  writeFileSync(at('empty.csv'), 'path,mask\n0.png,0.mask.png\n2.png,ignored.mask.png\n')
  await trained({ data: at('fitting.csv'), validation: at('empty.csv'), perImage: at('empty-images.csv') })
  const [header, known, empty] = parse(readFileSync(at('empty-images.csv'), 'utf8')) as readonly (readonly string[])[]
  assert.ok(Number(known![2]) > 0)
  assert.equal(empty, [at('2.png'), '0', ...header!.slice(2).map(() => '')])
  const quality = { loss: NaN, accuracy: 1, iou: 1, dice: 1, classIou: [1, null] }
  await valueOf(writeImageTable(at('nan.csv'), ['a', 'b'], [{ path: 'nan.png', pixels: 7, quality }]))
  const [names, row] = parse(readFileSync(at('nan.csv'), 'utf8')) as readonly (readonly string[])[]
  assert.equal(row, ['nan.png', '7', ...names!.slice(2).map(() => '')])
})

test.run()
