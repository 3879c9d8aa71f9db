/**
 * Predictions of many images: of a folder or a CSV, by one plan an extent, bad ones left out.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Planned, predict, train } from '../../../src'
import { compiledCommand } from '../compiled-command'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)

const write = (name: string, height: number, width: number, seed: number): Promise<unknown> =>
  writeColours(at(name), noise(height * width * 3, seed), { height, width })

const common = { device: 'reference', threads: 1 } as const
const scoring = { ...common, model: small, weights: at('small.safetensors') }
const labelling = { ...common, model: segmenting, weights: at('pixels.safetensors') }

test.before(async () => {
  for (const name of ['images', 'images/below', 'images/.hidden']) mkdirSync(at(name))
  await write('images/a.png', 32, 32, 1)
  await write('images/b.png', 40, 32, 2)
  await write('images/below/c.png', 32, 32, 3)
  await write('images/.hidden/d.png', 32, 32, 4)
  writeFileSync(at('images/notes.txt'), 'no image')
  writeFileSync(at('train.csv'), 'images/a.png,0\nimages/b.png,1\n')
  writeFileSync(at('cut.png'), readFileSync(at('images/a.png')).subarray(0, 200))
  writeFileSync(at('bad.csv'), 'path\nimages/a.png\ncut.png\nnowhere.png\nimages/b.png\n')
  const training = { ...common, steps: 1, seed: 1 }
  await valueOf(train({ ...training, model: small, input: [2, 3, 32, 32], data: at('train.csv'), save: at('small.safetensors') }))
  writePng(at('mask.png'), Buffer.alloc(32 * 32, 1), { height: 32, width: 32, bitDepth: 8 })
  writeFileSync(at('masks.csv'), 'images/a.png,mask.png\nimages/a.png,mask.png\n')
  await valueOf(train({ ...training, model: segmenting, data: at('masks.csv'), save: at('pixels.safetensors') }))
})

test('a folder: each image scores as it does alone, planned once an extent, and the CSV holds all', async () => {
  const plans: Planned[] = []
  const seen: string[] = []
  const report = await valueOf(
    predict({
      ...scoring,
      data: at('images'),
      out: at('scores.csv'),
      classNames: ['healthy, or so', 'tumour', 'tumour=T'],
      onPlan: (planned) => plans.push(planned),
      onImage: ({ path }) => seen.push(path)
    })
  )
  const names = ['a.png', 'b.png', 'below/c.png'].map((name) => at('images', name))
  assert.equal(
    report.images!.map(({ path }) => path),
    names
  )
  assert.is(plans.length, 2)
  assert.equal([...seen].sort(), names)
  const rows = parse(readFileSync(at('scores.csv'))) as readonly (readonly string[])[]
  assert.equal(rows[0], ['path', 'class', 'probability of healthy, or so', 'probability of tumour'])
  for (const [index, path] of names.entries()) {
    const alone = await valueOf(predict({ ...scoring, image: path }))
    assert.equal(report.images![index]!.scores, alone.scores)
    const [name, label, first, second] = rows[index + 1]!
    assert.equal([name, label], [path, ['healthy, or so', 'tumour'][alone.class!]])
    const [one, other] = alone.scores as readonly [number, number]
    assert.ok(Math.abs(Number(first) - 1 / (1 + Math.exp(other - one))) < 1e-6)
    assert.ok(Math.abs(Number(first) + Number(second) - 1) < 1e-9)
  }
})

test('masks of a list go to a folder, under the names of their images', async () => {
  writeFileSync(at('list.csv'), 'case,path\n1,images/b.png\n2,images/below/c.png\n')
  const report = await valueOf(predict({ ...labelling, data: at('list.csv'), out: at('masks'), formats: ['png', 'tif'] }))
  assert.equal(readdirSync(at('masks', 'images'), { recursive: true }).map(String).sort(), [
    'b.png',
    'b.tif',
    'below',
    'below/c.png',
    'below/c.tif'
  ])
  assert.equal(report.images![0]!.files, [at('masks/images/b.png'), at('masks/images/b.tif')])
  const alone = await valueOf(predict({ ...labelling, image: at('images/b.png'), out: at('alone.png') }))
  assert.equal(alone.pixels, report.images![0]!.pixels)
  assert.equal(readFileSync(at('alone.png')), readFileSync(at('masks/images/b.png')))
})

test('of images beside masks the images are predicted alone, and it is told how far that is', async () => {
  for (const name of ['pairs', 'pairs/images', 'pairs/masks']) mkdirSync(at(name))
  for (const name of ['a', 'b']) {
    writeFileSync(at(`pairs/images/${name}.png`), readFileSync(at('images/a.png')))
    writeFileSync(at(`pairs/masks/${name}.png`), readFileSync(at('mask.png')))
  }
  const told: (readonly [done: number, total: number])[] = []
  const onPredicting = (done: number, total: number) => void told.push([done, total])
  const report = await valueOf(predict({ ...labelling, data: at('pairs'), out: at('found'), onPredicting }))
  assert.equal(
    report.images!.map(({ path }) => path),
    [at('pairs/images/a.png'), at('pairs/images/b.png')]
  )
  assert.equal(told, [
    [1, 2],
    [2, 2]
  ])
})

test('a loss that is not what the weights say is told', async () => {
  const notices: string[] = []
  const save = at('focal.safetensors')
  await valueOf(train({ ...common, steps: 1, model: small, input: [2, 3, 32, 32], data: at('train.csv'), loss: 'focal', save }))
  const asked = { ...scoring, weights: save, image: at('images/a.png'), onNotice: (sentence: string) => void notices.push(sentence) }
  await valueOf(predict({ ...asked, loss: 'focal' }))
  assert.equal(notices, [])
  await valueOf(predict({ ...asked, loss: 'binary-cross-entropy' }))
  assert.equal(notices, [`${save} were trained by focal, and are read as of --loss binary-cross-entropy`])
})

test('a bad image ends the run, or is left out and counted', async () => {
  const options = { ...scoring, data: at('bad.csv') }
  assert.match((await failureOf(predict(options))).message, /nowhere\.png cannot be read: no such file/)
  const said: string[] = []
  const report = await valueOf(predict({ ...options, skipBad: true, onNotice: (sentence) => said.push(sentence) }))
  assert.equal(
    report.images!.map(({ path }) => path),
    [at('images/a.png'), at('images/b.png')]
  )
  assert.equal(
    report.skipped!.map(({ path }) => path),
    [at('cut.png'), at('nowhere.png')]
  )
  assert.is(said.length, 2)
  assert.match(said[1]!, /cut\.png cannot be read: .*; .*cut\.png is left out$/)
  // Where nothing remains, that is a failure.
  writeFileSync(at('none.csv'), 'nowhere.png\n')
  assert.match((await failureOf(predict({ ...options, data: at('none.csv'), skipBad: true }))).message, /nowhere\.png cannot be read/)
})

test('what cannot be is refused in a sentence', async () => {
  mkdirSync(at('empty'))
  writeFileSync(at('gap.csv'), 'path,case\nimages/a.png,1\n,2\n')
  writeFileSync(at('endings.csv'), 'alike/a.png\nalike/a.jpg\n')
  mkdirSync(at('alike'))
  for (const name of ['a.png', 'a.jpg']) writeFileSync(at(`alike/${name}`), readFileSync(at('images/a.png')))
  writeFileSync(at('twice.csv'), 'images/a.png\nimages/a.png\n')
  for (const [options, sentence] of [
    [{ ...scoring }, /^image is missing: give one, or with --data a folder of images or a CSV file of their paths$/],
    [{ ...scoring, image: at('images/a.png'), data: at('images') }, /^--image and --data both say what is predicted: give one$/],
    [{ ...scoring, data: at('empty') }, /empty: has no images; give a folder of \.png, /],
    [{ ...scoring, data: at('gap.csv') }, /gap\.csv line 3: has no path of an image$/],
    [{ ...scoring, data: at('images'), out: at('folder') }, /scores whole images, which are written to a \*\.csv: name one as --out$/],
    [{ ...scoring, data: at('images'), classNames: ['one'] }, /^--class-names names 1 classes, but the model has 2$/],
    [{ ...labelling, data: at('images') }, /scores every pixel: give --out, a folder of masks$/],
    [
      { ...labelling, data: at('images'), out: at('masks.tif') },
      /masks\.tif: with --data it is a folder of masks, .* give a name without \.tif$/
    ],
    [
      { ...labelling, image: at('images/a.png'), out: at('x.png'), palette: true },
      /^--palette is of a \*\.tif, and none is written: leave it out, or give --out \*\.tif$/
    ],
    [
      { ...scoring, data: at('images'), background: '0' },
      /^--background is of a \*\.geojson, and none is written: .* --out and --formats geojson$/
    ],
    [
      { ...labelling, data: at('endings.csv'), out: at('endings') },
      /alike\/a\.png and .*alike\/a\.jpg would both be written to .*endings\/.*a\.tif: rename one, or predict it by itself$/
    ],
    [
      { ...labelling, data: at('twice.csv'), out: at('twice') },
      /^\S*images\/a\.png stands in the list twice, and would be written to \S*twice\/\S*a\.tif twice: leave one out$/
    ]
  ] as const)
    assert.match((await failureOf(predict(options))).message, sentence)
})

test('on the command line: a line for all, and without a file a line for each', async () => {
  const { runInTurn: run, smallModel } = compiledCommand()
  const args = ['predict', smallModel, '--device', 'reference', '--weights', at('small.safetensors')]
  const { status, stdout, stderr } = await run([...args, '--data', at('bad.csv'), '--skip-bad', '--out', at('line.csv')])
  assert.is(status, 0, stderr)
  assert.match(stdout, /^2 images, 2 left out, in .*; results are in .*line\.csv$/m)
  const each = await run([...args, '--data', at('images')])
  assert.is(each.status, 0, each.stderr)
  for (const name of ['a', 'b', 'below/c']) assert.match(each.stdout, new RegExp(`${at('images', name)}\\.png *│ [01] +│ [\\d.]+%`))
})

test.run()
