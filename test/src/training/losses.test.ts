/**
 * Losses that `train` is asked for: they are learnt from, whatever the tiles and micro-batches, and
 * a validation measures the same loss that a step has.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, named, softmaxCrossEntropy, tanh } from '../../../dsl'
import { gradients, plan, train, writeTensorFile } from '../../../src'
import { writeColours } from '../example-images'
import { filledTensor } from '../filled-tensor'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const [height, width, images] = [20, 12, 4]
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

/** Bright below a slope that differs from image to image; the first row does not count. */
const classAt = (image: number, pixel: number): number => {
  const [row, column] = [Math.floor(pixel / width), pixel % width]
  return row === 0 ? 255 : row + column > 10 + 3 * image ? 1 : 0
}

test.before(async () => {
  for (const image of range(images)) {
    const classes = Uint8Array.from({ length: height * width }, (_, pixel) => classAt(image, pixel))
    writePng(at(`${image}.mask.png`), classes, { height, width, bitDepth: 8 })
    const colours = Uint8Array.from(
      { length: 3 * height * width },
      (_, index) => 60 + 120 * (classes[Math.floor(index / 3)]! % 2) + ((index * 7919) % 31)
    )
    await writeColours(at(`${image}.png`), colours, { height, width })
  }
  writeFileSync(
    at('masks.csv'),
    `path,mask\n${range(images)
      .map((one) => `${one}.png,${one}.mask.png`)
      .join('\n')}\n`
  )
  writeFileSync(
    at('labels.csv'),
    `path,label\n${range(images)
      .map((one) => `${one}.png,${one % 2}`)
      .join('\n')}\n`
  )
})

const pixels = (classes: number) =>
  model({ name: 'pixels', layers: [conv2d({ out: 4, k: 3, p: 1 }), tanh, named('head', conv2d({ out: classes, k: 3, p: 1 }))] })
const rows = model({ name: 'rows', layers: [conv2d({ out: 4, k: 3, p: 1 }), tanh, globalAvgPool, linear({ out: 2 })] })

/** Each step sees all images whole. */
const options = {
  input: [images, 3, height, width],
  device: 'reference',
  threads: 1,
  seed: 3,
  optimizer: 'sgd',
  momentum: 0,
  lr: 0.5
} as const

const formulas = [
  [pixels(2), 'masks.csv', 'dice+0.5*cross-entropy:smoothing=0.1'],
  [pixels(1), 'masks.csv', 'tversky+binary-cross-entropy'],
  [pixels(2), 'masks.csv', 'binary-focal:alpha=-1'],
  [rows, 'labels.csv', 'focal:gamma=1.5']
] as const

for (const [network, data, loss] of formulas) {
  const one = { ...options, model: network, data: at(data), loss }
  const name = `${loss} of ${network.name}`

  test(`${name}: it falls, and a validation finds the loss of the step after it`, async () => {
    const { loss: losses, validations } = await valueOf(train({ ...one, steps: 12, validation: at(data), validateEvery: 1 }))
    assert.ok(losses.at(-1)! < 0.95 * losses[0]!, `${losses}`)
    for (const index of range(11)) {
      const [found, expected] = [validations![index]!.loss, losses[index + 1]!]
      assert.ok(Math.abs(found - expected) <= 1e-9 * expected, `step ${index}: ${found} where the next step has ${expected}`)
    }
  })

  test(`${name}: micro-batches and tiles change nothing`, async () => {
    const trained = async (file: string, changes: object) => {
      await valueOf(train({ ...one, strategy: 'plain', ...changes, steps: 2, save: at(file) }))
      return weightsOf(at(file))
    }
    const whole = await trained('whole.safetensors', {})
    const parts = await trained('parts.safetensors', { input: [2, 3, height, width], accumulate: 2 })
    const tiled = await trained('tiled.safetensors', { strategy: 'auto', budget: '75%' })
    for (const other of [parts, tiled])
      for (const [tensor, values] of whole)
        assert.ok(
          values.every((value, index) => Math.abs(value - other.get(tensor)![index]!) < 1e-12),
          tensor
        )
  })
}

test('a loss that the model or the data do not have is refused by name', async () => {
  const refused = async (changes: object) =>
    (await failureOf(train({ ...options, model: rows, data: at('labels.csv'), steps: 1, ...changes }))).message
  assert.match(
    await refused({ loss: 'dice' }),
    /^--loss dice: dice and tversky compare areas of images, and rows ends in 4x2: leave them out, or take a model of pixels such as unet$/
  )
  assert.match(await refused({ loss: 'dise' }), /there is no loss "dise"; there are cross-entropy, focal/)
  assert.match(await refused({ loss: 'focal:gama=1' }), /focal has no option "gama"; it has gamma/)
  assert.match(await refused({ loss: 'cross-entropy:smoothing=2' }), /smoothing of cross-entropy must lie in 0 \.\. 1, and is "2"/)
  assert.match(
    await refused({ model: pixels(2), data: at('masks.csv'), loss: 'dice+focal+binary-focal' }),
    /softmax and another by a sigmoid/
  )
  assert.match(await refused({ model: pixels(1), data: at('masks.csv'), loss: 'focal' }), /one channel has no softmax/)
  const own = model({ name: 'own', layers: [globalAvgPool, linear({ out: 2 }), softmaxCrossEntropy] })
  assert.match(
    (await failureOf(plan({ model: own, loss: 'focal', input: [1, 3, 8, 8] }))).message,
    /--loss: own ends in the loss softmaxCrossEntropy of its own; leave one of them out/
  )
})

test('gradients fit the loss to the shape of the batch, as a model without an input has it', async () => {
  const values = model({ name: 'values', layers: [named('only', conv2d({ out: 2, k: 1 }))] })
  const files = { weights: at('zeros.safetensors'), batch: at('batch.safetensors'), out: at('gradients.safetensors') }
  await valueOf(writeTensorFile(files.weights, [filledTensor('only.weight', [2, 3, 1, 1]), filledTensor('only.bias', [2])]))
  await valueOf(writeTensorFile(files.batch, [filledTensor('input', [1, 3, 4, 5], 1), filledTensor('target', [1, 2, 4, 5], 3)]))
  const one = { ...files, model: values, device: 'reference', threads: 1 } as const
  assert.is((await valueOf(gradients({ ...one, loss: 'mean-squared-error' }))).loss, 9)
  assert.match((await failureOf(gradients({ ...one, model: rows, loss: 'dice' }))).message, /^--loss dice: .* and rows ends in 1x2: /)
})

test('weights of classes are refused where one channel scores both', async () => {
  const single = model({ name: 'single', input: [1, 3, 20, 12], layers: [conv2d({ out: 1, k: 3, p: 1 })] })
  for (const loss of ['binary-cross-entropy', 'dice+binary-focal'])
    for (const classWeights of ['balanced', [1, 3], [2]] as const) {
      const failure = await failureOf(train({ model: single, loss, classWeights, data: at('masks.csv'), device: 'reference', threads: 1 }))
      assert.is(failure.code, 'input')
      assert.match(
        failure.message,
        /^--class-weights weigh the channels of scores, and single has one for both classes: leave it out, end /
      )
    }
})

test.run()
