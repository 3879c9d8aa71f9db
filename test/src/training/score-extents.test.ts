/** Networks that make fewer scores of an image than it has pixels. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, maxPool2d, model, relu, resize, type Layers } from '../../../dsl'
import { predict, train } from '../../../src'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const common = { device: 'reference', threads: 1 } as const

const modelOf = (name: string, end: Layers) =>
  model({
    name,
    input: [1, 3, 16, 16],
    layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), conv2d({ out: 3, k: 1 }), ...end]
  })
const halving = modelOf('halving', [])
const doubling = modelOf('doubling', [resize({ mode: 'nearest', scale: 2 })])

test.before(async () => {
  for (const [name, height] of [
    ['even', 16],
    ['low', 1]
  ] as const) {
    await writeColours(at(`${name}.png`), noise(3 * height * 16, 1), { height, width: 16 })
    writePng(
      at(`${name}.mask.png`),
      Uint8Array.from({ length: height * 16 }, (_, index) => index % 3),
      { height, width: 16, bitDepth: 8 }
    )
    writeFileSync(at(`${name}.csv`), `path,mask\n${name}.png,${name}.mask.png\n`)
  }
  await valueOf(train({ ...common, model: doubling, data: at('even.csv'), steps: 1, save: at('w.safetensors') }))
})

const wanted = (name: string, scores: string, pixels: string): string =>
  `${name} makes ${scores} scores of ${pixels} pixels, and masks have a class for each pixel: end it in a resize to its input's size (docs/layers.md), or give sides that it keeps`

test('a network that makes half as many rows and columns is not trained on masks', async () => {
  const { code, message } = await failureOf(train({ ...common, model: halving, data: at('even.csv'), steps: 1 }))
  assert.equal([code, message], ['input', wanted('halving', '8x8', '16x16')])
})

test('nor predicts it, in classes, polygons or probabilities; of a list such an image is left out where that is asked for', async () => {
  const options = { ...common, model: halving, weights: at('w.safetensors') } as const
  for (const more of [
    { out: at('m.tif') },
    { out: at('m.png') },
    { out: at('m.geojson') },
    { out: at('p.tif'), probabilities: 'uint8' }
  ] as const) {
    const { code, message } = await failureOf(predict({ ...options, image: at('even.png'), ...more }))
    assert.equal([code, message], ['input', wanted('halving', '8x8', '16x16')])
  }
  writeFileSync(at('list.csv'), 'path\nlow.png\neven.png\n')
  const list = { ...options, model: doubling, data: at('list.csv'), out: at('masks'), skipBad: true, onNotice: () => undefined }
  const report = await valueOf(predict(list))
  assert.equal([report.images!.length, report.skipped!.map(({ path }) => path)], [1, [at('low.png')]])
})

test.run()
