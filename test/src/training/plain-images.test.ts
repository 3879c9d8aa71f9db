/** Images of one colour but for a part: on the `cpu` tiles of it are computed once. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, convTranspose2d, maxPool2d, model, relu } from '../../../dsl'
import { plan, predict, train } from '../../../src'
import { noise } from '../example-images'
import { writePng } from '../image-files'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const side = 768

const network = model({
  name: 'plain',
  input: [1, 3, 64, 64],
  layers: [
    conv2d({ out: 16, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 2 }),
    conv2d({ out: 16, k: 3, p: 1 }),
    relu,
    convTranspose2d({ out: 16, k: 2, s: 2 }),
    conv2d({ out: 3, k: 1 })
  ]
})

const common = { model: network, device: 'cpu', threads: 2 } as const

test.before(async () => {
  const pixels = new Uint8Array(3 * side * side).fill(240)
  const patch = noise(3 * 100 * 100, 4)
  for (let row = 0; row < 100; row += 1) pixels.set(patch.subarray(300 * row, 300 * (row + 1)), 3 * ((300 + row) * side + 320))
  const image = () => sharp(pixels, { raw: { height: side, width: side, channels: 3 } })
  await image().png().toFile(at('image.png'))
  await image().tiff({ tile: true, tileWidth: 64, tileHeight: 64, compression: 'deflate' }).toFile(at('image.tif'))
  await image().extract({ top: 300, left: 300, height: 64, width: 64 }).png().toFile(at('small.png'))
  writePng(
    at('mask.png'),
    Uint8Array.from({ length: 64 * 64 }, (_, index) => index % 3),
    { height: 64, width: 64, bitDepth: 8 }
  )
  writeFileSync(at('data.csv'), 'path,mask\nsmall.png,mask.png\n')
  await valueOf(train({ ...common, data: at('data.csv'), steps: 3, seed: 2, save: at('w.safetensors') }))
})

test('tiles of one colour are computed once, of an image that is decoded whole as of one in tiles, to the same mask', async () => {
  const options = { ...common, weights: at('w.safetensors'), budget: '3MB' } as const
  const whole = await valueOf(predict({ ...options, image: at('image.png'), out: at('whole.png') }))
  const tiled = await valueOf(predict({ ...options, image: at('image.tif'), out: at('tiled.png') }))
  assert.ok(whole.repeatedTiles! > 0 && tiled.repeatedTiles === whole.repeatedTiles, `${whole.repeatedTiles} and ${tiled.repeatedTiles}`)
  // A plan that loads ahead computes all of them.
  await valueOf(plan({ ...common, evaluate: true, input: [1, 3, side, side], budget: '3MB', out: at('plan.json') }))
  const ahead = readFileSync(at('plan.json'), 'utf8')
  assert.not.match(ahead, /prefetch/)
  writeFileSync(at('plan.json'), ahead.replace('"recompute": true', '"recompute": true, "prefetch": true'))
  const all = await valueOf(predict({ ...options, budget: '6MB', plan: at('plan.json'), image: at('image.png'), out: at('all.png') }))
  assert.is(all.repeatedTiles, undefined)
  assert.equal(readFileSync(at('whole.png')), readFileSync(at('all.png')))
  assert.equal(readFileSync(at('tiled.png')), readFileSync(at('all.png')))
})

test('a step over a whole image takes them from the one before too, and says how many', async () => {
  writePng(
    at('large.mask.png'),
    Uint8Array.from({ length: side * side }, (_, index) => Math.floor(index / side / 300) % 3),
    { height: side, width: side, bitDepth: 8 }
  )
  writeFileSync(at('large.csv'), 'path,mask\nimage.tif,large.mask.png\n')
  const input = [1, 3, side, side] as const
  await valueOf(plan({ ...common, input, budget: '8MB', out: at('step.json') }))
  const inTurn = readFileSync(at('step.json'), 'utf8')
  assert.not.match(inTurn, /prefetch/)
  const trained = async (name: string, text: string) => {
    writeFileSync(at(`${name}.json`), text)
    const report = await valueOf(
      train({
        ...common,
        input,
        budget: '40MB',
        data: at('large.csv'),
        plan: at(`${name}.json`),
        steps: 2,
        seed: 2,
        save: at(`${name}.safetensors`)
      })
    )
    return { report, weights: readFileSync(at(`${name}.safetensors`)) }
  }
  const one = await trained('turn', inTurn)
  const other = await trained('ahead', inTurn.replaceAll(/"recompute": (true|false)/g, '$&, "prefetch": true'))
  assert.ok(one.report.repeatedTiles! > 0)
  assert.is(other.report.repeatedTiles, undefined)
  assert.equal(one.report.loss, other.report.loss)
  assert.equal(one.weights, other.weights)
})

test.run()
