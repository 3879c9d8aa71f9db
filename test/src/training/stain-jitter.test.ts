/** Stain jitter: golden values, the identity, and trainings with it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TrainOptions, train } from '../../../src'
import {
  type StainChange,
  changeStains,
  createStainDraws,
  jitterStains,
  parseStainJitter
} from '../../../src/training/batches/stain-jitter'
import { writeColours } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

interface Golden {
  readonly pixels: readonly (readonly number[])[]
  readonly cases: readonly (StainChange & { readonly pixels: readonly (readonly number[])[] })[]
}

test("the values of numpy with scikit-image's matrix", () => {
  const golden = JSON.parse(readFileSync(join(__dirname, '..', '..', 'training', 'data', 'stain_jitter.json'), 'utf8')) as Golden
  assert.is(golden.cases.length, 4)
  for (const { pixels, ...change } of golden.cases) {
    const changed = Uint8Array.from(golden.pixels.flat())
    changeStains(changed, change)
    pixels
      .flat()
      .forEach((value, index) => assert.ok(Math.abs(changed[index]! - value) <= 0.5 + 1e-6, `${index}: ${changed[index]}, ${value}`))
  }
})

test('without a change every colour stays as it is', () => {
  const pixels = Uint8Array.from({ length: 3 * 4096 }, (_, index) => (Math.imul(index + 5, 2654435761) >>> 11) & 255)
  const changed = pixels.slice()
  changeStains(changed, { factors: [1, 1, 1], shifts: [0, 0, 0] })
  assert.equal(changed, pixels)
})

test('draws lie within their limits, and are those of their step', () => {
  const draws = createStainDraws(3, 4, { scale: 0.2, shift: 0.1 })
  const all = Array.from({ length: 50 }, (_, step) => draws(step)).flat()
  for (const { factors, shifts } of all) {
    for (const factor of factors) assert.ok(factor >= 0.8 && factor <= 1.2)
    for (const shift of shifts) assert.ok(shift >= -0.1 && shift <= 0.1)
  }
  assert.is(new Set(all.map(({ factors }) => factors[0])).size, all.length)
  assert.equal(createStainDraws(3, 4, { scale: 0.2, shift: 0.1 })(7), draws(7))
})

const [height, width] = [80, 60]
const pixels = Uint8Array.from({ length: height * width * 3 }, (_, index) => 60 + ((Math.imul(index + 9, 2654435761) >>> 13) % 190))

test.before(async () => {
  writeTiledTiff(at('tiles.tif'), [{ height, width, pixels }], { tile: 16, channels: 3 })
  await writeColours(at('whole.png'), pixels, { height, width })
  for (const name of ['tiles.tif', 'whole.png']) writeFileSync(at(`${name}.csv`), `path,label\n${name},0\n${name},1\n`)
})

const options = {
  model: small,
  device: 'reference',
  threads: 1,
  seed: 5,
  steps: 4,
  input: [2, 3, 32, 16],
  flip: true,
  rotate: true
} as const
const losses = async (more: Partial<TrainOptions>) =>
  (await valueOf(train({ ...options, input: [2, 3, 32, 32], data: at('tiles.tif.csv'), ...more }))).loss

test('an image by window, whole, and read while a step runs is changed alike', async () => {
  const found = await losses({ stainJitter: '0.1,0.05' })
  assert.not.equal(found, await losses({}))
  assert.equal(found, await losses({ stainJitter: { scale: 0.1, shift: 0.05 }, data: at('whole.png.csv') }))
  assert.equal(await losses({ stainJitter: '0,0' }), await losses({}))
  const place = { cropTop: 3, cropLeft: 5, flipHorizontal: false, flipVertical: true, quarterTurns: 1 } as const
  const change: StainChange = { factors: [0.9, 1.1, 1], shifts: [0.02, 0, -0.01] }
  const changed = pixels.slice()
  changeStains(changed, change)
  const jittered = jitterStains('a', { pixels, height, width, channels: 3, ...place }, { height: 20, width: 30 }, change)
  assert.ok(E.isRight(jittered))
  const { pixels: cut, ...image } = jittered.right
  // Turned by 90 degrees, the crop lies across.
  assert.equal(image, { ...place, height: 30, width: 20, channels: 3, isHandedOver: true, cropTop: 0, cropLeft: 0 })
  const rows = Array.from({ length: 30 }, (_, row) => [...changed.subarray(((3 + row) * width + 5) * 3, ((3 + row) * width + 25) * 3)])
  assert.equal([...(cut as Uint8Array)], rows.flat())
  assert.is(pixels[0], 60 + ((Math.imul(9, 2654435761) >>> 13) % 190), 'what is cached stays as it is')
})

test('what is no jitter is refused', async () => {
  for (const text of ['0.1', '0.1,', '2,0', '0,-1', 'a,b']) assert.ok(E.isLeft(parseStainJitter(text)), text)
  const { message } = await failureOf(train({ ...options, data: at('whole.png.csv'), stainJitter: '0.1' }))
  assert.is(message, 'stainJitter: "0.1" is not scale,shift, both from 0 to 1')
})

test.run()
