/** Measures of a confusion matrix, against numbers made by hand. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { measureConfusion, makeConfusionMatrix } from '../../../src/metrics/confusion'
import { measureQuality } from '../../../src/metrics/scores'

const close = (found: number | null, expected: number): void =>
  assert.ok(found !== null && Math.abs(found - expected) < 1e-12, `${found} is not ${expected}`)

test('of two raters: the example of Cohen, 20 and 15 of 50 agreed, has a kappa of 0.4', () => {
  const { kappa, classIou, classDice, dice } = measureConfusion([
    [20, 5],
    [10, 15]
  ])
  close(kappa, 0.4)
  close(classIou[0]!, 20 / 35)
  close(classIou[1]!, 15 / 30)
  close(classDice[0]!, 40 / 55)
  close(classDice[1]!, 30 / 45)
  close(dice, (40 / 55 + 30 / 45) / 2)
})

test('a class that is nowhere has no measure, and without a count there is none', () => {
  const { kappa, classIou, classDice, dice } = measureConfusion([
    [3, 1, 0],
    [0, 2, 0],
    [0, 0, 0]
  ])
  assert.equal(classIou, [3 / 4, 2 / 3, null])
  assert.equal(classDice, [6 / 7, 4 / 5, null])
  close(dice, (6 / 7 + 4 / 5) / 2)
  // Agreement 5/6; chance 4/6 · 3/6 + 2/6 · 3/6 = 1/2.
  close(kappa, 2 / 3)
  const nothing = measureConfusion(makeConfusionMatrix(new Float64Array(4), 2))
  assert.equal([nothing.kappa, nothing.dice, nothing.classIou], [null, null, [null, null]])
})

test('images that are all of one class, and found so, have no kappa', () => {
  assert.is(
    measureConfusion([
      [4, 0],
      [0, 0]
    ]).kappa,
    null
  )
})

test('scores of images have a confusion matrix: labelled by rows, the highest score by columns', () => {
  const values = Float64Array.from([2, 1, 0, 3, 1, 0, 5, 6])
  const { confusion, accuracy, kappa } = measureQuality({ values, classes: 2, labels: [0, 0, 1, 1] })
  assert.equal(confusion, [
    [1, 1],
    [1, 1]
  ])
  assert.is(accuracy, 0.5)
  close(kappa!, 0)
})

test.run()
