import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { PadMode } from '../../dsl'
import { padModes } from '../../dsl/internal'
import { type AxisAccess, inputInterval } from '../../staging/graph/axis-access'
import { allParts, partition } from '../../staging/graph/interval'
import { propertyRuns } from '../property-runs'

const windows = fc.record({
  kernel: fc.integer({ min: 1, max: 7 }),
  stride: fc.integer({ min: 1, max: 9 }),
  dilation: fc.integer({ min: 1, max: 3 }),
  padBefore: fc.integer({ min: 0, max: 3 }),
  padAfter: fc.integer({ min: 0, max: 3 }),
  extent: fc.integer({ min: 25, max: 60 })
})

test('every coordinate is owned once, in order', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 40 }), (extent, tiles) => {
      const owned = allParts(partition(extent, tiles)).flatMap(({ from, to }) =>
        Array.from({ length: to - from }, (_, index) => from + index)
      )
      assert.equal(
        owned,
        Array.from({ length: extent }, (_, index) => index)
      )
      assert.ok(partition(extent, tiles).count <= tiles)
    }),
    propertyRuns(100)
  )
})

test('a window reads exactly the coordinates that its outputs touch, and pads what stands outside', () => {
  fc.assert(
    fc.property(windows, fc.nat(), fc.nat(), ({ extent, ...window }, start, length) => {
      const access: AxisAccess = { kind: 'window', ...window }
      const reach = window.dilation * (window.kernel - 1) + 1
      const outputs = Math.floor((extent + window.padBefore + window.padAfter - reach) / window.stride) + 1
      const from = start % outputs
      const to = from + 1 + (length % (outputs - from))
      const touched = Array.from({ length: to - from }, (_, index) => (from + index) * window.stride - window.padBefore).flatMap(
        (first) => [first, first + reach - 1]
      )
      const [lowest, highest] = [Math.min(...touched), Math.max(...touched)]
      const { interval, padBefore, padAfter, overhang } = inputInterval(access, { from, to }, extent)
      assert.is(interval.from - padBefore, lowest)
      assert.is(interval.to + padAfter, highest + 1)
      assert.ok(interval.from >= 0 && interval.to <= extent)
      assert.ok(padBefore <= window.padBefore)
      assert.is(overhang, 0, 'a window inside the declared padding has no overhang')
    }),
    propertyRuns(100)
  )
})

test('Xu 2022, Table 4: a slice of T outputs needs sigma T + delta inputs', () => {
  const convolution: AxisAccess = { kind: 'window', kernel: 3, stride: 1, dilation: 1, padBefore: 1, padAfter: 1 }
  const pool: AxisAccess = { kind: 'window', kernel: 2, stride: 2, dilation: 1, padBefore: 0, padAfter: 0 }
  const inner = inputInterval(convolution, { from: 64, to: 128 }, 1024).interval
  assert.equal(inner, { from: 63, to: 129 })
  assert.equal(inputInterval(pool, inner, 2048).interval, { from: 126, to: 258 })
})

/** The input that a padded output shows, by PyTorch's own arithmetic; of zeros, the nearest. */
const shown = (mode: PadMode, input: number, extent: number): number => {
  const inside = Array.from({ length: extent }, (_, index) => index)
  if (mode !== 'reflect') return inside.at(Math.max(0, Math.min(input, extent - 1)))!
  return [...inside, ...inside.slice(1, -1).reverse()].at(input % Math.max(1, 2 * extent - 2))!
}

test('a range of padded outputs reads what they show, from no later on than any after it and as far as any before it', () => {
  const extents = { extent: fc.integer({ min: 1, max: 9 }), before: fc.nat(9), after: fc.nat(9) }
  fc.assert(
    fc.property(
      fc.record({ ...extents, mode: fc.constantFrom(...padModes), start: fc.nat(), length: fc.nat() }),
      ({ extent, mode, start, length, ...pads }) => {
        const most = mode === 'reflect' ? extent - 1 : 9
        const [before, after] = [Math.min(pads.before, most), Math.min(pads.after, most)]
        const inputs = Array.from({ length: before + extent + after }, (_, output) => shown(mode, output - before, extent))
        const from = start % inputs.length
        const to = from + 1 + (length % (inputs.length - from))
        const reading = inputInterval({ kind: 'pad', mode, before, after }, { from, to }, extent)
        const interval = { from: Math.min(...inputs.slice(from)), to: Math.max(...inputs.slice(0, to)) + 1 }
        assert.equal(reading, { interval, padBefore: 0, padAfter: 0, overhang: 0 })
      }
    ),
    propertyRuns(300)
  )
})

test('ceilMode: a last window past the padding overhangs, and only there', () => {
  const pool: AxisAccess = { kind: 'window', kernel: 3, stride: 2, dilation: 1, padBefore: 1, padAfter: 1 }
  const outputs = { from: 0, to: 4 }
  assert.equal(inputInterval(pool, outputs, 6), { interval: { from: 0, to: 6 }, padBefore: 1, padAfter: 2, overhang: 1 })
})

test.run()
