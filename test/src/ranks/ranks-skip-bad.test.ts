/** Ranks that train on images of which some cannot be read, with --skip-bad: all go on alike. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TrainReport, train } from '../../../src'
import type { TrainOptions } from '../../../src/option-tables/train-options'
import { must } from '../../must'
import { noise } from '../example-images'
import { writePng } from '../image-files'
import { valueOf } from '../outcome'
import { assertCloseLosses, classifierOptions, failuresOf, trainOnRanks } from './rank-trainings'
import { skipping } from '../masked-images'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const side = 256
const options = classifierOptions(at('images.csv'))

/** Of a copy of an image the tiles of a part of its bytes begin as no JPEG does. */
const damage = (from: string, to: string, first: number, last: number): void => {
  const bytes = readFileSync(from)
  const start = Buffer.from([0xff, 0xd8, 0xff])
  for (let at = bytes.indexOf(start, bytes.length * first); at >= 0 && at < bytes.length * last; at = bytes.indexOf(start, at))
    bytes.fill(0, at, at + start.length)
  writeFileSync(to, bytes)
}

test.before(async () => {
  mkdirSync(at('second'))
  for (const [index, name] of ['good.tif', 'other.tif'].entries()) {
    await sharp(noise(side * side * 3, index), { raw: { height: side, width: side, channels: 3 } })
      .tiff({ compression: 'jpeg', tile: true, tileWidth: 32, tileHeight: 32 })
      .toFile(at(name))
    const classes = Uint8Array.from({ length: side * side }, (_, pixel) => (pixel % 7 < index + 2 ? 255 : pixel % 3))
    writePng(at(`${name}.png`), classes, { height: side, width: side, bitDepth: 8 })
  }
  damage(at('other.tif'), at('damaged.tif'), 0.3, 0.7)
  copyFileSync(at('other.tif.png'), at('damaged.tif.png'))
  writeFileSync(at('images.csv'), 'path,label\ngood.tif,0\ndamaged.tif,1\n')
  writeFileSync(at('three.csv'), 'path,label\ngood.tif,0\ndamaged.tif,1\nother.tif,1\n')
  writeFileSync(at('masks.csv'), 'path,mask\ngood.tif,good.tif.png\ndamaged.tif,damaged.tif.png\n')
  copyFileSync(at('good.tif'), at('second/good.tif'))
  copyFileSync(at('damaged.tif'), at('second/other.tif'))
  for (const list of ['both.csv', 'second/both.csv']) writeFileSync(at(list), 'path,label\ngood.tif,0\nother.tif,1\n')
  damage(at('good.tif'), at('hopeless.tif'), 0.05, 0.95)
  writeFileSync(at('hopeless.csv'), 'path,label\nhopeless.tif,0\nhopeless.tif,1\n')
})

/** The reports of all ranks, each with what it says. */
const trained = async (size: number, of: (rank: number) => Partial<TrainOptions>) => {
  const notices = Array.from({ length: size }, (): string[] => [])
  const ended = await trainOnRanks(size, (rank) =>
    options({ skipBad: true, ...of(rank), onNotice: (sentence) => notices[rank]!.push(sentence) })
  )
  return { reports: ended.map(must), notices }
}

const counted = ({ loss, validations, skippedCrops, skippedCropsOf, skippedImages }: TrainReport) => ({
  ...{ loss, validations, skippedCrops, skippedCropsOf, skippedImages }
})

for (const [name, sizes, more] of [
  ['images, and the crops in the middle of others', [2, 4], { validation: at('three.csv') }],
  [
    'masks, of which whole images are validated',
    [4],
    { model: skipping, data: at('masks.csv'), validation: at('masks.csv'), validateOn: 'image', input: [2, 3, 32, 32] }
  ]
] as const)
  test(`crops that cannot be read are drawn anew to the same bits on one rank as on more: ${name}`, async () => {
    const run = async (size: number) => {
      const save = at(`${size}.safetensors`)
      const { reports, notices } = await trained(size, () => ({ ...more, save }))
      for (const report of reports) assert.equal(counted(report), counted(reports[0]!))
      for (const said of notices) assert.equal(said, notices[0])
      // Of a tile that is none, the decoder says one thing or another.
      const said = notices[0]!.map((sentence) => sentence.replace(/(columns \d+ to \d+): [^;]*;/, '$1;')).sort()
      return { report: reports[0]!, said, bytes: readFileSync(save) }
    }
    const one = await run(1)
    assert.ok(one.report.skippedCrops! > 0)
    assert.equal(one.report.skippedCropsOf, [at('damaged.tif')])
    assert.equal(one.report.skippedImages, [at('damaged.tif')])
    assert.is(one.said.filter((sentence) => /another crop is drawn$/.test(sentence)).length, 1)
    assert.is(one.said.filter((sentence) => /is left out of validation$/.test(sentence)).length, 1)
    const alone = await valueOf(train(options({ skipBad: true, ...more, onNotice: () => undefined })))
    assert.is(alone.skippedCrops, one.report.skippedCrops)
    for (const size of sizes) {
      const several = await run(size)
      assert.equal(counted(several.report), counted(one.report))
      assert.equal(several.said, one.said)
      assert.ok(several.bytes.equals(one.bytes), `other weights on ${size} ranks`)
    }
  })

for (const [what, sharing] of [
  ['rows', { shardRows: true }],
  ['images, of which each reads its own', { shardImages: true }]
] as const)
  test(`ranks that share ${what} draw alike, and count a crop once`, async () => {
    const { reports } = await trained(2, () => ({ ...sharing, device: 'reference', accumulate: 2, input: [2, 3, 64, 64] }))
    assert.equal(counted(reports[1]!), counted(reports[0]!))
    const [alone] = (await trained(1, () => ({ device: 'reference', accumulate: 2, input: [2, 3, 64, 64] }))).reports
    assert.ok(alone!.skippedCrops! > 0)
    assert.is(reports[0]!.skippedCrops, alone!.skippedCrops)
    assertCloseLosses(reports[0]!.loss, alone!.loss)
  })

test('groups of ranks that share rows draw as one group does, and count a crop once', async () => {
  const on = (size: number) => trained(size, () => ({ shardRows: 2, input: [2, 3, 64, 64] }))
  const [one, two] = [await on(2), await on(4)]
  assert.ok(one.reports[0]!.skippedCrops! > 0)
  for (const report of two.reports) assert.equal(counted(report), counted(one.reports[0]!))
  for (const said of two.notices) assert.equal(said, two.notices[0])
})

for (const shardRows of [false, true])
  test(`where one rank alone cannot read its copy all draw what it can read${shardRows ? ', of rows that they share' : ''}`, async () => {
    const { reports, notices } = await trained(2, (rank) => ({ shardRows, data: at(rank === 1 ? 'second/both.csv' : 'both.csv') }))
    assert.equal(counted(reports[1]!), counted(reports[0]!))
    assert.ok(reports[0]!.skippedCrops! > 0)
    assert.equal(reports[0]!.skippedCropsOf, [at('second/other.tif')])
    assert.equal(notices[1], notices[0])
    if (!shardRows) return
    // As if the first rank's copy were as damaged: another draw for one is another for both.
    const [both] = (await trained(2, () => ({ shardRows, data: at('second/both.csv') }))).reports
    assert.equal(both!.loss, reports[0]!.loss)
  })

test('where nothing can be read all ranks end with one sentence', async () => {
  const failures = failuresOf(await trainOnRanks(2, () => options({ skipBad: true, data: at('hopeless.csv'), onNotice: () => undefined })))
  assert.match(failures[0]!.message, /hopeless\.tif cannot be read at rows/)
  assert.is(failures[1]!.message, failures[0]!.message)
  const validated = failuresOf(
    await trainOnRanks(2, () => options({ skipBad: true, validation: at('hopeless.csv'), onNotice: () => undefined }))
  )
  assert.match(validated[0]!.message, /hopeless\.tif cannot be read at rows/)
  assert.is(validated[1]!.message, validated[0]!.message)
})

test.run()
