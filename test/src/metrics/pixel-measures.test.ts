/**
 * The measures of pixels, and what of them a table of images has.
 */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyLayer, conv2d, overlapLoss } from '../../../dsl'
import { areaUnderCurve } from '../../../src/metrics/scores'
import { makePixelMeasure, computeQuality, tallyImage } from '../../../src/metrics/pixel-tally'
import { areasUnderCurves, countScore, emptyScoreCounts } from '../../../src/metrics/score-areas'
import { buildGraph } from '../../../staging'
import { must } from '../../must'
import { propertyRuns } from '../../property-runs'

test('the measures of pixels, by their definitions', () => {
  const graph = must(buildGraph({ name: 'scores', layers: [conv2d({ out: 3, k: 1 })] }, [1, 3, 4, 5]))
  const measure = makePixelMeasure(graph.nodes.at(-1)!)
  const [height, width] = [4, 5]
  const pixels = fc.record({
    scores: fc.array(fc.integer({ min: -400, max: 400 }), { minLength: 60, maxLength: 60 }),
    labels: fc.array(fc.constantFrom(0, 1, 2, 255), { minLength: 20, maxLength: 20 })
  })
  fc.assert(
    fc.property(pixels, ({ scores, labels }) => {
      const given = Float32Array.from(scores, (score) => score / 64)
      const tally = tallyImage(measure)
      tally.add(given, labels, { height, width }, { top: 0, left: 0, height: 2, width })
      tally.add(given, labels, { height, width }, { top: 2, left: 0, height: 2, width })
      const { counts, scoreCounts } = tally.finish()
      const areas = areasUnderCurves(scoreCounts)
      const found = computeQuality(measure, counts, areas)
      const counted = labels.flatMap((label, index) =>
        label === 255 ? [] : [{ label, own: [0, 1, 2].map((one) => given[one * 20 + index]!) }]
      )
      const shares = counted.map(({ own }) => {
        const sum = own.reduce((total, score) => total + Math.exp(score), 0)
        return own.map((score) => Math.exp(score) / sum)
      })
      const predicted = counted.map(({ own }) => own.indexOf(Math.max(...own)))
      const agree = counted.filter(({ label }, index) => label === predicted[index]).length
      const loss = counted.reduce((sum, { label }, index) => sum - Math.log(shares[index]![label]!), 0) / Math.max(1, counted.length)
      assert.ok(Math.abs(found.loss - loss) < 1e-6 && Math.abs(found.accuracy! - agree / Math.max(1, counted.length)) < 1e-12)
      for (const one of [0, 1, 2]) {
        const [wanted, said] = [counted.filter(({ label }) => label === one).length, predicted.filter((other) => other === one).length]
        const both = counted.filter(({ label }, index) => label === one && predicted[index] === one).length
        assert.is(found.classIou![one], wanted + said === 0 ? null : both / (wanted + said - both))
        assert.is(found.classDice![one], wanted + said === 0 ? null : (2 * both) / (wanted + said))
        const odds = Float64Array.from(shares, (row) => Math.log(row[one]! / (row.reduce((sum, share) => sum + share, 0) - row[one]!)))
        // Twenty pixels that fall into one bin by chance may move it.
        const exact = areaUnderCurve(odds, (index) => counted[index]!.label === one)
        if (exact === undefined) assert.is(areas[one], null)
        else assert.ok(Math.abs(areas[one]! - exact) < 0.1, `${areas[one]} is not ${exact}`)
      }
    }),
    propertyRuns(200)
  )
})

const measureOf = (out: number, ...losses: readonly AnyLayer[]) =>
  makePixelMeasure(must(buildGraph({ name: 'scores', layers: [conv2d({ out, k: 1 }), ...losses] }, [1, 3, 1, 2])).nodes.at(-1)!)

test('two scores that are both nearly certain are still ranked by their difference', () => {
  const tally = tallyImage(measureOf(2))
  const extent = { height: 1, width: 2 }
  tally.add([0, 0, 10, 12], [0, 1], extent, { top: 0, left: 0, ...extent })
  assert.equal(areasUnderCurves(tally.finish().scoreCounts), [1])
})

test('of a single score 0 is class 0, as in what predict writes', () => {
  const measure = measureOf(1, overlapLoss({ loss: 'dice' }))
  const extent = { height: 1, width: 2 }
  for (const [scores, label] of [
    [[0, -1], 0],
    [[Number.MIN_VALUE, 1], 1]
  ] as const) {
    const tally = tallyImage(measure)
    tally.add(scores, [label, label], extent, { top: 0, left: 0, ...extent })
    assert.is(computeQuality(measure, tally.finish().counts, [null]).accuracy, 1)
  }
})

test('areas under curves are exact but for pixels of one bin, which are tied', () => {
  const values = fc.array(fc.record({ bin: fc.integer({ min: -8000, max: 8000 }), isOf: fc.boolean() }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(values, (all) => {
      const counts = emptyScoreCounts(1)
      for (const { bin, isOf } of all) countScore(counts, 0, isOf, (bin + 0.5) / 512)
      const exact = areaUnderCurve(
        Float64Array.from(all, ({ bin }) => bin),
        (index) => all[index]!.isOf
      )
      const [found] = areasUnderCurves(counts)
      if (exact === undefined) assert.is(found, null)
      else assert.ok(Math.abs(found! - exact) < 1e-12)
    }),
    propertyRuns(300)
  )
})

test.run()
