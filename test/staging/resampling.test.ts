import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Interval } from '../../staging/graph/interval'
import { adaptiveInterval, resizeInterval, type ResizedAxis } from '../../staging/graph/resampling'
import { propertyRuns } from '../property-runs'

/** The inputs of weight above 0 of one output, by PyTorch's formulas in floating point. */
const linearly = (position: number, inExtent: number): readonly number[] => {
  const clamped = Math.min(Math.max(position, 0), inExtent - 1)
  const nearest = Math.round(clamped)
  if (Math.abs(clamped - nearest) < 1e-9) return [nearest]
  return [Math.floor(clamped), Math.floor(clamped) + 1]
}

const resized = ({ inExtent, outExtent, bilinear, alignCorners }: ResizedAxis, output: number): readonly number[] => {
  if (!bilinear) return [Math.floor(output * (inExtent / outExtent) + 1e-9)]
  if (alignCorners) return linearly(outExtent === 1 ? 0 : (output * (inExtent - 1)) / (outExtent - 1), inExtent)
  return linearly((output + 0.5) * (inExtent / outExtent) - 0.5, inExtent)
}

const pooled = (inExtent: number, outExtent: number, output: number): readonly number[] =>
  Array.from({ length: inExtent }, (_, input) => input).filter(
    (input) => (input + 1) * outExtent > output * inExtent && input * outExtent < (output + 1) * inExtent
  )

const extents = { inExtent: fc.integer({ min: 1, max: 40 }), outExtent: fc.integer({ min: 1, max: 40 }) }

const rangeOf = (outExtent: number, start: number, length: number): Interval => {
  const from = start % outExtent
  return { from, to: from + 1 + (length % (outExtent - from)) }
}

const hullOf = ({ from, to }: Interval, readingOf: (output: number) => readonly number[]): Interval => {
  const read = Array.from({ length: to - from }, (_, index) => readingOf(from + index)).flat()
  return { from: Math.min(...read), to: Math.max(...read) + 1 }
}

test('a range of resized outputs reads what its outputs are made of', () => {
  fc.assert(
    fc.property(
      fc.record({ ...extents, bilinear: fc.boolean(), alignCorners: fc.boolean() }),
      fc.nat(),
      fc.nat(),
      (axis, start, length) => {
        const outputs = rangeOf(axis.outExtent, start, length)
        assert.equal(
          resizeInterval(axis, outputs),
          hullOf(outputs, (output) => resized(axis, output))
        )
      }
    ),
    propertyRuns(100)
  )
})

test('the nearest of 70 inputs to 30 outputs are exact, where PyTorch rounds 70 / 30 and takes the input before', () =>
  assert.equal(resizeInterval({ inExtent: 70, outExtent: 30, bilinear: false, alignCorners: false }, { from: 27, to: 28 }), {
    from: 63,
    to: 64
  }))

test('a range of adaptively pooled outputs reads their windows', () => {
  fc.assert(
    fc.property(fc.record(extents), fc.nat(), fc.nat(), (axis, start, length) => {
      const outputs = rangeOf(axis.outExtent, start, length)
      assert.equal(
        adaptiveInterval(axis, outputs),
        hullOf(outputs, (output) => pooled(axis.inExtent, axis.outExtent, output))
      )
    }),
    propertyRuns(100)
  )
})

test.run()
