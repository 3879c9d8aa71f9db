import fc from 'fast-check'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import {
  decodePlanFile,
  isConvolution,
  buildGraph,
  checkPlanFile,
  toPlanFile,
  planFileText,
  stage,
  verify,
  type ConvolutionKernel,
  type DeviceModel,
  type Kernel,
  type Objective,
  type Staged,
  type StageRequest
} from '../../staging'
import { withFastestFirst } from '../../staging/devices/algorithms'
import { algorithmDevice, nhwc } from './algorithm-device'
import { drawsOf, netKind, randomNet } from './random-nets'
import { must } from '../must'
import { propertyRuns } from '../property-runs'

const objective: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }
const block = (out: number) => [conv2d({ out, k: 3, p: 1 }), relu, conv2d({ out, k: 3, p: 1 }), relu, maxPool2d({ k: 2 })]
const network = model({ name: 'blocks', layers: [...block(8), ...block(16), ...block(32), globalAvgPool, linear({ out: 2 })] })
const base: StageRequest = {
  model: network,
  input: [1, 3, 96, 96],
  device: algorithmDevice(),
  strategy: 'auto',
  objective,
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
}

const staged = (options: Partial<StageRequest> = {}): Staged => must(stage({ ...base, ...options }))

const convolutions = ({ program }: Staged): readonly ConvolutionKernel[] => program.kernels.filter(isConvolution)
const algorithms = (plan: Staged): readonly number[] =>
  [...new Set(convolutions(plan).map(({ algorithm }) => algorithm))].sort((a, b) => a - b)

const unlimited = staged()
const budgets = [0.1, 0.2, 0.6].map((share) => Math.floor(share * unlimited.predicted.peakDeviceBytes))
const plans = budgets.map((budget) => staged({ budget: { bytes: budget } }))

test('without a limit every convolution takes the fastest algorithm, whatever its scratch', () => {
  assert.equal(algorithms(unlimited), [16 + 3, 16 + 5, 16 + 6])
  assert.is(unlimited.predicted.stepMilliseconds, unlimited.predicted.lowerBoundMilliseconds)
})

test('the less memory there is, the less scratch and the more time convolutions take', () => {
  plans.forEach(({ predicted, program }, index) => {
    assert.ok(program.peakBytes <= budgets[index]!)
    assert.is(must(verify(program)).peakBytes, predicted.peakDeviceBytes)
  })
  const times = [...plans, unlimited].map(({ predicted }) => predicted.stepMilliseconds)
  assert.equal(
    times,
    [...new Set(times)].sort((a, b) => b - a)
  )
  const [little, some] = plans.map(algorithms)
  assert.equal(little, [16 + 1])
  assert.ok(
    [16 + 5, 16 + 7].every((algorithm) => some!.includes(algorithm)),
    `${some}`
  )
})

test("no kernel takes more scratch than its segment's workspace", () => {
  for (const plan of plans) {
    const most = Math.max(...plan.plan.segments.map(({ workspace = 0 }) => workspace))
    for (const kernel of convolutions(plan)) assert.ok(base.device.scratchBytes(kernel)! <= most)
  }
})

test('exact kernels leave out what transforms, and plain is measured with direct kernels', () => {
  assert.equal(algorithms(staged({ exactKernels: true })), [16 + 1])
  const direct = staged({
    given: { order: unlimited.plan.order, segments: unlimited.plan.segments.map(({ workspace: _, ...rest }) => rest) }
  })
  assert.equal(algorithms(direct), [0])
  assert.is(staged({ strategy: 'plain' }).predicted.plainPeakBytes, unlimited.predicted.plainPeakBytes)
})

test('a plan file keeps the workspace, and refuses what is none', () => {
  const plan = plans[1]!
  const file = toPlanFile(plan)
  const { plan: again } = must(
    E.mapLeft((message: string) => ({ message }))(decodePlanFile(JSON.parse(planFileText(file, { kind: 'json' }))))
  )
  const given = must(checkPlanFile(must(buildGraph(network, again.input)), network.input, again))
  assert.equal(given.segments, plan.plan.segments)
  assert.equal(staged({ given }).program, plan.program)
  const wrong = { ...file, segments: file.segments.map((segment) => ({ ...segment, workspace: -1 })) }
  assert.equal(decodePlanFile(wrong), E.left('segments[0].workspace is -1, not a whole number from 0 upwards'))
})

test('algorithms of equal time keep the order of the heuristics, and 0 comes last', () => {
  const device = algorithmDevice()
  const [kernel] = convolutions(staged({ exactKernels: true }))
  const direct = { ...kernel!, algorithm: 0 }
  const answers = withFastestFirst({ ...device, milliseconds: () => 1 }).algorithms!(direct)
  assert.equal(answers, [...device.algorithms!(direct), { algorithm: 0, scratchBytes: 0 }])
})

test('where the device refuses kernels of the whole image plans tile, and plain stays the yardstick', () => {
  const { scratchBytes, algorithms: choices, ...device } = base.device
  const refuses = (kernel: Kernel): boolean => isConvolution(kernel) && kernel.outHeight * kernel.outWidth > 48 * 48
  const limited: DeviceModel = {
    ...device,
    algorithms: (kernel) => (refuses(kernel) ? [] : choices!(kernel)),
    scratchBytes: (kernel) => (refuses(kernel) ? undefined : scratchBytes(kernel))
  }
  const plan = staged({ device: limited })
  assert.not(plan.program.kernels.some(refuses))
  assert.ok(algorithms(plan).includes(16 + 5), `${algorithms(plan)}`)
  assert.is(plan.predicted.plainPeakBytes, unlimited.predicted.plainPeakBytes)
  const whole = stage({ ...base, device: limited, strategy: 'plain' })
  assert.match(E.isLeft(whole) ? whole.left.message : '', /strategy plain runs convolutions whole that the algorithms device refuses/)
})

test('Programs with channels innermost are proven, whole and in tiles, and tiles are copied by whole rows', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), fc.double({ min: 0.3, max: 1.1, noNaN: true }), (seed, share) => {
      const request = { ...base, ...randomNet(drawsOf(seed), netKind(seed)) }
      const { predicted } = must(stage({ ...request, strategy: 'plain' }))
      const tight = stage({ ...request, strategy: 'sft', budget: { bytes: Math.floor(share * predicted.peakDeviceBytes) } })
      if (E.isLeft(tight)) return
      const { program } = tight.right
      must(verify(program))
      assert.ok(convolutions(tight.right).every(({ destinationLayout }) => destinationLayout === nhwc))
    }),
    propertyRuns(15)
  )
  const boxes = plans[0]!.program.kernels.flatMap((kernel) => (kernel.kind === 'copyBox' && kernel.n2 > 1 ? [kernel] : []))
  assert.ok(boxes.length > 0)
  for (const { n1 } of boxes) assert.is(n1, 1)
})

test.run()
