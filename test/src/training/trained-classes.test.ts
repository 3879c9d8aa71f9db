/** Weights say what their classes are called, and so what a prediction calls them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, relu, type Model } from '../../../dsl'
import { type PredictOptions, predict, train } from '../../../src'
import { tilefold } from '../command-line'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const side = 16
const common = { device: 'reference', precision: 'float64', threads: 1 } as const

const modelOf = (outputs: number): Model =>
  model({ name: 'net', input: [1, 3, side, side], layers: [conv2d({ out: 4, k: 3 }), relu, globalAvgPool, linear({ out: outputs })] })
const segmenting = model({ name: 'seg', input: [1, 3, side, side], layers: [conv2d({ out: 2, k: 3, p: 1 })] })

test.before(async () => {
  for (const [image, label] of ['normal', 'tumour'].entries()) {
    mkdirSync(at(`classes/${label}`), { recursive: true })
    await writeColours(at(`classes/${label}/${image}.png`), noise(3 * side * side, image), { height: side, width: side })
  }
  const ring = [0, 1, 2, 3, 0].map(
    (corner) =>
      [
        [0, 0],
        [8, 0],
        [8, 8],
        [0, 8]
      ][corner % 4]
  )
  const feature = {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: { classification: { name: 'tumour' } }
  }
  writeFileSync(at('drawn.geojson'), JSON.stringify({ type: 'FeatureCollection', features: [feature] }))
  writeFileSync(at('drawn.csv'), 'path,mask\nclasses/normal/0.png,drawn.geojson\n')
})

const trained = (net: Model, data: string, more: { readonly unannotated?: string } = {}): Promise<string> => {
  const save = at(`${net.name}.safetensors`)
  return valueOf(train({ ...common, ...more, model: net, data, seed: 3, steps: 1, lr: 0.01, save })).then(() => save)
}
const run = (net: Model, weights: string, more: Partial<PredictOptions>) =>
  predict({ ...common, model: net, weights, ...more } as PredictOptions)
const headerOf = (path: string): readonly string[] => (parse(readFileSync(path, 'utf8')) as string[][])[0]!

test('a table of scores has the names of the folders that were trained on, and --class-names others', async () => {
  const weights = await trained(modelOf(2), at('classes'))
  const { names } = await valueOf(run(modelOf(2), weights, { data: at('classes'), out: at('scores.csv') }))
  assert.equal(names, ['normal', 'tumour'])
  assert.equal(headerOf(at('scores.csv')), ['path', 'class', 'probability of normal', 'probability of tumour'])
  await valueOf(run(modelOf(2), weights, { data: at('classes'), out: at('others.csv'), classNames: 'x,y' }))
  assert.equal(headerOf(at('others.csv')), ['path', 'class', 'probability of x', 'probability of y'])
})

test('names that the weights have in another order are refused, by predictions and by trainings that keep the last layer', async () => {
  const weights = await trained(modelOf(2), at('classes'))
  const predicted = await failureOf(run(modelOf(2), weights, { image: at('classes/normal/0.png'), classNames: 'tumour,normal' }))
  assert.is(
    predicted.message,
    `--class-names has tumour as class 0, but ${weights} were trained with it as class 1: leave it out, or give normal,tumour`
  )
  const training = { ...common, model: modelOf(2), data: at('classes'), steps: 1, weights }
  assert.is(
    (await failureOf(train({ ...training, classNames: 'tumour,normal' }))).message,
    `${weights}: was trained with tumour as class 1, but the data has it as class 0: give --class-names normal,tumour (of values, columns in that order), or --new-head to draw the last layer anew`
  )
  await valueOf(train({ ...training, classNames: 'tumour,normal', newHead: true }))
  await valueOf(train({ ...training, classNames: 'healthy=normal,ill=tumour' }))
})

test('polygons have the names that were drawn', async () => {
  const weights = await trained(segmenting, at('drawn.csv'), { unannotated: 'stroma' })
  await valueOf(run(segmenting, weights, { image: at('classes/normal/0.png'), out: at('out.geojson') }))
  const { features } = JSON.parse(readFileSync(at('out.geojson'), 'utf8'))
  assert.ok(features.length > 0)
  for (const { properties } of features) assert.ok(['stroma', 'tumour'].includes(properties.classification.name))
})

test('a network with more classes than the data keeps numbers', async () => {
  const weights = await trained(modelOf(3), at('classes'))
  assert.is((await valueOf(run(modelOf(3), weights, { image: at('classes/normal/0.png') }))).names, undefined)
})

test('a network with more classes than the weights is refused by their number, or by that of the names that are given', async () => {
  const weights = await trained(modelOf(2), at('classes'))
  const refused = async (more: Partial<PredictOptions>): Promise<string> =>
    (await failureOf(run(modelOf(5), weights, { image: at('classes/normal/0.png'), ...more }))).message
  assert.is(
    await refused({}),
    'the weights are of 2 classes, but the model has 5: give the model that they are of (a built-in one with --classes 2)'
  )
  assert.is(await refused({ classNames: 'x,y' }), '--class-names names 2 classes, but the model has 5')
})

test('training on masks of pixels refuses names of more or fewer classes than the network has', async () => {
  writePng(at('mask.png'), new Uint8Array(side * side), { height: side, width: side, bitDepth: 8 })
  writeFileSync(at('masked.csv'), 'path,mask\nclasses/normal/0.png,mask.png\n')
  for (const classNames of ['x', 'x,y,z']) {
    const { message } = await failureOf(train({ ...common, model: segmenting, data: at('masked.csv'), steps: 1, classNames }))
    assert.is(message, `--class-names names ${classNames.split(',').length} classes, but the model has 2`)
  }
})

test('a built-in network has as many classes as the weights name, unless told', async () => {
  const [weights, data] = [at('resnet18.safetensors'), at('classes')]
  const built = { device: 'cpu', threads: 2, measure: false, model: 'resnet18' } as const
  await valueOf(train({ ...built, data, input: [2, 3, 32, 32], crop: [side, side], steps: 1, lr: 1e-5, save: weights }))
  const image = at('classes/normal/0.png')
  assert.equal((await valueOf(predict({ ...built, weights, image }))).names, ['normal', 'tumour'])
  assert.is(
    (await failureOf(predict({ ...built, weights, image, classes: 3 }))).message,
    'the weights are of 2 classes, but the model has 3: give the model that they are of (a built-in one with --classes 2)'
  )
})

/** Why weights are refused that say something else under a key. */
const refusalSaying = async (key: string, said: string): Promise<string> => {
  const weights = await trained(modelOf(2), at('classes'))
  const bytes = readFileSync(weights)
  const end = 8 + Number(bytes.readBigUInt64LE())
  const header = JSON.parse(bytes.toString('utf8', 8, end))
  header.__metadata__[key] = said
  const [length, text] = [Buffer.alloc(8), Buffer.from(JSON.stringify(header))]
  length.writeBigUInt64LE(BigInt(text.length))
  writeFileSync(at('hostile.safetensors'), Buffer.concat([length, text, bytes.subarray(end)]))
  return (await failureOf(run(modelOf(2), at('hostile.safetensors'), { image: at('classes/normal/0.png') }))).message
}

test('names that would move the cursor of a terminal are refused', async () =>
  assert.match(
    await refusalSaying('tilefold.classes', '["\\u001b[2J","b"]'),
    /hostile\.safetensors: what it says of its classes \(tilefold\.classes\) cannot be read: give --class-names$/
  ))

test('channels that no option could be are refused', async () => {
  const normalised = { mean: [0.5, 0.5, 0.5], deviation: [1, 1, 1] }
  const refused = [
    ...[0, -1, 1.5].map((band) => JSON.stringify({ ...normalised, bands: [1, 2, band] })),
    ...[0, -1].map((one) => JSON.stringify({ ...normalised, deviation: [1, one, 1] })),
    JSON.stringify({ ...normalised, deviation: [1, 1] }),
    JSON.stringify({ ...normalised, bands: [1, 2] }),
    '{"mean":[1e999,0,0],"deviation":[1,1,1]}'
  ]
  for (const said of refused)
    assert.match(
      await refusalSaying('tilefold.channels', said),
      /hostile\.safetensors: what it says of its channels \(tilefold\.channels\) cannot be read: give --bands, --mean and --deviation$/
    )
})

test('the command line names them', async () => {
  const weights = await trained(modelOf(2), at('classes'))
  writeFileSync(
    at('net.js'),
    `const { conv2d, globalAvgPool, linear, model, relu } = require('${join(__dirname, '..', '..', '..', 'dsl')}')
    exports.default = model({ name: 'net', input: [1, 3, ${side}, ${side}], layers: [conv2d({ out: 4, k: 3 }), relu, globalAvgPool, linear({ out: 2 })] })`
  )
  const { stdout, stderr } = await tilefold(['predict', at('net.js'), '--weights', weights, '--image', at('classes/normal/0.png')])
  assert.match(stdout, /│ (normal|tumour) +│/, stderr)
})

test.run()
