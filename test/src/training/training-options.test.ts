/** What the options of training make of their texts, and the functions behind them. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Dataset } from '../../../src/datasets/dataset'
import { createAugmenter, colourMatrix, parseColourJitter } from '../../../src/training/batches/augmentation'
import { splitIntoBatches } from '../../../src/training/batches/batches'
import { parseClassWeights } from '../../../src/options/class-weights'
import { checkRowWeights, countLabelsByClass, rowWeights, resolveClassWeights } from '../../../src/training/loss/class-weights'
import { parseGroup } from '../../../src/training/parameter-groups'
import { parseFraction } from '../../../src/options/sizes'
import { splitForValidation, splitDataset } from '../../../src/training/validation/validation-split'

const rightOf = <A>(result: E.Either<unknown, A>): A => {
  if (E.isLeft(result)) throw new Error(JSON.stringify(result.left))
  return result.right
}

const dataset = (...labels: readonly number[]): Dataset => ({
  examples: labels.map((label, index) => ({ path: `${index}.png`, label, origin: 'here' })),
  classes: Math.max(...labels) + 1
})

test('texts of options', () => {
  assert.equal(rightOf(parseColourJitter('0.2,0,1,0.5')), { brightness: 0.2, contrast: 0, saturation: 1, hue: 0.5 })
  for (const text of ['', '0.2', '0.2,0.2,0.2,0.6', '1.1,0,0,0', '0,0,0,-0.1', '0,0,,0', 'a,b,c,d', '0,0,0,0,0'])
    assert.match((parseColourJitter(text) as E.Left<string>).left, /is not brightness,contrast,saturation,hue/)
  assert.equal(rightOf(parseClassWeights('balanced')), 'balanced')
  assert.equal(rightOf(parseClassWeights('1,2.5,0')), [1, 2.5, 0])
  for (const text of ['', '1,', '-1,2', 'even']) assert.match((parseClassWeights(text) as E.Left<string>).left, /is not class weights/)
  assert.equal(rightOf(parseGroup('features.0:rate=0.1,decay=0')), { prefix: 'features.0', rate: 0.1, weightDecay: 0 })
  assert.equal(rightOf(parseGroup(':decay=0.5')), { prefix: '', weightDecay: 0.5 })
  for (const text of ['features', 'features:', 'features:rate', 'features:rate=', 'features:speed=1', 'features:rate=-1'])
    assert.match((parseGroup(text) as E.Left<string>).left, /is not a group of parameters: write PREFIX:rate=FACTOR/)
  assert.equal(['0.2', '20%', '.5', '0', '1', '100%', 'images', '0.2.1'].map(parseFraction), [
    0.2,
    0.2,
    0.5,
    ...new Array(5).fill(undefined)
  ])
})

test('a share of each class is set aside, the same each time, another under another seed', () => {
  const whole = dataset(...new Array<number>(20).fill(0), ...new Array<number>(10).fill(1), 2, 2, 3)
  const { training, validation } = rightOf(splitDataset(whole, 0.2, 5))
  const counts = (part: Dataset | undefined): readonly number[] =>
    [0, 1, 2, 3].map((wanted) => part!.examples.filter(({ label }) => label === wanted).length)
  assert.equal(
    [counts(training), counts(validation)],
    [
      [16, 8, 1, 1],
      [4, 2, 1, 0]
    ]
  )
  assert.is(new Set([...training.examples, ...validation!.examples]).size, whole.examples.length)
  assert.equal(rightOf(splitDataset(whole, 0.2, 5)).validation, validation)
  assert.not.equal(rightOf(splitDataset(whole, 0.2, 6)).validation, validation)
  assert.match((splitDataset(dataset(0, 1), 0.2, 1) as E.Left<{ message: string }>).left.message, /leaves none: each class needs two/)
})

test('folders of validation must be those of training, for classes are numbered by their names', () => {
  const named = (...names: readonly string[]): Dataset => ({ ...dataset(0, 1), names })
  const result = splitForValidation({ dataset: named('cat', 'dog'), validation: named('cat', 'horse') }, 0)
  assert.match((result as E.Left<{ message: string }>).left.message, /^--validation has the classes cat, horse but --data has cat, dog/)
})

test('balanced weights are those of scikit-learn; row weights make the weighted mean of torch', () => {
  // sklearn.utils.class_weight.compute_class_weight('balanced', classes=[0, 1, 2], y=[0, 0, 0, 1,
  // 1, 2])
  assert.equal(rightOf(resolveClassWeights('balanced', countLabelsByClass(dataset(0, 0, 0, 1, 1, 2), 3))), [6 / 9, 1, 2])
  assert.equal(rightOf(resolveClassWeights('balanced', countLabelsByClass(dataset(0, 0, 2), 3))), [0.75, 0, 1.5])
  assert.match(
    (resolveClassWeights([1, 2], [1, 1, 1]) as E.Left<{ message: string }>).left.message,
    /gives 2 weights but the model has 3 classes/
  )
  assert.match((resolveClassWeights([0, 0], [1, 1]) as E.Left<{ message: string }>).left.message, /are all 0/)
  const [weights, labels, losses] = [
    [1, 3],
    [0, 1, 1, 0],
    [0.5, 0.1, 0.9, 2]
  ]
  const mean = rowWeights(
    weights,
    labels.map((label) => ({ label }))
  ).reduce((sum, weight, row) => sum + (weight * losses[row]!) / labels.length, 0)
  assert.ok(Math.abs(mean - (0.5 + 0.3 + 2.7 + 2) / 8) < 1e-15)
  assert.equal(rowWeights([0, 1], [{ label: 0 }, { label: 0 }]), [0, 0])
  assert.ok(E.isRight(checkRowWeights(undefined, dataset(0, 0))))
  assert.ok(E.isRight(checkRowWeights([0, 1], dataset(0, 1))))
  assert.match(
    (checkRowWeights([0, 1], dataset(0, 0)) as E.Left<{ message: string }>).left.message,
    /^the weights of all 2 training images are 0: nothing would be learnt; give one a weight above 0$/
  )
})

const apply = (matrix: Float32Array, colour: readonly number[]): readonly number[] =>
  [0, 1, 2].map((row) => [...colour, 1].reduce((sum, value, column) => sum + matrix[4 * row + column]! * value, 0))

const near = (values: readonly number[], expected: readonly number[], tolerance = 1e-6): void =>
  assert.ok(
    values.every((value, index) => Math.abs(value - expected[index]!) < tolerance),
    `${values} is not ${expected}`
  )

test('colour maps: brightness, contrast about mid-grey, saturation towards grey, hue around the grey axis', () => {
  const still = { brightness: 1, contrast: 1, saturation: 1, hue: 0 }
  const colour = [0.8, 0.4, 0.1]
  near(apply(colourMatrix(still), colour), colour)
  near(apply(colourMatrix({ ...still, brightness: 0.5 }), colour), [0.4, 0.2, 0.05])
  near(apply(colourMatrix({ ...still, contrast: 2 }), colour), [1.1, 0.3, -0.3])
  const grey = 0.299 * 0.8 + 0.587 * 0.4 + 0.114 * 0.1
  near(apply(colourMatrix({ ...still, saturation: 0 }), colour), [grey, grey, grey])
  near(apply(colourMatrix({ ...still, hue: 0.3 }), [0.6, 0.6, 0.6]), [0.6, 0.6, 0.6], 1e-3)
  // Three thirds of a turn are a whole one, and each keeps the grey value.
  const third = colourMatrix({ ...still, hue: 1 / 3 })
  const once = apply(third, colour)
  assert.ok(Math.abs(0.299 * once[0]! + 0.587 * once[1]! + 0.114 * once[2]! - grey) < 1e-3 && Math.abs(once[0]! - colour[0]!) > 0.1)
  near(apply(third, apply(third, once)), colour, 2e-3)
  // Brightness first, then contrast.
  near(apply(colourMatrix({ ...still, brightness: 0.5, contrast: 2 }), colour), [0.3, -0.1, -0.4])
})

test('turns and colours are drawn from the seed and the step alone, over all they may be', () => {
  const jitter = { brightness: 0.2, contrast: 0.2, saturation: 0.2, hue: 0.1 }
  const options = { seed: 3, batch: 4, rotate: true, colourJitter: jitter }
  const draws = createAugmenter(options)
  const many = Array.from({ length: 20 }, (_, step) => draws(step)).flat()
  assert.equal([...new Set(many.map(({ quarterTurns }) => quarterTurns))].sort(), [0, 1, 2, 3])
  assert.is(new Set(many.map(({ colour }) => String(colour))).size, 80)
  assert.equal(createAugmenter(options)(7), draws(7))
  assert.equal(createAugmenter({ ...options, rotate: false, colourJitter: undefined })(7), new Array(4).fill({ quarterTurns: 0 }))
})

test('no two changes of colour of a step have one draw in common', () => {
  const none = { brightness: 0, contrast: 0, saturation: 0, hue: 0 }
  /** Of a change by itself, the factor of each row, to what float32 holds. */
  const factorsOf = (kind: 'brightness' | 'contrast' | 'saturation'): readonly string[] =>
    createAugmenter({ seed: 3, batch: 4, rotate: false, colourJitter: { ...none, [kind]: 0.5 } })(0).map(({ colour }) =>
      // Saturation adds as much of grey to both.
      (colour![0]! - colour![4]!).toFixed(5)
    )
  assert.is(new Set([factorsOf('brightness'), factorsOf('contrast'), factorsOf('saturation')].flat()).size, 12)
})

test('the last batch is filled up with its last example', () => {
  const { examples } = dataset(0, 1, 0, 1, 0)
  assert.equal(
    splitIntoBatches(examples, 2).map((batch) => batch.map(({ path }) => path[0])),
    [
      ['0', '1'],
      ['2', '3'],
      ['4', '4']
    ]
  )
})

test.run()
