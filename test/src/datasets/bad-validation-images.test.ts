/**
 * What of a validation of whole images cannot be read, or does not count.
 */
import { parse } from 'csv-parse/sync'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { train } from '../../../src'
import { writeImageTable } from '../../../src/training/validation/image-table'
import { noise } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { at, extents, options, trained, writeMaskedImages } from '../masked-images'

test.before(writeMaskedImages)

test('an image that cannot be read ends the validation, or is left out by --skip-bad and named', async () => {
  const side = 256
  await sharp(noise(3 * side * side, 3), { raw: { height: side, width: side, channels: 3 } })
    .tiff({ tile: true, tileWidth: 32, tileHeight: 32, compression: 'jpeg' })
    .toFile(at('damaged.tif'))
  copyFileSync(at('damaged.tif'), at('whole.tif'))
  const bytes = readFileSync(at('damaged.tif'))
  bytes.fill(0, Math.floor(bytes.length * 0.6), Math.floor(bytes.length * 0.7))
  writeFileSync(at('damaged.tif'), bytes)
  writePng(at('damaged.mask.png'), new Uint8Array(side * side), { height: side, width: side, bitDepth: 8 })
  writeFileSync(at('damaged.csv'), 'path,mask\n0.png,0.mask.png\ndamaged.tif,damaged.mask.png\n2.png,2.mask.png\n')
  const { report: good } = await trained({ data: at('fitting.csv'), validation: at('fitting.csv') })
  const damaged = { data: at('fitting.csv'), validation: at('damaged.csv') } as const
  const { code, message } = await failureOf(train({ ...options, ...damaged, steps: 2 }))
  assert.is(code, 'input')
  const place = /the image .*damaged\.tif cannot be read at rows \d+ to \d+, columns \d+ to \d+: .*; it is cut or damaged there/
  assert.match(message, place)
  const { report, notices } = await trained({ ...damaged, skipBad: true, validateEvery: 1 })
  assert.equal(report.skippedImages, [at('damaged.tif')])
  assert.equal(report.validations!.at(-1), good.validations!.at(-1))
  assert.is(notices.length, 1)
  assert.match(notices[0]!, place)
  assert.match(notices[0]!, /damaged\.tif is left out of validation$/)
})

test('a row whose mask is damaged ends the training before it begins, or is left out by --skip-bad and counted', async () => {
  const [{ height, width }] = extents
  const cut = readFileSync(at('1.mask.png'))
  writeFileSync(at('cut.mask.png'), cut.subarray(0, cut.length - 30))
  const tiled = at('damaged.mask.tif')
  await sharp(
    noise(height * width, 5).map((value) => value % 2),
    { raw: { height, width, channels: 1 } }
  )
    .toColourspace('b-w')
    .tiff({ tile: true, tileWidth: 16, tileHeight: 16, compression: 'deflate' })
    .toFile(tiled)
  const bytes = readFileSync(tiled)
  bytes.fill(255, 200, 400)
  writeFileSync(tiled, bytes)
  const rows = ['path,mask', '0.png,0.mask.png', '1.png,cut.mask.png', '2.png,2.mask.png', '0.png,damaged.mask.tif']
  writeFileSync(at('masks.csv'), `${rows.join('\n')}\n`)
  writeFileSync(at('whole-masks.csv'), `${[rows[0], rows[1], rows[3]].join('\n')}\n`)
  const { code, message } = await failureOf(train({ ...options, data: at('masks.csv'), steps: 2 }))
  assert.is(code, 'input')
  assert.match(
    message,
    /line 3: the mask .*cut\.mask\.png cannot be read: .*leave its row out, as --skip-bad does; .*line 5: the mask .*damaged/
  )
  const { report, notices } = await trained({ data: at('masks.csv'), skipBad: true })
  assert.equal(report.skippedFiles, [at('cut.mask.png'), tiled])
  assert.match(notices[0]!, /masks\.csv: left out are 2 images whose masks cannot be read \(.*line 3: the mask .*; .*line 5: the mask /)
  assert.equal(report.loss, (await trained({ data: at('whole-masks.csv') })).report.loss)
  writeFileSync(at('no-masks.csv'), `${[rows[0], rows[2]].join('\n')}\n`)
  assert.match(
    (await failureOf(train({ ...options, data: at('no-masks.csv'), skipBad: true, steps: 2 }))).message,
    /line 2: the mask .*cut/
  )
})

test('an image that was left out of a validation of whole images is not read again by the next one', async () => {
  copyFileSync(at('damaged.tif'), at('mended.tif'))
  writeFileSync(at('mended.csv'), 'path,mask\n0.png,0.mask.png\nmended.tif,damaged.mask.png\n')
  const counts: number[] = []
  const notices: string[] = []
  await valueOf(
    train({
      ...options,
      ...{ data: at('fitting.csv'), validation: at('mended.csv'), skipBad: true, validateEvery: 1, steps: 2 },
      onNotice: (sentence) => notices.push(sentence),
      onValidation: ({ confusion }) => {
        counts.push(confusion!.flat().reduce((sum, count) => sum + count, 0))
        // It could be read by now.
        copyFileSync(at('whole.tif'), at('mended.tif'))
      }
    })
  )
  const [{ height, width }] = extents
  assert.equal(counts, [(height - 2) * width, (height - 2) * width])
  assert.is(notices.length, 1)
})

test('where no image can be validated whole, or no pixel of any counts, the training ends and says so', async () => {
  writeFileSync(at('none.csv'), 'path,mask\ndamaged.tif,damaged.mask.png\n')
  const none = { data: at('fitting.csv'), validation: at('none.csv'), skipBad: true, steps: 2 } as const
  const unread = await failureOf(train({ ...options, ...none, onNotice: () => undefined }))
  assert.is(unread.code, 'input')
  assert.match(unread.message, /damaged\.tif cannot be read at rows/)
  writeFileSync(at('ignored.csv'), 'path,mask\n2.png,ignored.mask.png\n')
  const ignored = await failureOf(train({ ...options, data: at('fitting.csv'), validation: at('ignored.csv'), steps: 2 }))
  assert.is(ignored.code, 'input')
  assert.match(ignored.message, /line 2: no pixel of the validation masks counts, .* or leave out --validation$/)
  writeFileSync(at('left.csv'), 'path,mask\n2.png,ignored.mask.png\ndamaged.tif,damaged.mask.png\n')
  const left = { data: at('fitting.csv'), validation: at('left.csv'), skipBad: true, steps: 2 } as const
  assert.is((await failureOf(train({ ...options, ...left, onNotice: () => undefined }))).code, 'input')
})

test('of middle crops of which no pixel counts, a sentence before the training', async () => {
  const [height, width] = [48, 64]
  const mask = new Uint8Array(height * width).fill(255)
  mask.fill(1, 0, width)
  writePng(at('edge.mask.png'), mask, { height, width, bitDepth: 8 })
  writeFileSync(at('edge.csv'), 'path,mask\n2.png,edge.mask.png\n')
  const edge = { ...options, data: at('fitting.csv'), validation: at('edge.csv'), steps: 1 } as const
  const steps: number[] = []
  const { code, message } = await failureOf(train({ ...edge, validateOn: 'crop', onStep: ({ step }) => steps.push(step) }))
  assert.equal([code, steps], ['input', []])
  assert.is(
    message,
    'in the crop of 32x32 in the middle of each validation image no pixel counts: give a larger --crop, or --validate-on image'
  )
  assert.is((await valueOf(train(edge))).validations!.length, 1)
  // One image that counts is enough, and the mean is over it alone.
  writeFileSync(at('with-edge.csv'), 'path,mask\n2.png,edge.mask.png\n2.png,2.mask.png\n')
  writeFileSync(at('without.csv'), 'path,mask\n2.png,2.mask.png\n')
  const [mixed, alone] = await Promise.all(
    ['with-edge.csv', 'without.csv'].map(async (name) => {
      const { validations } = await valueOf(train({ ...edge, validation: at(name), validateOn: 'crop', loss: 'dice+cross-entropy' }))
      return validations![0]!
    })
  )
  assert.equal(mixed!.confusion, alone!.confusion)
  assert.ok(Math.abs(mixed!.loss - alone!.loss) < 1e-12, `${mixed!.loss} is not ${alone!.loss}`)
})

test('the table has no measures of an image of which no pixel counts, or whose scores are not finite', async () => {
  writeFileSync(at('empty.csv'), 'path,mask\n0.png,0.mask.png\n2.png,ignored.mask.png\n')
  await trained({ data: at('fitting.csv'), validation: at('empty.csv'), perImage: at('empty-images.csv') })
  const [header, known, empty] = parse(readFileSync(at('empty-images.csv'), 'utf8')) as readonly (readonly string[])[]
  assert.ok(Number(known![2]) > 0)
  assert.equal(empty, [at('2.png'), '0', ...header!.slice(2).map(() => '')])
  const quality = { loss: NaN, accuracy: 1, iou: 1, dice: 1, classIou: [1, null] }
  await valueOf(writeImageTable(at('nan.csv'), ['a', 'b'], [{ path: 'nan.png', pixels: 7, quality }]))
  const [names, row] = parse(readFileSync(at('nan.csv'), 'utf8')) as readonly (readonly string[])[]
  assert.equal(row, ['nan.png', '7', ...names!.slice(2).map(() => '')])
})

test.run()
