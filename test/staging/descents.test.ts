/** Where Programs' buffers lie, which is found in few steps. */
import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cutInstance } from '../../bench/cut-instance'
import { builtIn } from '../../models'
import { type Lifetime, maxLive, referenceModel } from '../../staging'
import { decide } from '../../staging/decide'
import { fitsProgram, placeProgram } from '../../staging/lowering/placement/place'
import { alignment } from '../../staging/placement/placement'
import { propertyRuns } from '../property-runs'
import { findOverlap } from './overlap'

/** Buffers that are known to fit in what is live at once, which nothing finds in few steps. */
const hard: fc.Arbitrary<readonly Lifetime[]> = fc
  .record({
    seed: fc.integer({ min: 0, max: 1e6 }),
    buffers: fc.integer({ min: 20, max: 200 }),
    timepoints: fc.integer({ min: 20, max: 60 }),
    slack: fc.constantFrom(0, 0.02, 0.1)
  })
  .chain((options) =>
    // The last bytes of a buffer may lie in the padding of the others.
    fc.constantFrom(0, 1, 63).map((fewer) => cutInstance(options).lifetimes.map((one) => ({ ...one, bytes: one.bytes - fewer })))
  )

test('what is placed within so many bytes fits in them, and in no fewer', () => {
  let placedHigher = 0
  fc.assert(
    fc.property(hard, fc.array(fc.double({ min: 1, max: 1.2, noNaN: true }), { minLength: 2, maxLength: 2 }), (lifetimes, parts) => {
      const placed = placeProgram(lifetimes)
      assert.is(findOverlap(lifetimes, placed), undefined)
      assert.ok(placed.offsets.every((offset) => offset >= 0 && offset % alignment === 0))
      assert.equal(placeProgram([...lifetimes]), placed)
      const bound = maxLive(lifetimes).bytes
      if (placed.peakBytes > bound) placedHigher++
      for (const bytes of [bound - 1, placed.peakBytes - 1, placed.peakBytes, ...parts.map((part) => part * bound)])
        assert.is(fitsProgram(lifetimes, bytes), placed.peakBytes <= bytes, `${bytes} bytes of ${placed.peakBytes}`)
    }),
    propertyRuns(60)
  )
  assert.ok(placedHigher > 0)
})

test('thousands of buffers lie in little more than what is live at once', () => {
  const decided = decide({
    model: builtIn.densenet121!({ classes: 2, head: 'gap' }),
    input: [1, 3, 256, 256],
    device: referenceModel('float32'),
    strategy: 'greedy',
    budget: { fractionOfPlain: 0.8 },
    objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
    source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
  })
  assert.ok(isRight(decided))
  const { lifetimes, liveBytes, peakBytes } = decided.right.chosen
  assert.ok(lifetimes().length > 2000)
  assert.ok(peakBytes() <= 1.05 * liveBytes(), `${peakBytes()} of ${liveBytes()}`)
})

test.run()
