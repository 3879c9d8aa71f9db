/**
 * Files that change after they were read first: an image and its mask that do not lie on each other
 * any more.
 */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, model } from '../../../dsl'
import { type Dataset, type TrainOptions, readDataset, train } from '../../../src'
import { writeMasks } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const pixels = model({ name: 'pixels', layers: [conv2d({ out: 2, k: 1 })] })
let [whole, changed]: readonly Dataset[] = []

const training = (more: Partial<TrainOptions> & Pick<TrainOptions, 'data'>) =>
  train({ model: pixels, input: [1, 3, 16, 16], device: 'reference', threads: 1, seed: 3, steps: 2, ...more })

test.before(async () => {
  await writeMasks(folder)
  for (const name of ['tissue', 'mask']) copyFileSync(at(`${name}.png`), at(`${name}-changed.png`))
  writeFileSync(at('changed.csv'), 'path,mask\ntissue-changed.png,mask-changed.png\n')
  ;[whole, changed] = [await valueOf(readDataset(at('masks.csv'))), await valueOf(readDataset(at('changed.csv')))]
})

for (const [thing, name, space] of [
  ['image', 'tissue', 'srgb'],
  ['mask', 'mask', 'b-w']
] as const)
  for (const [height, width] of [
    [128, 96],
    [8, 16],
    [200, 200]
  ] as const)
    test(`the ${thing} is ${height}x${width} by now, where it is trained on and where it is validated`, async () => {
      for (const one of ['tissue', 'mask']) copyFileSync(at(`${one}.png`), at(`${one}-changed.png`))
      for (const more of [{ data: changed! }, { data: whole!, validation: changed! }]) {
        await valueOf(training(more))
        await sharp(at(`${name}.png`))
          .resize({ height, width, fit: 'fill', kernel: 'nearest' })
          .toColourspace(space)
          .toFile(at(`${name}-changed.png`))
        const { code, message } = await failureOf(training(more))
        assert.is(code, 'input')
        assert.match(
          message,
          new RegExp(`^the ${thing} .*${name}-changed\\.png is not of the size 96x128 any more: leave files as they are`)
        )
        copyFileSync(at(`${name}.png`), at(`${name}-changed.png`))
      }
    })

test.run()
