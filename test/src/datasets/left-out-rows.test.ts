/** Rows whose image or mask cannot be opened: they end a training, or are left out. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TrainOptions, type TrainReport, train } from '../../../src'
import { loadDataset } from '../../../src/datasets/load-dataset'
import { tilefold } from '../command-line'
import { noise, writeColours } from '../example-images'
import { box, collection, feature } from '../geojson'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const extent = { height: 32, width: 32 } as const

test.before(async () => {
  for (const index of [0, 1, 2]) {
    await writeColours(at(`${index}.png`), noise(32 * 32 * 3, index), extent)
    writePng(
      at(`${index}.mask.png`),
      Array.from({ length: 32 * 32 }, (_, pixel) => (pixel >> (index + 3)) % 2),
      { ...extent, bitDepth: 8 }
    )
  }
  writeFileSync(at('header.png'), readFileSync(at('0.png')).subarray(0, 20))
  writeFileSync(at('none.tif'), 'no image')
})

const csv = (name: string, ...rows: readonly string[]): string => {
  writeFileSync(at(name), `${rows.join('\n')}\n`)
  return at(name)
}

interface Trained {
  readonly report: TrainReport
  readonly notices: readonly string[]
}

const options = { model: small, input: [2, 3, 32, 32], device: 'reference', threads: 1, seed: 3, steps: 2 } as const
const trained = async (more: Partial<TrainOptions> & Pick<TrainOptions, 'data'>): Promise<Trained> => {
  const notices: string[] = []
  const report = await valueOf(train({ ...options, ...more, onNotice: (sentence) => notices.push(sentence) }))
  return { report, notices }
}
const bad = ['absent.png,1', 'header.png,0', 'none.tif,1'] as const

test('images that are absent, or of whose header nothing can be made, are left out of the data, told and counted', async () => {
  const good = csv('good.csv', 'path,label', '0.png,0', '1.png,1', '2.png,0')
  const data = csv('bad.csv', 'path,label', '0.png,0', ...bad, '1.png,1', '2.png,0')
  const { code, message } = await failureOf(train({ ...options, data }))
  assert.is(code, 'input')
  assert.match(message, /^.*bad\.csv line 3: the image .*absent\.png does not exist or may not be read: mend the path/)
  const { report, notices } = await trained({ data, skipBad: true })
  assert.equal(report.skippedFiles, [at('absent.png'), at('header.png'), at('none.tif')])
  assert.equal(report.loss, (await trained({ data: good })).report.loss)
  assert.is(notices.length, 1)
  assert.match(
    notices[0]!,
    /^.*bad\.csv: left out are 3 images that cannot be read \(.*line 3: the image .*absent\.png does not exist .*; the image .*header\.png .*; the image .*none\.tif .*\)$/
  )
  const validated = await trained({ data: good, validation: data, skipBad: true })
  assert.equal(validated.report.validations, (await trained({ data: good, validation: good })).report.validations)
  assert.equal(validated.report.skippedFiles, report.skippedFiles)
})

test('so they are in folders of classes, which stay as many as there are', async () => {
  for (const [name, images] of Object.entries({ a: ['0.png'], b: ['1.png', 'header.png'], c: ['header.png'] })) {
    mkdirSync(at(`folders/${name}`), { recursive: true })
    for (const image of images) copyFileSync(at(image), at(`folders/${name}/${image}`))
  }
  const { classes, examples, names, skippedFiles, leftOut } = await valueOf(loadDataset(at('folders'), { option: '--data', skipBad: true }))
  assert.equal([classes, names, examples.length], [3, ['a', 'b', 'c'], 2])
  assert.equal(skippedFiles, [at('folders/b/header.png'), at('folders/c/header.png')])
  assert.match(leftOut!, /folders: left out are 2 images that cannot be read \(/)
  const labels = csv('labels.csv', 'path,label', '0.png,0', '1.png,1', 'absent.png,2')
  assert.is((await valueOf(loadDataset(labels, { option: '--data', skipBad: true }))).classes, 3)
})

test('an absent mask leaves its image out, of polygons too; polygons that are there are mended, not skipped', async () => {
  writeFileSync(at('0.geojson'), collection(feature('x', box(2, 2, 20, 20)), feature('y', box(20, 20, 30, 30))))
  const rows = ['0.png,0.geojson', '1.png,1.geojson', 'absent.png,0.geojson', '2.png,absent.mask.png'] as const
  const data = csv('masks.csv', 'path,mask', ...rows)
  const masked = { model: segmenting, input: [2, 3, 32, 32], data } as const
  const { report, notices } = await trained({ ...masked, skipBad: true })
  assert.equal(report.skippedFiles, [at('1.geojson'), at('absent.png'), at('absent.mask.png')])
  assert.match(notices[0]!, /left out are 1 image that cannot be read and 2 images whose masks cannot be read \(/)
  for (const classNames of [undefined, ['x', 'y']] as const) {
    const named = { ...masked, ...(classNames && { classNames }) }
    assert.match((await failureOf(train({ ...options, ...named }))).message, /line 3: the annotations .*1\.geojson cannot be read/)
    const only = csv('only.csv', 'path,mask', rows[0])
    assert.equal((await trained({ ...named, skipBad: true })).report.loss, (await trained({ ...named, data: only })).report.loss)
  }
  const crossing = [
    [0, 0],
    [10, 10],
    [10, 0],
    [0, 10]
  ] as const
  writeFileSync(at('1.geojson'), collection(feature('x', crossing)))
  assert.match((await failureOf(train({ ...options, ...masked, skipBad: true }))).message, /line 3: .*crosses itself at x 5, y 5/)
})

test('where all rows are left out, the first failures are those of the training', async () => {
  const { code, message } = await failureOf(train({ ...options, data: csv('all.csv', 'path,label', ...bad), skipBad: true }))
  assert.is(code, 'input')
  assert.match(message, /^.*all\.csv line 2: the image .*absent\.png does not exist .*; the image .*header\.png .*none\.tif /)
})

test('the command names the first of them, and says how many more there are', async () => {
  const absent = Array.from({ length: 12 }, (_, index) => `absent-${index}.png,1`)
  const data = csv('many.csv', 'path,label', '0.png,0', ...absent, '1.png,1')
  const model = join(__dirname, '..', 'small-model.ts')
  const { status, stdout, stderr } = await tilefold([
    'train',
    model,
    '--data',
    data,
    '--steps',
    '1',
    '--skip-bad',
    '--device',
    'reference',
    '--threads',
    '1'
  ])
  assert.is(status, 0, stderr)
  assert.match(stdout, /left out of the data, since they cannot be read: \S*absent-0\.png, .*absent-9\.png and 2 more$/m)
})

test.run()
