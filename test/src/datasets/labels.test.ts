/** Data files: columns, names of classes, splits, weights, sets of classes and values. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, meanSquaredError, model, named, relu, sigmoid } from '../../../dsl'
import { type ReadDatasetOptions, type TrainOptions, readDataset, train } from '../../../src'
import { checkLabels } from '../../../src/datasets/dataset'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const write = (text: string, name = 'data.csv'): string => (writeFileSync(at(name), text), at(name))
const read = (text: string, options: ReadDatasetOptions = {}) => readDataset(write(text), '--data', options)

test.before(async () => {
  mkdirSync(at('slides'))
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    const colour = { r: 80 * index, g: 200 - 90 * index, b: 30 }
    for (const path of [`${name}.png`, join('slides', `${name}.svs.png`)])
      await sharp({ create: { width: 20, height: 18, channels: 3, background: colour } })
        .png()
        .toFile(at(path))
  }
})

test('labels are names of a class list, under what files call them, in any order of columns', async () => {
  const { examples, classes, names } = await valueOf(
    read('weight,label,path\n2,T,a.png\n0.5,healthy,b.png\n1,tumour,c.png\n', { classNames: 'healthy,tumour,tumour=T' })
  )
  assert.equal(
    examples.map(({ label, weight }) => [label, weight]),
    [
      [1, 2],
      [0, 0.5],
      [1, 1]
    ]
  )
  assert.equal([classes, names], [2, ['healthy', 'tumour']])
})

test('folders are numbered by a class list, and those that it lacks are named', async () => {
  for (const name of ['healthy', 'tumour']) {
    mkdirSync(at('tree', name), { recursive: true })
    await sharp(at('a.png')).toFile(at('tree', name, 'a.png'))
  }
  const { examples, names } = await valueOf(readDataset(at('tree'), '--data', { classNames: ['tumour', 'healthy', 'other'] }))
  assert.equal(names, ['tumour', 'healthy', 'other'])
  assert.equal(
    examples.map(({ label }) => label),
    [1, 0]
  )
  assert.match(
    (await failureOf(readDataset(at('tree'), '--data', { classNames: 'tumour' }))).message,
    /tree: the folder "healthy" is none of the classes tumour: add it to --class-names, or move it$/
  )
})

test('sets of classes: a list in one column, or a column each', async () => {
  const expected = [{ classes: [0, 2] }, { classes: [] }, { classes: [1] }]
  for (const [text, options] of [
    ['path,labels\na.png,2;0\nb.png,\nc.png,1;1\n', {}],
    ['path,labels\na.png,x; z\nb.png,\nc.png,y\n', { classNames: 'x,y,z' }],
    ['path,class:x,class:y,class:z\na.png,1,0,1\nb.png,0,0,0\nc.png,0,1,0\n', {}],
    ['path,class:z,class:y,class:x\na.png,1,0,1\nb.png,0,0,0\nc.png,0,1,0\n', { classNames: 'x,y,z' }]
  ] as const) {
    const dataset = await valueOf(read(text, options))
    assert.equal(
      dataset.examples.map(({ label }) => label),
      expected
    )
    assert.is(dataset.classes, 3)
    assert.ok(E.isLeft(checkLabels(2)(dataset)))
  }
})

test('values are numbers of one column or several', async () => {
  const { examples, classes, names } = await valueOf(read('path,value:age,value:size\na.png,61.5,-3\nb.png,1e3,0\n'))
  assert.equal(
    examples.map(({ label }) => label),
    [{ values: [61.5, -3] }, { values: [1000, 0] }]
  )
  assert.equal([classes, names], [2, ['age', 'size']])
})

test('a split takes its rows, and says what it leaves', async () => {
  const text = 'path,label,split\na.png,0,train\nb.png,1,val\nc.png,1,TEST\n'
  const pathsOf = async (options: ReadDatasetOptions) => (await valueOf(read(text, options))).examples.map(({ path }) => path)
  assert.equal(await pathsOf({ split: 'train' }), [at('a.png')])
  assert.equal(await pathsOf({ split: 'validation' }), [at('b.png')])
  assert.equal(await pathsOf({}), [at('a.png'), at('b.png'), at('c.png')])
  assert.match((await valueOf(read(text, { split: 'train' }))).leftOut ?? '', /left out are 2 rows whose split is validation or test$/)
})

test('slides by name, under a root and with a suffix', async () => {
  const { examples } = await valueOf(read('path,label\na,0\nb.svs.png,1\n', { root: at('slides'), suffix: '.svs.png' }))
  assert.equal(
    examples.map(({ path }) => path),
    [at('slides', 'a.svs.png'), at('slides', 'b.svs.png')]
  )
  assert.match(
    (await failureOf(readDataset(at('tree'), '--data', { root: at('slides') }))).message,
    /^--root is for rows of a CSV file, but --data .*tree is a folder: leave it out$/
  )
})

const rejected: readonly (readonly [text: string, sentence: RegExp, options?: ReadDatasetOptions])[] = [
  ['path,lable\na.png,0\n', /line 1: no column is called "lable": columns are path, label, labels, .*; did you mean label\?$/],
  ['path\na.png\n', /line 1: no column says what an image is: give label, labels, mask, value, or class:NAME for each class$/],
  ['path,label,mask\na.png,0,b.png\n', /line 1: the columns label and mask both say what an image is: give one$/],
  ['path,label,label\na.png,0,0\n', /line 1: the column label stands there twice$/],
  ['path,mask,weight\na.png,b.png,1\n', /line 1: rows with masks have no weight: leave the column out, or give --class-weights$/],
  ['path,label,weight\na.png,0,-1\n', /line 2: the weight "-1" is not a number from 0 upwards$/],
  ['path,label,split\na.png,0,constructor\n', /line 2: the split "constructor" is none of train, validation, test$/],
  ['path,label,split\na.png,0,best\n', /line 2: the split "best" is none of train, validation, test$/],
  ['path,label,split\na.png,0\n', /line 2: "a\.png,0" is not path,label,split$/],
  ['path,value\na.png,tall\n', /line 2: "tall" in the column value is no number$/],
  ['path,class:x\na.png,2\n', /line 2: "2" in the column class:x is neither 1 nor 0$/],
  [
    'path,label\na.png,x\nb.png,w\n',
    /line 3: the label "w" is none of the classes x, y: mend it, or add it to --class-names$/,
    { classNames: 'x,y' }
  ],
  ['path,labels\na.png,x;w\n', /line 2: the label "w" is none of the classes x, y:/, { classNames: 'x,y' }],
  ['path,class:w\na.png,1\n', /line 1: the label "w" is none of the classes x, y:/, { classNames: 'x,y' }],
  [
    'path,label\na.png,w\n',
    /line 2: the label "w" is ignored by --class-names, which only pixels can be: leave the row out$/,
    { classNames: 'x,ignored=w' }
  ],
  [
    'path,label\nz,0\n',
    /line 2: the image .*slides\/z\.png does not exist or may not be read: mend the path \(--root and --suffix complete it\), or leave the row out$/,
    { root: 'slides', suffix: '.png' }
  ],
  ['path,label\na.png,0\n', /^--unannotated x is for masks of polygons, which --data has not: leave it out$/, { unannotated: 'x' }],
  ['path,label\na.png,0\n', /^classNames: "x" stands there twice$/, { classNames: 'x,y=x' }],
  ['path,label\na.png,0\n', /^classNames: one of the names is empty$/, { classNames: 'x,' }],
  ['path,label\na.png,0\n', /^classNames: it names no class$/, { classNames: 'ignored' }]
]

for (const [text, sentence, options] of rejected)
  test(`refused: ${JSON.stringify(text)}, ${sentence.source.slice(0, 60)}`, async () => {
    const failure = await failureOf(read(text, { ...options, ...(options?.root === undefined ? {} : { root: at(options.root) }) }))
    assert.is(failure.code, 'input')
    assert.match(failure.message, sentence)
  })

const options = { model: small, input: [2, 3, 16, 16], device: 'reference', threads: 1, seed: 3, steps: 4, lr: 0.1 } as const
const losses = async (data: string, more: Partial<TrainOptions> = {}) => (await valueOf(train({ ...options, data, ...more }))).loss

test('weights of rows: twice the weight is the row twice in the mean, and those of classes multiply', async () => {
  const rows = (weights: readonly number[]): string =>
    `path,label,weight\n${['a', 'b'].map((name, index) => `${name}.png,${index},${weights[index]}`).join('\n')}\n`
  const plain = await losses(write('path,label\na.png,0\nb.png,1\n', 'plain.csv'))
  assert.equal(await losses(write(rows([1, 1]), 'ones.csv')), plain)
  assert.equal(await losses(write(rows([3, 3]), 'threes.csv')), plain)
  const weighted = await losses(write(rows([1, 3]), 'weighted.csv'))
  assert.not.equal(weighted, plain)
  assert.equal(weighted, await losses(at('plain.csv'), { classWeights: [1, 3] }))
  assert.equal(await losses(at('weighted.csv'), { classWeights: [3, 1] }), plain)
})

const ofNumbers = (outputs: number) =>
  model({
    name: 'numbers',
    input: [2, 3, 16, 16],
    layers: [
      named('conv', conv2d({ out: 8, k: 3 })),
      relu,
      globalAvgPool,
      named('out', linear({ out: outputs })),
      sigmoid,
      meanSquaredError
    ]
  })

test('values, and sets of classes, train a model that ends in a loss of numbers', async () => {
  const data = write('path,value\na.png,0.2\nb.png,0.9\n', 'values.csv')
  const found = await losses(data, { model: ofNumbers(1), steps: 60, lr: 2 })
  assert.ok(found.at(-1)! < 0.5 * found[0]!, `${found[0]} to ${found.at(-1)}`)
  const sets = write('path,labels\na.png,0;1\nb.png,1\n', 'sets.csv')
  const asValues = write('path,value:x,value:y\na.png,1,1\nb.png,0,1\n', 'as-values.csv')
  assert.equal(await losses(sets, { model: ofNumbers(2) }), await losses(asValues, { model: ofNumbers(2) }))
  const refused = async (more: Partial<TrainOptions>) => (await failureOf(train({ ...options, data, ...more }))).message
  assert.match(
    await refused({}),
    /^small does not end in 1 value an image and a loss of numbers, which values train; end it in \[B, 1\], and give --loss mean-squared-error$/
  )
  assert.match(await refused({ model: ofNumbers(2) }), /^numbers does not end in 1 value an image .* train; end it in \[B, 1\]$/)
})

test('a data file with a split trains on one part and validates on another', async () => {
  const data = write('path,label,split\na.png,0,train\nb.png,1,train\nc.png,1,validation\na.png,0,validation\n', 'split.csv')
  const notices: string[] = []
  const { validations, loss } = await valueOf(train({ ...options, data, validation: data, onNotice: (sentence) => notices.push(sentence) }))
  assert.equal(loss, await losses(at('plain.csv'), { validation: at('plain.csv') }))
  assert.ok(validations!.length > 0)
  assert.match(notices.join('\n'), /split\.csv: left out are 2 rows whose split is validation/)
})

test.run()
