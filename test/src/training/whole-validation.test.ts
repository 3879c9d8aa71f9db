/**
 * Images with masks are validated whole: every pixel that counts, in one pass or by windows; what
 * it says of each image and of all, and what the training keeps of it.
 */
import { parse } from 'csv-parse/sync'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Model, conv2d, convTranspose2d, maxPool2d, relu } from '../../../dsl'
import { predict, train, type TrainOptions } from '../../../src'
import { decodeMask } from '../../../src/datasets/masks/masks'
import { imageNetSource } from '../../../src/plans/plan-network'
import { planValidation } from '../../../src/training/validation/plan-validation'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { at, classes, extents, maskOf, options, skipping, trained, writeMaskedImages } from '../masked-images'

test.before(writeMaskedImages)

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
        ...{ budgetBytes: 2e7, source: imageNetSource, input: [1, 3, 32, 32], watching: {} },
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
      trained({ loss, input: [1, 3, 48, 64], accumulate: 3, data: at('one.csv'), validation: at('one.csv'), steps: 1, validateOn })
    const [whole, crop] = [await run('image'), await run('crop')]
    const [a, b] = [whole.report.validations![0]!, crop.report.validations![0]!]
    assert.ok(Math.abs(a.loss - b.loss) < 1e-9 * b.loss, `${a.loss} and ${b.loss}`)
    assert.equal([a.confusion, a.accuracy, a.iou, a.kappa], [b.confusion, b.accuracy, b.iou, b.kappa])
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
  for (const [asked, named] of [
    [{ validateOn: 'image' }, '--validate-on image'],
    [{ perImage: at('wide-images.csv') }, '--per-image'],
    [{ perImage: at('wide-images.csv'), bestBy: 'auc', best: at('wide') }, '--per-image and --best-by auc']
  ] as const) {
    const { code, message } = await failureOf(train({ ...options, ...wide, steps: 1, ...asked }))
    assert.is(code, 'input')
    assert.match(message, /^images of 160x144 cannot be validated whole within/)
    assert.ok(message.endsWith(`: leave out ${named}, so that the crop in the middle of each is validated in its place`), message)
  }
})

test('an image that is smaller than what a score reads is validated whole too, as predict sees it', async () => {
  const deep: Model = {
    name: 'deep',
    layers: [maxPool2d({ k: 4 }), conv2d({ out: 4, k: 3, p: 12, d: 12 }), relu, convTranspose2d({ out: classes, k: 4, s: 4 })]
  }
  const save = at('deep.safetensors')
  const { report, notices } = await trained({ model: deep, steps: 1, lr: 1e-4, budget: '20MB', save })
  assert.equal(notices, [])
  assert.equal(report.validations!.at(-1)!.confusion, await confusionByPrediction(deep, save, [0, 1, 2]))
})

test('a validation tells how far it is: of whole images by windows, of crops by images', async () => {
  const told: (readonly [done: number, total: number])[] = []
  const watched = { steps: 1, onValidating: (done: number, total: number) => void told.push([done, total]) } as const
  await trained({ ...watched, validateOn: 'image' })
  const windows = told.splice(0)
  assert.equal(
    windows,
    windows.map((_, place) => [place + 1, windows.length])
  )
  assert.ok(windows.length >= 3, `${windows.length} windows of three images`)
  await trained({ ...watched, validateOn: 'crop' })
  assert.equal(told.at(-1), [3, 3])
})

test('a training that goes on does not compare validations of crops with those of whole images, and says so', async () => {
  const common = { ...options, data: at('fitting.csv'), validation: at('fitting.csv'), validateEvery: 1, bestBy: 'accuracy' } as const
  const state = { state: at('kinds.state'), resume: true, best: at('kinds.best') } as const
  const crops = await valueOf(train({ ...common, ...state, validateOn: 'crop', steps: 2 }))
  assert.equal(
    crops.validations!.map(({ validatedOn }) => validatedOn),
    ['crop', 'crop']
  )
  const notices: string[] = []
  const goOn = (steps: number) => valueOf(train({ ...common, ...state, steps, onNotice: (sentence) => notices.push(sentence) }))
  // The whole images of one step are the best of their kind, whatever the crops were.
  const whole = await goOn(3)
  assert.equal([whole.validations!.length, whole.best!.step, whole.best!.since], [3, 3, 0])
  assert.is(
    notices.at(-1),
    'the validations up to step 2 were of the crops in their middles, and those to come are of whole images: they are not compared, and the best is found anew'
  )
  assert.ok(existsSync(at('kinds.best')))
  const before = notices.length
  await goOn(4)
  assert.equal(
    notices.slice(before).filter((sentence) => sentence.includes('compared')),
    []
  )
  // Patience counts validations of one kind, too.
  const patient = { model: wide, state: at('patient.state'), resume: true, earlyStop: 2, lr: 1e-12 } as const
  await valueOf(train({ ...common, ...patient, validateOn: 'crop', steps: 2 }))
  const { steps } = await valueOf(train({ ...common, ...patient, steps: 9, onNotice: () => undefined }))
  assert.is(steps, 5)
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

test.run()
