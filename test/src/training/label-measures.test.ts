/** What is measured of classes, sets of them and values, by hand and in a training. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, meanSquaredError, model, relu, sigmoid, type Layers } from '../../../dsl'
import { type TrainOptions, predict, train } from '../../../src'
import { measureLabelSets } from '../../../src/metrics/label-sets'
import { measureValues } from '../../../src/metrics/values'
import { noise, writeColours } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const close = (found: number | null | undefined, expected: number, within = 1e-12): void =>
  assert.ok(
    typeof found === 'number' && Math.abs(found - expected) <= within * Math.max(1, Math.abs(expected)),
    `${found} is not ${expected}`
  )

test('sets of labels: decisions, F1 and areas of four images and three classes', () => {
  const values = Float64Array.of(2, -1, -3, 1, 3, -2, -1, -2, -1, -4, 1, -5)
  const targets = [1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0]
  const found = measureLabelSets({ values, targets, classes: 3, threshold: 0 })
  // Class 0: two of three are found, none wrongly. Class 1: one of one is found, and one wrongly.
  assert.equal(found.classF1, [4 / 5, 2 / 3, null])
  close(found.f1, (4 / 5 + 2 / 3) / 2)
  // Wrong are class 0 of the last image, and class 1 of the second.
  close(found.accuracy, 10 / 12)
  // Class 0: 2, 1 and -4 against -1: two of three pairs. Class 1: 1 against -1, 3 and -2.
  assert.equal(found.classAuc, [2 / 3, 2 / 3, null])
  close(found.auc, 2 / 3)
})

test('a score at the threshold is not above it, and probabilities are cut at a half', () => {
  const targets = [1, 0]
  close(measureLabelSets({ values: Float64Array.of(0, 0), targets, classes: 1, threshold: 0 }).accuracy, 1 / 2)
  close(measureLabelSets({ values: Float64Array.of(0.6, 0.4), targets, classes: 1, threshold: 0.5 }).accuracy, 1)
})

test('values: errors and R² of each, and their means', () => {
  const predicted = Float64Array.of(2.5, 7, 0, 7, 2, 7, 8, 6)
  const targets = [3, 5, -0.5, 5, 2, 5, 7, 5]
  const found = measureValues({ predicted, targets, count: 2 })
  // scikit-learn's example of r2_score is the first: 1 - 1.5 / 29.1875.
  close(found.valueMae![0], 0.5)
  close(found.valueR2![0], 1 - 1.5 / 29.1875)
  assert.equal([found.valueMae![1], found.valueR2![1]], [1.75, null])
  close(found.mae, (0.5 + 1.75) / 2)
  close(found.r2, 1 - 1.5 / 29.1875)
})

test('a value that is not known does not count, and the mean of all targets has an R² of 0', () => {
  const found = measureValues({ predicted: Float64Array.of(2, 9, 2), targets: [1, NaN, 3], count: 1 })
  assert.equal([found.mae, found.r2], [1, 0])
})

test('targets that are all one have no R², whatever their mean is rounded to', () => {
  assert.is(measureValues({ predicted: Float64Array.of(1, 2, 3), targets: [0.1, 0.1, 0.1], count: 1 }).r2, null)
})

const side = 16
const sets = [
  [1, 0],
  [1, 1],
  [0, 1],
  [0, 0],
  [0, 1]
] as const
const amounts = [12, -3, 40, 7, 0.5] as const

test.before(async () => {
  for (const image of sets.keys()) {
    const colours = noise(3 * side * side, image)
    await writeColours(
      at(`${image}.png`),
      colours.map((value, index) => (sets[image]![index % 3 === 0 ? 0 : 1] === 1 ? 128 + (value >> 1) : value >> 1)),
      { height: side, width: side }
    )
  }
  writeFileSync(at('sets.csv'), `path,class:x,class:y\n${sets.map(([x, y], image) => `${image}.png,${x},${y}\n`).join('')}`)
  writeFileSync(at('classes.csv'), `path,label\n${sets.map(([, y], image) => `${image}.png,${y}\n`).join('')}`)
  writeFileSync(at('values.csv'), `path,value\n${amounts.map((amount, image) => `${image}.png,${amount}\n`).join('')}`)
})

const body: Layers = [conv2d({ out: 6, k: 3 }), relu, globalAvgPool]
const scoring = (outputs: number, end: Layers = []) =>
  model({ name: 'scoring', input: [2, 3, side, side], layers: [...body, linear({ out: outputs }), ...end] })

const options = {
  ...{ input: [2, 3, side, side], device: 'reference', precision: 'float64', threads: 1, seed: 3, steps: 3, lr: 0.02 },
  save: at('w.safetensors')
} as const satisfies Partial<TrainOptions>

/** The scores of each image by the weights that a training has left, or its values. */
const scoresOf = async (outputs: number, end: Layers = []): Promise<readonly (readonly number[])[]> => {
  const found: (readonly number[])[] = []
  for (const image of sets.keys()) {
    const { scores, values } = await valueOf(
      predict({
        ...{ model: scoring(outputs, end), device: 'reference', precision: 'float64', threads: 1 },
        ...{ weights: at('w.safetensors'), image: at(`${image}.png`) }
      })
    )
    found.push((scores ?? values)!)
  }
  return found
}

test('a training with sets of labels is validated: loss, accuracy, F1 and AUC of its images', async () => {
  const data = at('sets.csv')
  const report = await valueOf(train({ ...options, model: scoring(2), loss: 'binary-cross-entropy', data, validation: data, bestBy: 'f1' }))
  const { loss, accuracy, classF1, classAuc } = report.validations!.at(-1)!
  const scores = await scoresOf(2)
  const expected = measureLabelSets({ values: Float64Array.from(scores.flat()), targets: sets.flat(), classes: 2, threshold: 0 })
  const losses = scores.flatMap((row, image) => row.map((score, one) => Math.log1p(Math.exp(sets[image]![one] === 1 ? -score : score))))
  close(loss, losses.reduce((sum, one) => sum + one) / losses.length, 1e-9)
  assert.equal([accuracy, classF1, classAuc], [expected.accuracy, expected.classF1, expected.classAuc])
  assert.is(report.best!.f1, expected.f1)
})

test('sets of labels of a model whose own loss is of probabilities', async () => {
  const [data, end] = [at('sets.csv'), [sigmoid, meanSquaredError]] as const
  const report = await valueOf(train({ ...options, model: scoring(2, end), data, validation: data }))
  const { loss, accuracy, f1, auc } = report.validations!.at(-1)!
  const values = Float64Array.from((await scoresOf(2, [sigmoid])).flat())
  const targets = sets.flat()
  close(loss, values.reduce((sum, value, index) => sum + (value - targets[index]!) ** 2, 0) / values.length, 1e-9)
  const expected = measureLabelSets({ values, targets, classes: 2, threshold: 0.5 })
  assert.equal([accuracy, f1, auc], [expected.accuracy, expected.f1, expected.auc])
})

test('a training with values is validated: loss, mean absolute error and R²', async () => {
  const data = at('values.csv')
  for (const loss of ['huber:delta=2', undefined] as const) {
    const end = loss === undefined ? [meanSquaredError] : []
    const report = await valueOf(
      train({ ...options, model: scoring(1, end), ...(loss && { loss }), data, validation: data, validateEvery: 1, bestBy: 'mae' })
    )
    const { loss: found, mae, r2, accuracy } = report.validations!.at(-1)!
    const mean = amounts.reduce<number>((sum, one) => sum + one, 0) / amounts.length
    const spread = amounts.reduce<number>((sum, one) => sum + (one - mean) ** 2, 0)
    // R² says the squared error of the images, and so does a loss that is just that.
    assert.is(accuracy, undefined)
    assert.ok(mae! > 0)
    if (loss === undefined) close(found, ((1 - r2!) * spread) / amounts.length, 1e-9)
    const best = report.validations!.reduce((least, one) => (one.mae! < least.mae! ? one : least))
    assert.is(report.best!.step, best.step)
  }
})

test('a validation of many batches, and of a share of the data', async () => {
  const data = at('sets.csv')
  const one = await valueOf(
    train({ ...options, model: scoring(2), input: [1, 3, side, side], loss: 'binary-focal', data, validation: data, steps: 1, lr: 1e-12 })
  )
  const five = await valueOf(
    train({ ...options, model: scoring(2), input: [5, 3, side, side], loss: 'binary-focal', data, validation: data, steps: 1, lr: 1e-12 })
  )
  close(one.validations![0]!.loss, five.validations![0]!.loss, 1e-9)
  assert.equal(one.validations![0]!.classAuc, five.validations![0]!.classAuc)
  const shared = await valueOf(train({ ...options, model: scoring(2), loss: 'binary-focal', data, validation: 0.4, steps: 1 }))
  assert.is(shared.validations!.length, 1)
})

for (const loss of ['cross-entropy:smoothing=0.1', 'focal'])
  test(`${loss} of a validation whose last batch is not full is the mean over its images`, async () => {
    const data = at('classes.csv')
    const validated = async (batch: number): Promise<number> => {
      const input = [batch, 3, side, side] as const
      const report = await valueOf(
        train({ ...options, model: scoring(2), input, loss, data, validation: data, steps: 1, lr: 1e-12, classWeights: [1, 3] })
      )
      return report.validations![0]!.loss
    }
    const expected = await validated(1)
    for (const batch of [2, 3, 4, 7]) close(await validated(batch), expected, 1e-9)
  })

for (const [labels, loss, model] of [
  ['sets', 'binary-cross-entropy', scoring(2)],
  ['values', 'huber', scoring(1)]
] as const)
  test(`${loss}: weights of rows are left out of a validation`, async () => {
    const validated = async (data: string): Promise<number> =>
      (await valueOf(train({ ...options, model, loss, data, validation: data, steps: 1, lr: 1e-12 }))).validations![0]!.loss
    const [header, ...rows] = readFileSync(at(`${labels}.csv`), 'utf8')
      .trim()
      .split('\n')
    writeFileSync(at('weighted.csv'), [`${header},weight`, ...rows.map((row, index) => `${row},${index + 1}`)].join('\n'))
    close(await validated(at('weighted.csv')), await validated(at(`${labels}.csv`)), 1e-9)
  })

test('weights of classes are refused where an image has not one class', async () => {
  for (const [data, model, what] of [
    ['sets.csv', scoring(2), 'sets of classes'],
    ['values.csv', scoring(1), 'values']
  ] as const)
    for (const classWeights of ['balanced', [1, 2]] as const)
      assert.is(
        (await failureOf(train({ ...options, model, loss: 'huber', data: at(data), classWeights }))).message,
        `--class-weights weigh images or pixels of one class each, and the images have ${what}: leave it out, or give the images a column weight`
      )
})

test('what is not measured of such labels is named', async () => {
  const refused = async (data: string, bestBy: NonNullable<TrainOptions['bestBy']>): Promise<string> =>
    (await failureOf(train({ ...options, model: scoring(2), loss: 'binary-cross-entropy', data: at(data), validation: at(data), bestBy })))
      .message
  assert.is(await refused('sets.csv', 'r2'), '--best-by r2 is not measured on such data; take loss, accuracy, auc or f1')
  assert.is(await refused('values.csv', 'f1'), '--best-by f1 is not measured on such data; take loss, mae or r2')
  writeFileSync(at('equal.csv'), 'path,value:a,value:b\n0.png,3,1\n1.png,3,1\n')
  assert.is(
    await refused('equal.csv', 'r2'),
    '--best-by r2 cannot be measured, since all 2 validation images have the same values: add others, or take loss or mae'
  )
})

for (const [kind, column, loss, values] of [
  ['classes', 'label', 'cross-entropy', [0, 1, 1, 0, 1]],
  ['sets of classes', 'labels', 'binary-cross-entropy', ['0', '0;1', '1', '', '1']],
  ['values', 'value', 'huber', amounts]
] as const)
  test(`a validation counts each image once, whatever its weight, and says so: ${kind}`, async () => {
    const write = (name: string, weights?: readonly number[]): string => {
      const rows = values.map((value, image) => `${image}.png,${value}${weights === undefined ? '' : `,${weights[image]}`}\n`)
      writeFileSync(at(name), `path,${column}${weights === undefined ? '' : ',weight'}\n${rows.join('')}`)
      return at(name)
    }
    const validated = async (data: string, validation: string) => {
      const notices: string[] = []
      const report = await valueOf(
        train({
          ...options,
          model: scoring(column === 'value' ? 1 : 2),
          loss,
          data,
          validation,
          onNotice: (sentence) => notices.push(sentence)
        })
      )
      return { measures: report.validations!.at(-1)!, notices: notices.filter((notice) => notice.includes('weight')) }
    }
    const data = write('plain.csv')
    const plain = await validated(data, data)
    assert.equal(plain.notices, [])
    assert.equal((await validated(data, write('ones.csv', [1, 1, 1, 1, 1]))).notices, [])
    const weighted = await validated(data, write('weighted.csv', [3, 0, 0.5, 1, 10]))
    assert.equal(weighted.measures, plain.measures)
    assert.equal(weighted.notices, [
      'the weights of 4 of 5 validation images are left out: they are of the loss that is trained, and a validation counts each image once'
    ])
    const trained = await validated(at('weighted.csv'), data)
    assert.not.equal(trained.measures, plain.measures)
    assert.equal(trained.notices, [])
  })

test.run()
