/**
 * Masks beside images: how they are read, trained on, validated, and predicted over whole images.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Model, batchNorm, conv2d, meanSquaredError, named, relu } from '../../../dsl'
import {
  type BenchOptions,
  bench,
  exitStatus,
  gradients,
  plan,
  predict,
  readDataset,
  train,
  type TensorData,
  writeTensorFile
} from '../../../src'
import { checkLabels } from '../../../src/datasets/dataset'
import { cutMask } from '../../../src/datasets/masks/mask-crops'
import { decodeMask, writeMask } from '../../../src/datasets/masks/masks'
import { readTiffDirectories } from '../../../src/images/tiff/directories'
import { freezeModel } from '../../../src/model/model-layers'
import { buildSetupGraph, imageNetSource, planNetwork } from '../../../src/plans/plan-network'
import type { Setup } from '../../../src/plans/setup'
import { openTensorFile } from '../../../src/weights/safetensors'
import { withNetwork } from '../../../src/running/running-network'
import { centreCrop } from '../../../src/images/crop-placement'
import { cropMask } from '../../../src/training/batches/crop-mask'
import { makeConfusionMatrix, measureConfusion } from '../../../src/metrics/confusion'
import { countPixels, emptyConfusion } from '../../../src/metrics/segmentation-scores'
import { propertyRuns } from '../../property-runs'
import { tilefold } from '../command-line'
import { writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const [height, width] = [40, 32]

/** Where an image is bright, and what is left out at the border. */
const classAt = (row: number, column: number, image: number): number =>
  row === 0 ? 255 : (row + 8 * image) % height < height / 2 ? 0 : column < width / 2 ? 1 : 2
const levels = [
  [40, 40, 40],
  [200, 60, 60],
  [60, 60, 200]
] as const

const colours = (classes: Uint8Array): Uint8Array =>
  Uint8Array.from(
    { length: 3 * classes.length },
    (_, index) => levels[classes[Math.floor(index / 3)]! % 3]![index % 3]! + ((index * 7919) % 31)
  )

test.before(async () => {
  for (let image = 0; image < 4; image += 1) {
    const classes = Uint8Array.from({ length: height * width }, (_, index) => classAt(Math.floor(index / width), index % width, image))
    await writeColours(at(`${image}.png`), colours(classes), { height, width })
    writePng(at(`${image}.mask.png`), classes, { height, width, bitDepth: 8 })
  }
  writeFileSync(at('data.csv'), `path,mask\n${[0, 1, 2, 3].map((image) => `${image}.png,${image}.mask.png`).join('\n')}\n`)
})

/** A palette PNG of 2 bits, as Pillow writes it: colours of 0 and 2 are the same. */
const palettePng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAMAAAACAgMAAADgGo6JAAAADFBMVEUAAAD/AAAAAAAA/wDvgsavAAAADElEQVR4nGOQYJgDAADoALXdEKOOAAAAAElFTkSuQmCC',
  'base64'
)

test('a mask holds the values that are stored: of grey, and of a palette its indices', async () => {
  const { pixels, ...extent } = await valueOf(decodeMask(at('1.mask.png')))
  assert.equal(extent, { height, width })
  assert.equal(
    pixels,
    Buffer.from(Uint8Array.from({ length: height * width }, (_, index) => classAt(Math.floor(index / width), index % width, 1)))
  )
  writeFileSync(at('palette.png'), palettePng)
  const palette = await valueOf(decodeMask(at('palette.png')))
  assert.equal([palette.height, palette.width, [...palette.pixels]], [2, 3, [0, 1, 2, 2, 1, 3]])
})

test('a mask grows with its image, each pixel twice', async () => {
  writeFileSync(at('palette.png'), palettePng)
  const extent = { height: 4, width: 6 }
  const { pixels } = cutMask(await valueOf(decodeMask(at('palette.png'))), extent, { top: 0, left: 0, ...extent })
  const rows = [
    [0, 0, 1, 1, 2, 2],
    [2, 2, 1, 1, 3, 3]
  ]
  assert.equal([...pixels], [rows[0], rows[0], rows[1], rows[1]].flat())
})

test('a data file names masks in its header, or by their ending', async () => {
  for (const text of ['path,mask\n0.png,0.mask.png\n', '0.png,0.mask.png\n']) {
    writeFileSync(at('one.csv'), text)
    const { examples, classes } = await valueOf(readDataset(at('one.csv')))
    const [{ path, label }] = examples as readonly [(typeof examples)[0]]
    assert.equal([path, classes], [at('0.png'), 3])
    assert.ok(typeof label === 'object' && 'counts' in label)
    assert.is(
      label.counts.reduce((sum, count) => sum + count, 0),
      height * width
    )
    assert.is(label.counts[255], width)
  }
})

test('refuses masks of another size, of colours, of no PNG, and classes that the model has not', async () => {
  writePng(at('small.png'), new Uint8Array(12), { height: 3, width: 4, bitDepth: 8 })
  for (const [name, sentence] of [
    ['small.png', /bad\.csv line 2: the mask .*small\.png is 3x4 but its image is 40x32/],
    ['0.png', /bad\.csv line 2: the mask .*0\.png has colours or 16 bits: store the class of each pixel as 8-bit grey/],
    ['bad.csv', /the mask .*bad\.csv is no PNG/],
    ['nowhere.png', /the mask .*nowhere\.png cannot be read: no such file/]
  ] as const) {
    writeFileSync(at('bad.csv'), `path,mask\n0.png,${name}\n`)
    const { code, message } = await failureOf(readDataset(at('bad.csv')))
    assert.is(code, 'input')
    assert.match(message, sentence)
  }
  const refused = checkLabels(2)(await valueOf(readDataset(at('data.csv'))))
  assert.match(
    (refused as { readonly left: { readonly message: string } }).left.message,
    /data\.csv line 2: the mask .*0\.mask\.png holds the class 2, out of range: the model's classes are 0 to 1, and 255 is ignored$/
  )
  const ofOne = checkLabels(1)(await valueOf(readDataset(at('data.csv'))))
  assert.match(
    (ofOne as { readonly left: { readonly message: string } }).left.message,
    /and 255 is ignored; end the model in a score a class, or give --loss binary-cross-entropy, by which one score tells 1 from 0$/
  )
})

test('a crop of a mask is flipped, then turned counter-clockwise', () => {
  const mask = { pixels: Uint8Array.from({ length: 12 }, (_, index) => index), height: 3, width: 4 }
  const crop = (quarterTurns: 0 | 1 | 2 | 3, flipHorizontal: boolean, flipVertical: boolean, high: number, wide: number) => [
    ...cropMask(mask, { cropTop: 1, cropLeft: 1, quarterTurns, flipHorizontal, flipVertical }, { height: high, width: wide })
  ]
  // The crop is 5 6 7 over 9 10 11.
  assert.equal(crop(0, false, false, 2, 3), [5, 6, 7, 9, 10, 11])
  assert.equal(crop(0, true, false, 2, 3), [7, 6, 5, 11, 10, 9])
  assert.equal(crop(0, false, true, 2, 3), [9, 10, 11, 5, 6, 7])
  assert.equal(crop(1, false, false, 3, 2), [7, 11, 6, 10, 5, 9])
  assert.equal(crop(2, false, false, 2, 3), [11, 10, 9, 7, 6, 5])
  assert.equal(crop(3, true, false, 3, 2), [11, 7, 10, 6, 9, 5])
})

test('a pixel whose scores are not finite is of no class, and its validation says so', () => {
  // With 20 classes there are counts at 255, which belong to others.
  for (const classes of [3, 20]) {
    const confusion = emptyConfusion(classes)
    assert.ok(countPixels(confusion, [0, 255, 1], [0, 255, 2]))
    const { counts } = emptyConfusion(classes)
    counts[0] = counts[classes + 2] = 1
    assert.not(countPixels(confusion, [0, 1], [255, 255]))
    assert.equal(confusion.counts, counts)
  }
})

test('mean intersection over union, by its definition', () => {
  const pixels = fc.array(fc.record({ label: fc.constantFrom(0, 1, 2, 255), predicted: fc.integer({ min: 0, max: 2 }) }), { maxLength: 30 })
  fc.assert(
    fc.property(pixels, (all) => {
      const confusion = emptyConfusion(4)
      for (const { label, predicted } of all) countPixels(confusion, [label], [predicted])
      const counted = all.filter(({ label }) => label !== 255)
      const shares = [0, 1, 2, 3].flatMap((one) => {
        const either = counted.filter(({ label, predicted }) => label === one || predicted === one)
        return either.length === 0 ? [] : [either.filter(({ label, predicted }) => label === predicted).length / either.length]
      })
      const mean = measureConfusion(makeConfusionMatrix(confusion.counts, 4)).iou
      if (shares.length === 0) assert.is(mean, null)
      else assert.ok(Math.abs(mean! - shares.reduce((sum, share) => sum + share, 0) / shares.length) < 1e-12)
    }),
    propertyRuns(100)
  )
})

const training = {
  model: segmenting,
  input: [2, 3, 24, 16],
  data: at('data.csv'),
  device: 'reference',
  precision: 'float32',
  strategy: 'plain',
  threads: 1,
  flip: true,
  rotate: true,
  seed: 3,
  optimizer: 'adam',
  lr: 0.02
} as const

test('it learns what the masks say: loss falls, IoU rises, the weights have running statistics', async () => {
  mkdirSync(at('learn'), { recursive: true })
  const options = {
    ...training,
    classWeights: 'balanced',
    bestBy: 'iou',
    validateEvery: 10,
    best: at('learn/best'),
    save: at('learn/last')
  } as const
  const report = await valueOf(train({ ...options, validation: at('data.csv'), steps: 40 }))
  const [first, last] = [report.validations![0]!, report.validations!.at(-1)!]
  assert.ok(report.loss.at(-1)! < 0.6 * report.loss[0]!, `${report.loss}`)
  assert.ok(report.best!.iou! > 0.6 && last.loss < first.loss, JSON.stringify(report.validations))
  assert.ok(last.auc! > 0.8 && last.classAuc!.length === 3)
  assert.is(report.peakDeviceBytes <= report.predictedPeakBytes, true)
  const saved = await weightsOf(at('learn/last'))
  assert.ok(saved.get('norm.running_var')!.every((value) => value !== 1))
  assert.ok(saved.get('norm.running_mean')!.some((value) => value !== 0))
})

test('micro-batches that are accumulated count every pixel alike, as one batch does', async () => {
  // Crops are drawn by micro-step: here each is its whole image. Statistics over a batch would tell
  // the two apart.
  const once = {
    ...training,
    model: freezeModel(segmenting),
    precision: 'float64',
    optimizer: 'sgd',
    steps: 1,
    flip: false,
    rotate: false
  } as const
  const weighted = { ...once, classWeights: '1,5,2' } as const
  const whole = await valueOf(train({ ...weighted, input: [4, 3, height, width], save: at('whole.safetensors') }))
  const parts = await valueOf(train({ ...weighted, input: [2, 3, height, width], accumulate: 2, save: at('parts.safetensors') }))
  assert.ok(Math.abs(whole.loss[0]! - parts.loss[0]!) < 1e-12 * whole.loss[0]!, `${whole.loss} against ${parts.loss}`)
  const [one, other] = [await weightsOf(at('whole.safetensors')), await weightsOf(at('parts.safetensors'))]
  for (const [name, values] of one)
    assert.ok(
      values.every((value, index) => Math.abs(value - other.get(name)![index]!) < 1e-12),
      name
    )
})

test('a training on masks that was stopped goes on with the same bits', async () => {
  const to = (name: string, steps: number, state: string, resume: boolean) =>
    valueOf(train({ ...training, steps, save: at(name), state: at(state), resume, stateEvery: 2, validation: 0.5 }))
  const through = await to('through.safetensors', 4, 'through', false)
  await to('half.safetensors', 2, 'resumed', false)
  const resumed = await to('resumed.safetensors', 4, 'resumed', true)
  assert.equal(resumed.loss, through.loss)
  assert.equal(resumed.validations!.at(-1), through.validations!.at(-1))
  assert.equal(readFileSync(at('resumed.safetensors')), readFileSync(at('through.safetensors')))
})

test('the measures of labels and of masks are told apart', async () => {
  const { message } = await failureOf(train({ ...training, steps: 1, validation: 0.5, validateOn: 'crop', bestBy: 'auc' }))
  assert.match(message, /^--best-by auc is not measured on such data; take loss, accuracy, iou, dice or kappa$/)
})

/** Weights that make every class win somewhere. */
const writeWeights = async (path: string, changes: readonly TensorData[] = []): Promise<void> => {
  await valueOf(train({ ...training, steps: 1, save: path }))
  if (changes.length === 0) return
  const stored = [...(await weightsOf(path))]
  const { tensors } = await valueOf(openTensorFile(path))
  await valueOf(
    writeTensorFile(path, [
      ...stored.map(([name, data]) => ({ name, type: 'F64' as const, shape: tensors.get(name)!.shape, data })),
      ...changes
    ])
  )
}

test('predict over a whole image: in tiles within a budget as untiled, in both formats', async () => {
  await writeWeights(at('w.safetensors'))
  const pixels = Uint8Array.from({ length: 117 * 93 * 3 }, (_, index) => ((index * 7919) % 251) ^ (Math.floor(index / 900) % 2 ? 128 : 0))
  await writeColours(at('large.png'), pixels, { height: 117, width: 93 })
  const common = { model: segmenting, device: 'reference', threads: 1, weights: at('w.safetensors'), image: at('large.png') } as const
  const whole = await valueOf(predict({ ...common, strategy: 'plain', out: at('whole.png') }))
  const tiled = await valueOf(predict({ ...common, budget: '35%', out: at('tiled.tif') }))
  assert.ok(tiled.peakDeviceBytes <= 0.35 * whole.peakDeviceBytes, `${tiled.peakDeviceBytes} of ${whole.peakDeviceBytes}`)
  assert.equal(tiled.pixels, whole.pixels)
  assert.ok(whole.pixels!.filter((count) => count > 0).length > 1, `${whole.pixels}`)
  const classes = await valueOf(decodeMask(at('whole.png')))
  const { channels, format } = await sharp(at('tiled.tif')).metadata()
  assert.equal([format, channels], ['tiff', 1])
  assert.equal(await sharp(at('tiled.tif')).toColourspace('b-w').raw().toBuffer(), classes.pixels)
})

test('a mask in several parts is written as in one', async () => {
  const classes = Uint8Array.from({ length: 30 * 20 }, (_, index) => (index * 7) % 5)
  await valueOf(writeMask(at('parts.png'), { height: 30, width: 20 }, [classes.subarray(0, 333), classes.subarray(333)]))
  assert.equal(await sharp(at('parts.png')).toColourspace('b-w').raw().toBuffer(), Buffer.from(classes))
})

test('the command predicts within its budget, and writes a TIFF in tiles', async () => {
  await writeWeights(at('w.safetensors'))
  await sharp(at('0.png')).resize({ height: 270, width: 300, fit: 'fill' }).toFile(at('wide.png'))
  const model = join(__dirname, '..', 'segmenting-model.ts')
  const files = ['--weights', at('w.safetensors'), '--image', at('wide.png'), '--out', at('mask.tif')]
  const { status, stdout, stderr } = await tilefold(['predict', model, ...files, '--budget', '35%', '--device', 'reference', '--json'])
  assert.is(status, 0, stderr)
  const { height: high, width: wide, pixels, peakDeviceBytes, predictedPeakBytes } = JSON.parse(stdout)
  assert.ok(peakDeviceBytes <= predictedPeakBytes && peakDeviceBytes > predictedPeakBytes - 4096)
  const whole = await valueOf(
    predict({
      ...{ model: segmenting, device: 'reference', weights: at('w.safetensors'), image: at('wide.png') },
      strategy: 'plain',
      out: at('wide.tif')
    })
  )
  assert.equal([high, wide, pixels], [270, 300, whole.pixels])
  assert.ok(predictedPeakBytes <= 0.35 * whole.predictedPeakBytes)
  const [finest] = await readTiffDirectories(at('mask.tif'))
  assert.equal(finest!.tile, { height: 256, width: 256 })
  const classes = await sharp(at('mask.tif')).toColourspace('b-w').raw().toBuffer()
  assert.equal(classes, await sharp(at('wide.tif')).toColourspace('b-w').raw().toBuffer())
})

/** What predict takes the best of, from a network that ends in the scores themselves. */
const scoresOf = (device: 'cpu' | 'reference', decisions: Pick<Setup, 'budget' | 'strategy'>): Promise<Float64Array> => {
  const model: Model = { name: 'scores', layers: [...freezeModel(segmenting).layers, meanSquaredError] }
  const image = { pixels: Uint8Array.from({ length: 117 * 93 * 3 }, (_, index) => (index * 7919) % 251), height: 117, width: 93 }
  return valueOf(
    pipe(
      buildSetupGraph({ model, device, threads: 1, input: [1, 3, 117, 93], ...decisions }, { kind: 'evaluate' }, imageNetSource),
      E.chain(planNetwork),
      TE.fromEither,
      TE.chainFirst((planned) =>
        TE.fromIO(() =>
          assert.is(
            planned.staged.plan.segments.some(({ grid }) => grid.H * grid.W > 1),
            'budget' in decisions
          )
        )
      ),
      TE.chain((planned) =>
        withNetwork({ planned, device, weights: { path: at('w.safetensors') }, seed: 0 }, (network) =>
          pipe(
            network.step({ learningRate: 0, step: 0, seed: 0 }, [{ ...image, channels: 3, ...centreCrop(image)(image) }]),
            TE.map(() => Float64Array.from(network.io.view('scores') as Float32Array))
          )
        )
      )
    )
  )
}

for (const device of ['cpu', 'reference'] as const)
  test(`${device}: scores in tiles are those of the image untiled, without seams`, async () => {
    await writeWeights(at('w.safetensors'))
    const [whole, tiled] = [
      await scoresOf(device, { strategy: 'plain' }),
      await scoresOf(device, { budget: { kind: 'ofPlain', fraction: 0.5 } })
    ]
    const largest = whole.reduce((most, score) => Math.max(most, Math.abs(score)), 0)
    const off = whole.reduce((most, score, index) => Math.max(most, Math.abs(score - tiled[index]!)), 0)
    assert.is(whole.length, 3 * 117 * 93)
    assert.ok(off <= 1e-5 * largest, `${off} of ${largest}`)
  })

test('predict runs a plan: of an evaluation, or of the training at the same size', async () => {
  await writeWeights(at('w.safetensors'))
  const common = { model: segmenting, device: 'reference', threads: 1 } as const
  const image = { weights: at('w.safetensors'), image: at('0.png') }
  const made = { ...common, input: [1, 3, height, width], budget: '60%', evaluate: true } as const
  const planned = await valueOf(plan({ ...made, out: at('evaluation.json') }))
  assert.ok(planned.segments.some(({ grid }) => grid.H * grid.W > 1))
  const whole = await valueOf(predict({ ...common, ...image, strategy: 'plain', out: at('whole.png') }))
  const tiled = await valueOf(predict({ ...common, ...image, plan: at('evaluation.json'), out: at('tiled.png') }))
  assert.equal([tiled.pixels, tiled.predictedPeakBytes], [whole.pixels, planned.peakDeviceBytes])

  const layers = [conv2d({ out: 4, k: 3, p: 1 }), batchNorm(), relu, conv2d({ out: 3, k: 1 })]
  const normalising = { ...common, model: { name: 'normalising', layers } as Model, input: [1, 3, height, width] }
  const { input: _, ...running } = normalising
  await valueOf(train({ ...training, ...running, input: [1, 3, 24, 16], steps: 1, save: at('n.safetensors') }))
  await valueOf(plan({ ...normalising, strategy: 'lms', out: at('training.json') }))
  const files = { weights: at('n.safetensors'), image: at('0.png') }
  const [one, other] = [
    await valueOf(predict({ ...running, ...files, strategy: 'plain', out: at('one.png') })),
    await valueOf(predict({ ...running, ...files, plan: at('training.json'), out: at('other.png') }))
  ]
  assert.equal(other.pixels, one.pixels)
  await sharp(at('0.png')).resize({ height: 50, width: 60, fit: 'fill' }).toFile(at('other-size.png'))
  const { message } = await failureOf(
    predict({ ...common, ...image, image: at('other-size.png'), plan: at('evaluation.json'), out: at('x.png') })
  )
  assert.match(
    message,
    /^the plan .*evaluation\.json: input: the model takes 1x3x50x60, the plan is for 1x3x40x32; plan it with --input 1x3x50x60\.$/
  )
  const typed = await failureOf(plan({ ...made, model: 'unet', out: at('evaluation.plan.ts') }))
  assert.match(typed.message, /evaluation\.plan\.ts: .* write the plan of an evaluation to a \*\.json file$/)
})

/** Like segmenting, of other depths. */
const [body, [head, resized]] = [segmenting.layers.slice(0, -2), segmenting.layers.slice(-2)] as const
const deeper: Model = { name: 'deeper', layers: [...body, named('more', conv2d({ out: 8, k: 1, bias: false })), head!, resized!] }
const shallower: Model = { name: 'shallower', layers: segmenting.layers.slice(1) }

test('predict says what is wrong', async () => {
  await writeWeights(at('w.safetensors'))
  const common = { model: segmenting, device: 'reference', threads: 1, weights: at('w.safetensors'), image: at('0.png') } as const
  for (const [changes, code, sentence] of [
    [{}, 'input', /segmenting scores every pixel: give --out, \*\.tif, \*\.png or \*\.geojson$/],
    [{ out: at('mask.jpg') }, 'input', /mask\.jpg: a mask is named \*\.tif or \*\.png, its polygons \*\.geojson$/],
    [{ out: at('mask.png'), budget: '1%' }, 'budget', /does not fit the budget/],
    [{ out: at('mask.png'), image: at('data.csv') }, 'input', /the image .*data\.csv cannot be read/],
    [{ out: at('mask.png'), input: [1, 3, 40, 32] as never }, 'input', /^--input: predict takes the whole image as it is; leave it out$/],
    [{ out: at('mask.png'), model: deeper }, 'input', /w\.safetensors: lacks more\.weight \[8, 8, 1, 1\], which deeper needs$/],
    [{ out: at('mask.png'), model: shallower }, 'input', /w\.safetensors: holds norm\.weight, which shallower has not$/]
  ] as const) {
    const failure = await failureOf(predict({ ...common, ...changes }))
    assert.is(failure.code, code)
    assert.match(failure.message, sentence)
    assert.is(exitStatus[failure.code], code === 'budget' ? 3 : 2)
  }
})

test("torchvision's auxiliary heads are passed over, for the models that have one there; what else is unknown is an error", async () => {
  const extra = (name: string): TensorData => ({ name, type: 'F32', shape: [2], data: new Float32Array(2) })
  const heads = [extra('AuxLogits.fc.bias'), extra('aux_classifier.4.bias')] as const
  const common = { device: 'reference', threads: 1, weights: at('aux.safetensors'), image: at('0.png'), out: at('aux.png') } as const
  for (const [name, head, unknown] of [
    ['inception_v3', heads[0], heads[1]],
    ['deeplabv3_resnet50', heads[1], heads[0]],
    ['deeplabv3_resnet101', heads[1], extra('aux_classifiers.bias')],
    ['fcn_resnet50', heads[1], heads[0]],
    ['fcn_resnet101', heads[1], heads[0]],
    ['segmenting', undefined, heads[0]]
  ] as const) {
    const model: Model = { ...segmenting, name }
    if (head !== undefined) {
      await writeWeights(common.weights, [head])
      await valueOf(predict({ ...common, model }))
    }
    await writeWeights(common.weights, [unknown])
    const { message } = await failureOf(predict({ ...common, model }))
    assert.ok(message.endsWith(`aux.safetensors: holds ${unknown.name}, which ${name} has not`), message)
  }
})

const input: TensorData = {
  name: 'input',
  type: 'F64',
  shape: [2, 3, 24, 16],
  data: Float64Array.from({ length: 2 * 3 * 24 * 16 }, (_, index) => Math.sin(index))
}
const target = (labels: readonly number[], shape: readonly number[] = [2, 24, 16]): TensorData => ({
  name: 'target',
  type: 'I64',
  shape,
  data: BigInt64Array.from(labels, BigInt)
})
const labels = Array.from({ length: 2 * 24 * 16 }, (_, index) => (index % 7 === 0 ? 255 : index % 3))

test('gradients of pixels: running statistics afterwards, files with batch counts', async () => {
  const count: TensorData = { name: 'norm.num_batches_tracked', type: 'I64', shape: [], data: BigInt64Array.of(7n) }
  await writeWeights(at('g.safetensors'), [count])
  const before = await weightsOf(at('g.safetensors'))
  await valueOf(writeTensorFile(at('batch.safetensors'), [input, target(labels)]))
  const common = {
    model: segmenting,
    device: 'reference',
    threads: 1,
    weights: at('g.safetensors'),
    batch: at('batch.safetensors')
  } as const
  const { loss } = await valueOf(gradients({ ...common, strategy: 'plain', out: at('plain') }))
  const tiled = await valueOf(gradients({ ...common, strategy: 'sft', budget: '80%', out: at('tiled') }))
  assert.ok(Math.abs(loss - tiled.loss) < 1e-12)
  const [plain, other] = [await weightsOf(at('plain')), await weightsOf(at('tiled'))]
  assert.equal([...plain.keys()].sort(), [...other.keys()].sort())
  for (const [name, values] of plain)
    assert.ok(
      values.every((value, index) => Math.abs(value - other.get(name)![index]!) < 1e-10),
      name
    )
  const values = input.data as Float64Array
  for (const channel of [0, 1, 2]) {
    const of = [0, 1].flatMap((image) => [...values.subarray((3 * image + channel) * 384, (3 * image + channel + 1) * 384)])
    const mean = of.reduce((sum, value) => sum + value, 0) / of.length
    const variance = of.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (of.length - 1)
    const expected = (name: string, now: number): number => 0.9 * before.get(name)![channel]! + 0.1 * now
    assert.ok(Math.abs(plain.get('after.norm.running_mean')![channel]! - expected('norm.running_mean', mean)) < 1e-12)
    assert.ok(Math.abs(plain.get('after.norm.running_var')![channel]! - expected('norm.running_var', variance)) < 1e-12)
  }
  assert.ok(plain.has('grad.head.weight') && plain.has('grad.input') && !plain.has('grad.norm.running_mean'))
})

test('gradients refuse targets that do not fit, and one value per channel', async () => {
  await writeWeights(at('w.safetensors'))
  const common = {
    model: segmenting,
    device: 'reference',
    threads: 1,
    weights: at('w.safetensors'),
    strategy: 'plain',
    out: at('none')
  } as const
  const refused = async (tensors: readonly TensorData[], sentence: RegExp): Promise<void> => {
    await valueOf(writeTensorFile(at('bad.safetensors'), tensors))
    const { code, message } = await failureOf(gradients({ ...common, batch: at('bad.safetensors') }))
    assert.is(code, 'input')
    assert.match(message, sentence)
  }
  await refused([input, target(labels.slice(0, 384), [1, 24, 16])], /target is \[1, 24, 16\] where the model needs \[2, 24, 16\]$/)
  await refused([input, target(labels.map(() => 3))], /the label 3 is out of range: the model's classes are 0 to 2, and 255 is ignored$/)
  const single: TensorData = { ...input, shape: [1, 3, 24, 16], data: (input.data as Float64Array).subarray(0, 3 * 384) }
  await refused([single, target(labels.slice(0, 384), [1, 24, 16])], /one value per channel, 1x8x1x1, has no variance/)
})

test('bench of pixels runs what plan predicts', async () => {
  const options: BenchOptions = { model: segmenting, device: 'reference', threads: 1, strategy: 'plain', steps: 1 }
  const { peakDeviceBytes, predictedPeakBytes } = await valueOf(bench(options))
  assert.ok(peakDeviceBytes <= predictedPeakBytes && peakDeviceBytes > predictedPeakBytes - 4096)
})

test.run()
