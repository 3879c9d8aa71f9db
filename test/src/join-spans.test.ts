/** What pages draw as one where there is too much: spans that lie near each other. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { joinNearest } from '../../src/reports/join-spans'
import { propertyRuns } from '../property-runs'

interface Span {
  readonly lane: number
  readonly from: number
  readonly to: number
  readonly times: number
}

const join = (before: Span, after: Span): Span => ({ ...before, to: after.to, times: before.times + after.times })
const joined = (spans: readonly Span[], most: number): readonly Span[] => joinNearest(spans, most, ({ lane }) => lane, join)

/** Spans of lanes, one after the other in each, with gaps between them. */
const drawnSpans = fc
  .array(fc.record({ lane: fc.nat(2), gap: fc.nat(50), length: fc.integer({ min: 1, max: 20 }) }), { maxLength: 40 })
  .map((drawn) => {
    const ends = [0, 0, 0]
    return drawn.map(({ lane, gap, length }): Span => {
      const from = ends[lane]! + gap
      ends[lane] = from + length
      return { lane, from, to: from + length, times: 1 }
    })
  })

test('at most so many are left, or one a lane; each covers what it was made of, and no lane loses its ends', () => {
  fc.assert(
    fc.property(drawnSpans, fc.integer({ min: 0, max: 40 }), (spans, most) => {
      const left = joined(spans, most)
      const lanes = new Set(spans.map(({ lane }) => lane))
      assert.is(left.length, Math.min(spans.length, Math.max(most, lanes.size)))
      for (const span of spans) assert.ok(left.some(({ lane, from, to }) => lane === span.lane && from <= span.from && span.to <= to))
      assert.is(
        left.reduce((sum, { times }) => sum + times, 0),
        spans.length
      )
    }),
    propertyRuns(200)
  )
})

test('the shortest gaps are closed first', () => {
  const span = (from: number, to: number): Span => ({ lane: 0, from, to, times: 1 })
  const left = joined([span(0, 10), span(12, 20), span(50, 60), span(61, 70)], 2)
  assert.equal(
    left.map(({ from, to }) => [from, to]),
    [
      [0, 20],
      [50, 70]
    ]
  )
})

test.run()
