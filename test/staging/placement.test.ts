import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { alignment, firstFit, maxLive, type Lifetime } from '../../staging/placement/first-fit'

const lifetimes = fc.array(
  fc.record({ bytes: fc.integer({ min: 1, max: 5000 }), from: fc.integer({ min: 0, max: 40 }), length: fc.integer({ min: 1, max: 20 }) }),
  { minLength: 1, maxLength: 60 }
)

test('live buffers never overlap, offsets are aligned, and the peak is what the highest buffer reaches', () => {
  fc.assert(
    fc.property(lifetimes, (drawn) => {
      const buffers: readonly Lifetime[] = drawn.map(({ bytes, from, length }) => ({ bytes, from, to: from + length }))
      const { offsets, peakBytes } = firstFit(buffers)
      buffers.forEach((a, i) =>
        buffers.slice(0, i).forEach((b, j) => {
          const together = a.from < b.to && b.from < a.to
          const apart = offsets[i]! >= offsets[j]! + b.bytes || offsets[j]! >= offsets[i]! + a.bytes
          assert.ok(!together || apart, `buffers ${i} and ${j} overlap`)
        })
      )
      assert.ok(offsets.every((offset) => offset % alignment === 0))
      assert.is(peakBytes, Math.max(...buffers.map(({ bytes }, index) => offsets[index]! + bytes)))
      assert.ok(peakBytes > maxLive(buffers).bytes - alignment)
      assert.equal(firstFit(buffers), { offsets, peakBytes })
    })
  )
})

test('buffers that follow each other share their bytes', () => {
  const { offsets, peakBytes } = firstFit([
    { bytes: 100, from: 0, to: 2 },
    { bytes: 90, from: 2, to: 4 },
    { bytes: 50, from: 1, to: 3 }
  ])
  assert.equal(offsets, [0, 0, 128])
  assert.is(peakBytes, 178)
})

test.run()
