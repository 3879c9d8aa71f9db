import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { deviceModel } from '../../native'
import { minCudaPage, referenceModel, stage, verify, type PlanPlacement, type Program } from '../../staging'
import { createStepGraph } from '../../staging/ops/build-graph'
import { createTimelines } from '../../staging/lowering/cost/timeline'
import { asWritten, gradients } from '../golden/execute'
import { must } from '../must'
import { randomSwapSchedule } from '../staging/random-swap-schedule'
import { randomSegments, withRematerialization, withStreams } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { devices, imagesOf, outcome, training } from './image-steps'
import { randomExecution } from './random-execution'

/** Pages, and pages that hold many of these small tensors. */
const pageSizes = fc.constantFrom(4096, 4096, 16384)

/** A GPU maps larger ones. */
const onDevices = fc.oneof(
  ...devices.map((device) => fc.tuple(fc.constant(device), device.name === 'cuda' ? fc.constant(minCudaPage) : pageSizes))
)

const inPages = (pageBytes: number): PlanPlacement => ({ allocator: 'virtual', pageBytes })

const assertVerified = (program: Program): void => {
  const verified = verify(program)
  assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
}

test('random nets, tiles, stays and bands on the host in pages: verified, every number to the bit, memory as planned', async () => {
  let [swaps, onHost, loops] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), fc.constantFrom('float64', 'float32'), pageSizes, async (seed, precision, page) => {
      const { draw, graph, ...random } = randomExecution(seed)
      const inBands = draw(0, 1) === 1
      const segments = inBands
        ? withRematerialization(draw, graph, withStreams(draw, graph, randomSegments(draw, graph, ['H'])))
        : randomSegments(draw, graph)
      onHost += segments.filter((segment) => segment.hostTensors !== undefined).length
      const stepGraph = createStepGraph(graph, { kind: 'gradients' }, { kind: 'float' })
      const swapSchedule = inBands ? [] : randomSwapSchedule(draw, createTimelines(stepGraph, referenceModel(precision))(segments))
      swaps += swapSchedule.length
      const execution = { ...random, precision, segments, swapSchedule }
      const [one, other] = [await gradients(execution), await gradients({ ...execution, placement: inPages(page) })]
      const { program, plan, predicted } = other.staged
      if (program.step.code.some(({ kind }) => kind === 'loop')) loops++
      assertVerified(program)
      assert.equal(plan.placement, inPages(page))
      assert.is(predicted.plainPeakBytes, one.staged.predicted.plainPeakBytes)
      assert.is(other.loss, one.loss)
      assert.equal([...other.tensors], [...one.tensors])
      assert.is(other.measuredPeakBytes, program.peakBytes)
      assert.is(other.measuredHostPeakBytes > 0, program.hostBytes > 0)
    }),
    propertyRuns(60)
  )
  assert.ok(swaps > 0 && onHost > 0 && loops > 0)
})

test('steps from images with evaluations, tiles loaded ahead or not, in pages: every bit the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), onDevices, async (seed, [device, page]) => {
      const execution = randomExecution(seed)
      const segments = randomSegments(execution.draw, execution.graph)
      const images = imagesOf(execution)
      const programFor = (placement?: PlanPlacement): Program => {
        const { program } = must(
          stage({
            ...{ model: execution.model, input: execution.input!, objective: training, strategy: 'plain' },
            device: must(deviceModel(device.name, device.precision, 2)),
            source: { kind: 'image', mean: [0.1, 0.2, 0.3, 0.4], deviation: [0.5, 0.6, 0.7, 0.8] },
            given: asWritten(segments, placement)
          })
        )
        assertVerified(program)
        return program
      }
      const [one, other] = [programFor(), programFor(inPages(page))]
      const [expected, actual] = [await outcome(device, execution, images, one), await outcome(device, execution, images, other)]
      assert.equal(actual.found, expected.found)
      // Libraries leave the ends of their scratchpads alone.
      const untouched = other.peakBytes - actual.measuredPeakBytes
      assert.ok(
        untouched === 0 || (device.name !== 'reference' && untouched === page),
        `${untouched} bytes of ${other.peakBytes} are untouched`
      )
    }),
    propertyRuns(25)
  )
})

test.run()
