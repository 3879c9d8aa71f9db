/** Folders of images beside folders of their masks. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readDataset, train } from '../../../src'
import { isMask } from '../../../src/datasets/labels'
import { readMaskFolders } from '../../../src/datasets/mask-folders'
import { writeColours } from '../example-images'
import { box, closed, collection, feature } from '../geojson'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const extent = { height: 24, width: 16 }

const writeImage = (...names: readonly string[]): Promise<unknown> =>
  writeColours(at(...names), new Uint8Array(24 * 16 * 3).fill(90), extent)
const writeMask = (...names: readonly string[]): void =>
  writePng(
    at(...names),
    Uint8Array.from({ length: 24 * 16 }, (_, index) => index % 3),
    { ...extent, bitDepth: 8 }
  )

const makeFolders = (data: string, images = 'images', masks = 'masks'): void => {
  for (const name of [images, masks]) mkdirSync(at(data, name), { recursive: true })
}

const pairsOf = async (path: string): Promise<readonly (readonly [string, string])[]> =>
  (await valueOf(readDataset(path))).examples.map(
    ({ path: image, label }) => [basename(image), isMask(label) ? basename(label.path) : ''] as const
  )

test('images and masks go together by their names, in whatever of the usual folders', async () => {
  makeFolders('data')
  for (const name of ['a', 'b', 'c']) await writeImage('data', 'images', `${name}.png`)
  writeMask('data', 'masks', 'a.png')
  writeMask('data', 'masks', 'b_mask.png')
  writeMask('data', 'masks', 'c.label.png')
  writeFileSync(at('data', 'masks', 'readme.txt'), 'who drew them')
  assert.equal(await pairsOf(at('data')), [
    ['a.png', 'a.png'],
    ['b.png', 'b_mask.png'],
    ['c.png', 'c.label.png']
  ])
  for (const [images, masks] of [
    ['JPEGImages', 'SegmentationClass'],
    ['img_dir', 'ann_dir'],
    ['imgs', 'labels']
  ] as const) {
    makeFolders(masks, images, masks)
    await writeImage(masks, images, 'x.png')
    writeMask(masks, masks, 'x.png')
    assert.equal(await pairsOf(at(masks)), [['x.png', 'x.png']])
  }
  const report = await valueOf(
    train({ model: segmenting, input: [3, 3, 24, 16], data: at('data'), validation: at('data'), device: 'reference', threads: 1, steps: 1 })
  )
  assert.is(
    report.validations![0]!.confusion!.flat().reduce((sum, count) => sum + count, 0),
    3 * 24 * 16
  )
})

test('polygons are masks there, too', async () => {
  makeFolders('drawn', 'images', 'annotations')
  await writeImage('drawn', 'images', 'a.png')
  writeFileSync(at('drawn', 'annotations', 'a.geojson'), collection(feature('tumour', closed(box(2, 2, 8, 8)))))
  const { names, examples } = await valueOf(readDataset(at('drawn')))
  assert.equal([names, examples.length], [['tumour'], 1])
})

test('what has no partner, or several, is named', async () => {
  makeFolders('lacking')
  await writeImage('lacking', 'images', 'a.png')
  await writeImage('lacking', 'images', 'b.png')
  writeMask('lacking', 'masks', 'a.png')
  const { code, message } = await failureOf(readDataset(at('lacking')))
  assert.is(code, 'input')
  assert.match(message, /images\/b\.png has no mask in .*masks: add b\.png there, or leave the image out$/)
  writeMask('lacking', 'masks', 'b.png')
  writeMask('lacking', 'masks', 'b_mask.png')
  assert.match(
    (await failureOf(readDataset(at('lacking')))).message,
    /images\/b\.png has the masks b\.png and b_mask\.png in .*: leave one$/
  )
  rmSync(at('lacking', 'masks', 'b.png'))
  writeMask('lacking', 'masks', 'c.png')
  assert.match(
    (await failureOf(readDataset(at('lacking')))).message,
    /masks\/c\.png is the mask of no image in .*images: add the image, or leave the mask out$/
  )
  makeFolders('empty')
  assert.match((await failureOf(readDataset(at('empty')))).message, /names no images/)
})

test('thousands of images are paired in no more than seconds', async () => {
  makeFolders('many')
  for (let one = 0; one < 6000; one += 1) {
    writeFileSync(at('many', 'images', `${one}.png`), '')
    writeFileSync(at('many', 'masks', `${one}${one % 2 === 0 ? '' : '_mask'}.png`), '')
  }
  const before = process.cpuUsage()
  const rows = (await valueOf(readMaskFolders(at('many'))))!
  const { user } = process.cpuUsage(before)
  assert.is(rows.length, 6000)
  assert.ok(user < 5e6, `${user / 1e6} s`)
})

test('a folder beside those of images and masks is refused, since they would be taken for classes', async () => {
  makeFolders('overlaid')
  mkdirSync(at('overlaid', '.cache'))
  await writeImage('overlaid', 'images', 'a.png')
  writeMask('overlaid', 'masks', 'a.png')
  assert.equal(await pairsOf(at('overlaid')), [['a.png', 'a.png']])
  mkdirSync(at('overlaid', 'overlays'))
  await writeImage('overlaid', 'overlays', 'a.png')
  const { code, message } = await failureOf(readDataset(at('overlaid')))
  assert.is(code, 'input')
  assert.match(
    message,
    /overlaid has overlays beside images and masks, which must stand alone: move it elsewhere, or name images and masks in a CSV file$/
  )
})

test('other folders are classes', async () => {
  makeFolders('classes', 'images', 'other')
  await writeImage('classes', 'images', 'a.png')
  await writeImage('classes', 'other', 'a.png')
  const { names, examples } = await valueOf(readDataset(at('classes')))
  assert.equal(
    [names, examples.map(({ label }) => label)],
    [
      ['images', 'other'],
      [0, 1]
    ]
  )
})

for (const [data, open, shut] of [
  ['closed', 'images', 'masks'],
  ['closed-class', 'x', 'y']
] as const)
  test(`a folder of ${shut} that cannot be read is named, not the one that it is in`, async () => {
    makeFolders(data, open, shut)
    await writeImage(data, open, 'a.png')
    const isRoot = process.getuid?.() === 0
    chmodSync(at(data, shut), 0)
    // No mode binds root.
    if (isRoot) [folder, at(data), at(data, open)].forEach((path) => chmodSync(path, 0o755))
    if (isRoot) process.seteuid!(65534)
    const { message } = await failureOf(readDataset(at(data)))
    if (isRoot) process.seteuid!(0)
    chmodSync(at(data, shut), 0o755)
    assert.is(message, `the folder ${at(data, shut)} cannot be read: permission denied`)
  })

test.run()
