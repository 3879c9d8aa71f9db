/** Weights say by which loss they were trained, and so what the scores of a network are. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { fromFile } from 'geotiff'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, meanSquaredError, model, relu, sigmoid, valueLoss, type Layers, type Model } from '../../../dsl'
import { type PredictOptions, type TrainOptions, predict, readDataset, train } from '../../../src'
import { openTensorFile } from '../../../src/weights/safetensors'
import { tilefold } from '../command-line'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const side = 16
const common = { device: 'reference', precision: 'float64', threads: 1 } as const

const modelOf = (outputs: number, end: Layers = []): Model =>
  model({
    name: 'net',
    input: [2, 3, side, side],
    layers: [conv2d({ out: 6, k: 3 }), relu, globalAvgPool, linear({ out: outputs }), ...end]
  })

test.before(async () => {
  for (const image of [0, 1]) {
    await writeColours(at(`${image}.png`), noise(3 * side * side, image), { height: side, width: side })
    const mask = Uint8Array.from({ length: side * side }, (_, index) => (index + image) % 3)
    writePng(at(`${image}.mask.png`), mask, { height: side, width: side, bitDepth: 8 })
  }
  writeFileSync(at('sets.csv'), 'path,labels\n0.png,0;2\n1.png,\n')
  writeFileSync(at('values.csv'), 'path,value:age,value:size\n0.png,61,-3\n1.png,20,4\n')
  writeFileSync(at('classes.csv'), 'path,label\n0.png,0\n1.png,2\n')
  writeFileSync(at('masks.csv'), 'path,mask\n0.png,0.mask.png\n1.png,1.mask.png\n')
  writeFileSync(at('images.csv'), 'path\n0.png\n1.png\n')
})

const trained = async (name: string, options: Pick<TrainOptions, 'model' | 'data' | 'loss'>): Promise<string> => {
  const save = at(`${name}.safetensors`)
  await valueOf(train({ ...common, ...options, input: [2, 3, side, side], seed: 3, steps: 1, lr: 0.01, save } as TrainOptions))
  return save
}

const run = (weights: string, more: Partial<PredictOptions>) =>
  predict({ ...common, weights, ...(more.data === undefined && { image: at('0.png') }), ...more } as PredictOptions)
const rowsOf = (path: string): readonly (readonly string[])[] => parse(readFileSync(path, 'utf8')) as string[][]
const isClose = (one: number, other: number): boolean => Math.abs(one - other) < 1e-9

test('of sets of labels each class has its own probability, and those over a half are the labels', async () => {
  const weights = await trained('sets', { model: modelOf(3), data: at('sets.csv'), loss: 'binary-cross-entropy' })
  const { scores, classes, class: only } = await valueOf(run(weights, { model: modelOf(3) }))
  assert.is(only, undefined)
  assert.equal(
    classes,
    [0, 1, 2].filter((one) => scores![one]! > 0)
  )
  const out = at('sets-out.csv')
  await valueOf(run(weights, { model: modelOf(3), data: at('images.csv'), out, classNames: 'x,y,z' }))
  const [header, first] = rowsOf(out)
  assert.equal(header, ['path', 'labels', 'probability of x', 'probability of y', 'probability of z'])
  assert.is(first![1], classes!.map((one) => 'xyz'[one]).join(';'))
  scores!.forEach((score, one) => assert.ok(isClose(Number(first![2 + one]), 1 / (1 + Math.exp(-score)))))
  // The same network as one of classes that exclude each other, and back.
  const asClasses = await valueOf(run(weights, { model: modelOf(3), loss: 'cross-entropy' }))
  assert.equal([asClasses.class, asClasses.classes], [scores!.indexOf(Math.max(...scores!)), undefined])
})

test('values are told as they are, and their table is a data file', async () => {
  const weights = await trained('values', { model: modelOf(2), data: at('values.csv'), loss: 'huber' })
  const { scores, values } = await valueOf(run(weights, { model: modelOf(2) }))
  assert.is(scores, undefined)
  assert.is(values!.length, 2)
  const out = at('values-out.csv')
  await valueOf(run(weights, { model: modelOf(2), data: at('images.csv'), out, classNames: 'age,size' }))
  const { examples, names } = await valueOf(readDataset(out, '--data', {}))
  assert.equal([examples[0]!.label, names], [{ values }, ['age', 'size']])
  writeFileSync(at('one.csv'), 'path,value\n0.png,2\n1.png,3\n')
  const alone = await trained('value', { model: modelOf(1, [meanSquaredError]), data: at('one.csv') })
  // A loss of the model says it, and so do the weights where the model has none.
  for (const end of [[meanSquaredError], []]) assert.is((await valueOf(run(alone, { model: modelOf(1, end) }))).values!.length, 1)
})

test('weights of cross-entropy say nothing, as before; of a loss of the model they say that', async () => {
  const saidBy = async (path: string) => (await valueOf(openTensorFile(path))).metadata['tilefold.loss']
  const weights = await trained('classes', { model: modelOf(3), data: at('classes.csv') })
  assert.is(await saidBy(weights), undefined)
  assert.is((await valueOf(run(weights, { model: modelOf(3) }))).scores!.length, 3)
  assert.is(await saidBy(at('sets.safetensors')), 'binary-cross-entropy')
  // Weights of before, which say nothing, and --loss in their place.
  assert.is((await valueOf(run(weights, { model: modelOf(3), loss: 'binary-focal' }))).class, undefined)
  assert.equal((await valueOf(run(weights, { model: modelOf(3), loss: 'mean-absolute-error' }))).values!.length, 3)
  const own = modelOf(3, [valueLoss({ loss: 'binary-focal' })])
  assert.ok((await valueOf(run(at('sets.safetensors'), { model: own }))).classes !== undefined)
  const { code, message } = await failureOf(run(weights, { model: own, loss: 'cross-entropy' }))
  assert.equal([code, message], ['input', '--loss: net ends in a loss of its own; leave one of them out'])
  // Its outputs are probabilities already, which are values for all that is known.
  assert.ok((await valueOf(run(at('sets.safetensors'), { model: modelOf(3, [sigmoid, meanSquaredError]) }))).values !== undefined)
})

test('probabilities of pixels are sigmoids where the weights were trained by a binary loss', async () => {
  const weights = await trained('masks', { model: segmenting, data: at('masks.csv'), loss: 'dice+binary-cross-entropy' })
  const sumOf = async (loss: string | undefined, name: string): Promise<number> => {
    const out = at(name)
    await valueOf(run(weights, { model: segmenting, probabilities: 'float32', out, ...(loss && { loss }) }))
    const file = await fromFile(out)
    const values = (await (await file.getImage(0)).readRasters({ interleave: true })) as unknown as Float32Array
    file.close()
    return values[0]! + values[1]! + values[2]!
  }
  assert.ok(Math.abs((await sumOf('cross-entropy', 'softmax.tif')) - 1) < 1e-6)
  const sigmoids = await sumOf(undefined, 'sigmoids.tif')
  assert.ok(Math.abs(sigmoids - 1) > 1e-3, `${sigmoids}`)
})

test('scores of pixels are not told by a loss of values', async () => {
  const weights = await trained('of-pixels', { model: segmenting, data: at('masks.csv'), loss: 'cross-entropy' })
  const { code, message } = await failureOf(run(weights, { model: segmenting, out: at('values.png'), loss: 'mean-squared-error' }))
  assert.is(code, 'input')
  assert.match(message, /^the loss mean-squared-error is of values, and .* makes a score a class for each pixel: give another --loss$/)
})

test('what weights say of their loss is not believed blindly', async () => {
  const bytes = readFileSync(at('sets.safetensors'), 'latin1')
  copyFileSync(at('sets.safetensors'), at('odd.safetensors'))
  writeFileSync(at('odd.safetensors'), bytes.replace('binary-cross-entropy', 'binary-cross-entrapy'), 'latin1')
  const { code, message } = await failureOf(run(at('odd.safetensors'), { model: modelOf(3) }))
  assert.is(code, 'input')
  assert.match(message, /odd\.safetensors: what it says of its loss \(tilefold\.loss\) cannot be read \(.*\): give --loss$/)
  assert.is((await valueOf(run(at('odd.safetensors'), { model: modelOf(3), loss: 'binary-cross-entropy' }))).scores!.length, 3)
})

test('the command tells values, and classes by themselves', async () => {
  const of = async (outputs: number, weights: string): Promise<string> => {
    writeFileSync(
      at(`net${outputs}.ts`),
      `import { conv2d, globalAvgPool, linear, model, relu } from '${join(__dirname, '..', '..', '..', 'dsl')}'
export default model({ name: 'net', input: [2, 3, 16, 16], layers: [conv2d({ out: 6, k: 3 }), relu, globalAvgPool, linear({ out: ${outputs} })] })
`
    )
    const { status, stdout, stderr } = await tilefold([
      'predict',
      at(`net${outputs}.ts`),
      '--weights',
      at(weights),
      '--image',
      at('0.png'),
      '--threads',
      '1'
    ])
    assert.is(status, 0, stderr)
    return stdout
  }
  assert.match(await of(2, 'values.safetensors'), /value +│ prediction/)
  const table = await of(3, 'sets.safetensors')
  const shares = [...table.matchAll(/(\d+(?:\.\d+)?) ?%/g)].map(([, share]) => Number(share))
  assert.is(shares.length, 3)
  assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) > 1, table)
})

test.run()
