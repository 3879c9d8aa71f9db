import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { randomStream } from '../../../src/numbers/random'
import { findBest } from '../../../src/training/validation/best'
import { areaUnderCurve, measureQuality } from '../../../src/metrics/scores'

/** The definition: how often a positive outranks a negative, ties counted half. */
const byPairs = (values: Float64Array, positive: readonly boolean[]): number => {
  let [sum, pairs] = [0, 0]
  for (const [p, a] of values.entries())
    for (const [n, b] of values.entries()) {
      if (!positive[p] || positive[n]) continue
      pairs += 1
      sum += a > b ? 1 : a === b ? 0.5 : 0
    }
  return sum / pairs
}

test('the area under the curve is the share of pairs in order, however many are tied', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const { uniform } = randomStream(seed, 'scores')
    const count = 2 + Math.floor(30 * uniform(0))
    const levels = 1 + Math.floor(10 * uniform(1))
    const values = Float64Array.from({ length: count }, (_, index) => Math.floor(levels * uniform(2 + index)))
    const positive = Array.from({ length: count }, (_, index) => index === 0 || (index > 1 && uniform(100 + index) < 0.5))
    assert.ok(Math.abs(areaUnderCurve(values, (index) => positive[index]!)! - byPairs(values, positive)) < 1e-12)
  }
})

test('where all are of one class there is no area', () => {
  assert.is(
    areaUnderCurve(Float64Array.of(1, 2), () => true),
    undefined
  )
  assert.is(measureQuality({ values: Float64Array.of(1, 2, 0, 3), classes: 2, labels: [1, 1] }).auc, null)
})

test('scores that are not finite have no area, and their loss says so', () => {
  for (const wrong of [NaN, Infinity]) {
    const { loss, auc } = measureQuality({ values: Float64Array.of(0, wrong, 2, 0, wrong, wrong, 1, 0), classes: 2, labels: [1, 0, 0, 1] })
    assert.ok(Number.isNaN(loss))
    assert.is(auc, null)
  }
})

test('loss, accuracy and AUC of two classes', () => {
  const { loss, accuracy, auc } = measureQuality({ values: Float64Array.of(0, 1, 2, 0, 0, 3, 1, 0), classes: 2, labels: [1, 0, 0, 1] })
  const terms = [1, 2, -3, -1].map((margin) => Math.log(1 + Math.exp(-margin)))
  assert.ok(Math.abs(loss - terms.reduce((sum, term) => sum + term) / 4) < 1e-12)
  assert.is(accuracy, 0.5)
  // Class 1 scores 1 and -1 (positive), -2 and 3 (negative): one of either beats -2, none beats 3.
  assert.is(auc, 0.5)
})

test('of more classes, a score is ranked by its log-odds, however near to certain', () => {
  const [classes, images] = [5, 40]
  const { uniform } = randomStream(3, 'scores')
  const values = Float64Array.from({ length: images * classes }, (_, index) => 60 * uniform(index))
  const labels = Array.from({ length: images }, (_, image) => image % classes)
  const oddsOf = (image: number, wanted: number): number => {
    const others = [...values.subarray(image * classes, (image + 1) * classes)].filter((_, index) => index !== wanted)
    const largest = Math.max(...others)
    return values[image * classes + wanted]! - largest - Math.log(others.reduce((sum, value) => sum + Math.exp(value - largest), 0))
  }
  const areas = Array.from({ length: classes }, (_, wanted) =>
    byPairs(
      Float64Array.from(labels, (__, image) => oddsOf(image, wanted)),
      labels.map((label) => label === wanted)
    )
  )
  const mean = areas.reduce((sum, area) => sum + area) / classes
  assert.ok(Math.abs(measureQuality({ values, classes, labels }).auc! - mean) < 1e-12)
})

test('of more classes, the AUC is the mean of one against the rest, absent classes left out', () => {
  const values = Float64Array.of(3, 1, 0, 0, 0, 2, 1, 0, 2, 1, 0, 0)
  const labels = [0, 1, 0, 1]
  const probability = (image: number, wanted: number): number => {
    const row = [...values.subarray(3 * image, 3 * image + 3)].map(Math.exp)
    return row[wanted]! / row.reduce((sum, value) => sum + value)
  }
  const expected = [0, 1].map((wanted) =>
    byPairs(
      Float64Array.from(labels, (_, image) => probability(image, wanted)),
      labels.map((label) => label === wanted)
    )
  )
  assert.ok(Math.abs(measureQuality({ values, classes: 3, labels }).auc! - (expected[0]! + expected[1]!) / 2) < 1e-12)
})

test('scores far apart neither overflow nor tie', () => {
  const { loss, auc } = measureQuality({ values: Float64Array.of(0, 1000, 0, 900, 1000, 0), classes: 2, labels: [1, 0, 0] })
  assert.is(loss, 300)
  assert.is(auc, 1)
})

test('the best validation is the first of the best; those since are counted', () => {
  const of = (step: number, loss: number, accuracy: number, auc: number | null) => ({ step, loss, accuracy, auc })
  const validations = [of(1, 0.7, 0.5, null), of(2, 0.4, 0.6, 0.8), of(3, 0.5, 0.9, 0.8), of(4, 0.4, 0.9, 0.7)]
  assert.equal(findBest('loss', validations), { ...validations[1]!, since: 2 })
  assert.equal(findBest('accuracy', validations), { ...validations[2]!, since: 1 })
  assert.equal(findBest('auc', validations), { ...validations[1]!, since: 2 })
  assert.is(findBest('loss', []), undefined)
})

test.run()
