/** What pages draw as one where there is too much: spans that lie near each other. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { joinSpans } from '../../../src/reports/join-spans'
import { propertyRuns } from '../../property-runs'

interface Span {
  readonly lane: number
  readonly from: number
  readonly to: number
  readonly times: number
}

const join = (near: readonly [Span, ...Span[]]): Span => ({
  ...near[0],
  to: Math.max(...near.map(({ to }) => to)),
  times: near.reduce((sum, { times }) => sum + times, 0)
})
const joined = (spans: readonly Span[], most: number) => joinSpans(spans, most, ({ lane }) => lane, join)

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

test('at most so many are left, or one a lane; each span is covered, and none stands for more than is said', () => {
  fc.assert(
    fc.property(drawnSpans, fc.integer({ min: 0, max: 40 }), (spans, most) => {
      const { spans: left, width } = joined(spans, most)
      const lanes = new Set(spans.map(({ lane }) => lane))
      assert.ok(left.length <= Math.max(most, lanes.size))
      assert.is(width === 0, spans.length <= most)
      for (const span of spans)
        assert.ok(left.some(({ lane, from, to, times }) => lane === span.lane && from <= span.from && span.to <= to && times >= 1))
      // The last of those that are joined begins within the width.
      for (const { from, to, times } of left) if (times > 1) assert.ok(to - from <= width + 20)
      assert.is(
        left.reduce((sum, { times }) => sum + times, 0),
        spans.length
      )
    }),
    propertyRuns(200)
  )
})

test('what is busy all the time is not drawn as one while what is idle keeps its spans', () => {
  const busy = Array.from({ length: 100 }, (_, index): Span => ({ lane: 0, from: 10 * index, to: 10 * index + 10, times: 1 }))
  const { spans, width } = joined(busy, 30)
  assert.ok(spans.length > 10 && width < 100, `${spans.length} within ${width}`)
})

test.run()
