import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { deviceModel } from '../../native'
import { stage, verify, type Segment, type Staged } from '../../staging'
import { asWritten } from '../golden/execute'
import { must } from '../must'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { devices, imagesOf, outcome, training } from './image-steps'
import { randomExecution, type RandomExecution } from './random-execution'
import { assertPeakTouched } from './touched-peak'

const isTiled = ({ grid: { B, H, W } }: Segment): boolean => B * H * W > 1

/** Random segments of which the first is tiled, where a few draws find some. */
const tiledFirst = ({ draw, graph }: RandomExecution): readonly Segment[] | undefined =>
  Array.from({ length: 20 }, () => randomSegments(draw, graph)).find(([first]) => isTiled(first!))

const loading = ([first, ...rest]: readonly Segment[], ahead: boolean): readonly Segment[] => {
  const { prefetch: _, ...segment } = first!
  return [{ ...segment, ...(ahead && { prefetch: true }) }, ...rest]
}

test('tiles that are loaded ahead change no bit, and take the bytes and no more than the time that are planned', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), fc.constantFrom(...devices), async (seed, device) => {
      const execution = randomExecution(seed)
      const segments = tiledFirst(execution)
      if (segments === undefined) return
      const images = imagesOf(execution)
      const stagedFor = (ahead: boolean): Staged => {
        const staged = must(
          stage({
            ...{ model: execution.model, input: execution.input!, objective: training, strategy: 'plain' },
            device: must(deviceModel(device.name, device.precision, 2)),
            source: { kind: 'image', mean: [0.1, 0.2, 0.3, 0.4], deviation: [0.5, 0.6, 0.7, 0.8] },
            given: asWritten(loading(segments, ahead))
          })
        )
        must(verify(staged.program))
        return staged
      }
      const [inTurn, ahead] = [stagedFor(false), stagedFor(true)]
      assert.ok(ahead.predicted.stepMilliseconds <= inTurn.predicted.stepMilliseconds)
      const [expected, actual] = [
        await outcome(device, execution, images, inTurn.program),
        await outcome(device, execution, images, ahead.program)
      ]
      assert.equal(actual.found, expected.found)
      assertPeakTouched(ahead.program, actual.measuredPeakBytes)
    }),
    {
      ...propertyRuns(60),
      examples: [
        // A convolution's scratch ends highest, and its last page is not touched.
        [1797165180, devices[1]],
        // A transposed convolution after a pool to one pixel, which the cpu keeps in another layout
        // than its convolutions write.
        [985052250, devices[1]]
      ]
    }
  )
})

test.run()
