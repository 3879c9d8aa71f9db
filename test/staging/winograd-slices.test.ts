/** Convolutions by Winograd of which a slice of channels is made at a time. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import {
  buildGraph,
  checkPlanFile,
  decodePlanFile,
  isConvolution,
  planFileText,
  stage,
  toPlanFile,
  verify,
  type Kernel,
  type Objective,
  type Segment,
  type Staged,
  type StageRequest
} from '../../staging'
import { must } from '../must'
import { winogradDevice } from './training-cases'

const block = (out: number) => [conv2d({ out, k: 3, p: 1 }), relu, conv2d({ out, k: 3, p: 1 }), relu, maxPool2d({ k: 2 })]
const network = model({
  name: 'blocks',
  layers: [...block(32), ...block(64), ...block(192), ...block(320), globalAvgPool, linear({ out: 2 })]
})
const objective: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }
const base: StageRequest = {
  ...{ model: network, input: [2, 3, 64, 64], device: winogradDevice('float32'), strategy: 'auto', objective },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
}
const staged = (options: Partial<StageRequest> = {}): Staged => must(stage({ ...base, ...options }))
const { plan } = staged({ strategy: 'plain' })
const positions = (segment: Segment): readonly number[] => segment.winograd ?? []
const inSlices = plan.segments.map((segment): Segment => ({ ...segment, slicedWinograd: positions(segment) }))

test('slices take less memory than all transformed weights of a layer at once, and a little more time', () => {
  const [whole, sliced] = [plan.segments, inSlices].map((segments) => staged({ given: { ...plan, segments } }))
  assert.ok(plan.segments.some((segment) => positions(segment).length > 0))
  const [wholeBytes, slicedBytes] = [whole!, sliced!].map(({ program }) => must(verify(program)).peakBytes)
  // Of 320 to 320 channels the transformed weights take 36 values for each pair, of slices a fifth.
  assert.ok(wholeBytes! - slicedBytes! > 0.5 * 4 * 36 * 320 * (320 - 64), `${slicedBytes} after ${wholeBytes}`)
  const [wholeTime, slicedTime] = [whole!, sliced!].map(({ predicted }) => predicted.stepMilliseconds)
  assert.ok(slicedTime! > wholeTime! && slicedTime! < 1.1 * wholeTime!, `${slicedTime} after ${wholeTime}`)
  const transformed = sliced!.program.kernels.filter(({ kind }) => kind === 'reorderWeights' || kind === 'sliceWeights')
  assert.ok(
    transformed.every(
      (kernel) => !('inChannels' in kernel && 'outChannels' in kernel) || kernel.outChannels * kernel.inChannels <= 320 * 64
    )
  )
})

test('of layers that do not learn, and of several images, what is read of the output gradient is seeded once', () => {
  for (const prefix of ['', '15', '17'])
    for (const tiles of [1, 2]) {
      const frozen: Objective = { ...objective, groups: [{ prefix, frozen: true as const }].filter(() => prefix !== '') }
      const ends = [4, 17, 18, plan.segments.at(-1)!.to]
      const all = plan.segments.flatMap(positions)
      const segments = ends.map((to, index): Segment => {
        const from = ends[index - 1] ?? 0
        const winograd = all.filter((position) => from <= position && position < to)
        const grid = { B: 1, H: index === 1 ? tiles : 1, W: 1 }
        return { from, to, grid, recompute: index < ends.length - 1, reorder: 'once', winograd, slicedWinograd: winograd }
      })
      const { program } = staged({ objective: frozen, given: { ...plan, segments } })
      const verified = verify(program)
      assert.ok(E.isRight(verified), JSON.stringify(verified))
    }
})

test('where memory is short, plans are in slices, and files keep them', () => {
  const { peakDeviceBytes, stepMilliseconds } = staged().predicted
  const wanted = [0.55, 0.65, 0.75, 0.85].map((share) => ({ bytes: Math.floor(share * peakDeviceBytes) }))
  const plans = wanted.flatMap((budget) =>
    E.fold(
      () => [],
      (one: Staged) => [one]
    )(stage({ ...base, budget }))
  )
  const sliced = plans.filter(({ plan: { segments } }) => segments.some(({ slicedWinograd = [] }) => slicedWinograd.length > 0))
  assert.ok(sliced.length > 0)
  for (const one of sliced) {
    assert.ok(one.predicted.stepMilliseconds >= stepMilliseconds)
    const file = toPlanFile(one)
    const text = planFileText(file, { kind: 'json' })
    const { plan: again } = must(E.mapLeft((message: string) => ({ message }))(decodePlanFile(JSON.parse(text))))
    const given = must(checkPlanFile(must(buildGraph(network, again.input)), network.input, again))
    assert.equal(staged({ given }).program, one.program)
  }
})

test('where slices are measured to be the faster, plans are in slices with any memory', () => {
  const { milliseconds, ...device } = winogradDevice('float32')
  const isOfSlice = (kernel: Kernel): boolean =>
    kernel.kind === 'sliceWeights' || (isConvolution(kernel) && kernel.algorithm === 1 && kernel.batch === 1)
  const quick = { ...device, milliseconds: (kernel: Kernel) => milliseconds(kernel) * (isOfSlice(kernel) ? 0.5 : 1) }
  const { plan: chosen, predicted } = staged({ device: quick })
  const sliced = chosen.segments.flatMap(({ slicedWinograd = [] }) => slicedWinograd)
  assert.ok(sliced.length > 0, 'none is in slices')
  const segments = chosen.segments.map(({ slicedWinograd: _, ...segment }): Segment => segment)
  assert.ok(staged({ device: quick, given: { ...chosen, segments } }).predicted.stepMilliseconds > predicted.stepMilliseconds)
})

test('a layer in slices runs by Winograd', () => {
  const file = toPlanFile(staged({ strategy: 'plain' }))
  const wrong = { ...file, segments: file.segments.map((segment) => ({ ...segment, winograd: [], slicedWinograd: ['0'] })) }
  const { plan: decoded } = must(E.mapLeft((message: string) => ({ message }))(decodePlanFile(wrong)))
  const refused = checkPlanFile(must(buildGraph(network, decoded.input)), network.input, decoded)
  const given = E.isLeft(refused) ? refused : stage({ ...base, given: refused.right })
  assert.ok(
    E.isLeft(given) && given.left.message.includes('slicedWinograd: 0 is not among the convolutions of winograd'),
    JSON.stringify(given)
  )
})

test.run()
