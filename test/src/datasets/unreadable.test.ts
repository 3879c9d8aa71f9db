/**
 * Images that cannot be read: in crops that are read while a step runs, and in validations of their
 * middles; with --skip-bad and without.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as E from 'fp-ts/Either'
import { type Validation, readDataset, train } from '../../../src'
import { decodeFailure } from '../../../src/images/image-header'
import { damagedMask } from '../../../src/datasets/masks/mask-windows'
import { createBatches } from '../../../src/training/batches/batches'
import { createImageLoader } from '../../../src/training/batches/image-loader'
import { noise } from '../example-images'
import { tilefold } from '../command-line'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const side = 256
const place =
  /the image .*damaged\.tif cannot be read at rows \d+ to \d+, columns \d+ to \d+: .*; it is cut or damaged there, so store it anew or leave it out/

test.before(async () => {
  for (const [index, name] of ['good.tif', 'damaged.tif'].entries())
    await sharp(noise(side * side * 3, index), { raw: { height: side, width: side, channels: 3 } })
      .tiff({ compression: 'jpeg', tile: true, tileWidth: 32, tileHeight: 32 })
      .toFile(at(name))
  const bytes = readFileSync(at('damaged.tif'))
  bytes.fill(0, Math.floor(bytes.length * 0.4), Math.floor(bytes.length * 0.7))
  writeFileSync(at('damaged.tif'), bytes)
  writeFileSync(at('both.csv'), 'path,label\ngood.tif,0\ndamaged.tif,1\n')
  writeFileSync(at('good.csv'), 'path,label\ngood.tif,0\ngood.tif,1\n')
  writeFileSync(at('three.csv'), 'path,label\ngood.tif,0\ndamaged.tif,1\ngood.tif,1\n')
})

test('crops that are read while a step runs can be read, once those that cannot were drawn anew', async () => {
  const [crop, batch] = [{ height: 40, width: 40 }, 2] as const
  // As crops of a gigabyte would be: none is held.
  const loader = createImageLoader({ crop, batch, rotate: false, resolution: { level: 0 }, pixelBytes: 2 ** 28 })
  const dataset = await valueOf(readDataset(at('both.csv')))
  const skipped: string[] = []
  const { load } = createBatches({
    ...{ dataset, classes: 2, seed: 1, batch, crop, flip: false, rotate: false, colourJitter: undefined, loader },
    regions: { cellsOf: () => undefined },
    onSkipped: (_, image) => skipped.push(image)
  })
  for (let microStep = 0; microStep < 8; microStep += 1)
    for (const { pixels, cropTop, cropLeft } of (await valueOf(load(microStep))).images) {
      assert.ok('readWindow' in pixels)
      const read = await pixels.readWindow({ top: cropTop, left: cropLeft, ...crop })()
      assert.ok(E.isRight(read))
    }
  assert.ok(skipped.length > 0)
  assert.equal([...new Set(skipped)], [at('damaged.tif')])
})

const options = {
  model: small,
  input: [2, 3, 32, 32],
  device: 'reference',
  threads: 1,
  seed: 3,
  steps: 2,
  data: at('good.csv')
} as const

test('where another image decoded beside it has wiped out the reason, the sentence says no unknown one', () => {
  const wiped = new Error('Unknown error')
  assert.is(
    decodeFailure('a.png')(wiped).message,
    'the image a.png cannot be read: it cannot be decoded; it is cut or damaged, so store it anew or leave it out'
  )
  assert.match(
    damagedMask('a.png')(wiped).message,
    /^the mask a\.png cannot be read: it cannot be decoded; it is cut or damaged, so store it anew, or leave its row out, /
  )
  assert.match(decodeFailure('a.png')(new Error('bad line')).message, /^the image a\.png cannot be read: bad line; /)
})

test('an image whose middle cannot be read ends the validation, or is left out of it and named', async () => {
  const { validations } = await valueOf(train({ ...options, validation: at('good.csv') }))
  const { code, message } = await failureOf(train({ ...options, validation: at('three.csv') }))
  assert.is(code, 'input')
  assert.match(message, place)
  const notices: string[] = []
  const skipping = { ...options, validation: at('three.csv'), validateEvery: 1, skipBad: true } as const
  const report = await valueOf(train({ ...skipping, onNotice: (sentence) => notices.push(sentence) }))
  assert.equal(report.skippedImages, [at('damaged.tif')])
  assert.equal(report.validations!.at(-1)!.confusion, validations!.at(-1)!.confusion)
  assert.is(report.validations!.at(-1)!.loss, validations!.at(-1)!.loss)
  const said = notices.filter((sentence) => sentence.includes('damaged'))
  assert.is(said.length, 1)
  assert.match(said[0]!, place)
  assert.match(said[0]!, /damaged\.tif is left out of validation$/)
})

test('an image that was left out of a validation is not read again by the next one', async () => {
  copyFileSync(at('damaged.tif'), at('mended.tif'))
  writeFileSync(at('mended.csv'), 'path,label\ngood.tif,0\nmended.tif,1\ngood.tif,1\n')
  const counts: number[] = []
  const onValidation = ({ confusion }: Validation): void => {
    counts.push(confusion!.flat().reduce((sum, count) => sum + count, 0))
    copyFileSync(at('good.tif'), at('mended.tif'))
  }
  await valueOf(
    train({ ...options, validation: at('mended.csv'), validateEvery: 1, skipBad: true, onValidation, onNotice: () => undefined })
  )
  assert.ok(counts.length > 1)
  assert.equal([...new Set(counts)], [2])
})

test('where no image can be validated, --skip-bad ends too', async () => {
  writeFileSync(at('damaged.csv'), 'path,label\ndamaged.tif,0\ndamaged.tif,1\n')
  const { message } = await failureOf(train({ ...options, validation: at('damaged.csv'), skipBad: true, onNotice: () => undefined }))
  assert.match(message, place)
})

test('the command names in the end what it left out', async () => {
  const model = join(__dirname, '..', 'small-model.ts')
  const files = ['--data', at('both.csv'), '--validation', at('three.csv'), '--input', '2x3x32x32', '--steps', '8', '--skip-bad']
  const { status, stdout, stderr } = await tilefold(['train', model, ...files, '--device', 'reference', '--threads', '1'])
  assert.is(status, 0, stderr)
  assert.match(stdout, /\d+ crops could not be read and were drawn anew \(of .*damaged\.tif\)/)
  assert.match(stdout, /left out of validation, since they cannot be read: .*damaged\.tif$/m)
})

test.run()
