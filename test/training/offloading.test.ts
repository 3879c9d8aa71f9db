import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, flatten, linear, maxPool2d, model, relu, softmaxCrossEntropy } from '../../dsl'
import { buildGraph, verify, type Segment, type Training } from '../../staging'
import { testsDevice } from '../devices'
import { must } from '../must'
import type { Execution } from '../golden/execute'
import { drawsOf } from '../staging/random-nets'
import { runSections, update, type Batch } from './execute'
import { optimizers } from './random-training'
import { assertSameBits } from './same-bits'

const input = [2, 3, 16, 16] as const
/** Its convolutions' state takes one piece each, that of the linear layer several, others none. */
const net = model({
  name: 'wide',
  layers: [
    conv2d({ out: 64, k: 3, p: 1, bias: false }),
    batchNorm(),
    relu,
    conv2d({ out: 96, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 2, s: 2 }),
    flatten,
    linear({ out: 60 }),
    relu,
    linear({ out: 3 }),
    softmaxCrossEntropy
  ]
})
const graph = must(buildGraph(net, input))

const whole = { grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const
const untiled: readonly Segment[] = [{ from: 0, to: graph.nodes.length, ...whole }]
const tiled: readonly Segment[] = [
  { from: 0, to: 1, ...whole },
  { from: 1, to: 6, grid: { B: 1, H: 2, W: 1 }, recompute: true, reorder: 'once' },
  { from: 6, to: graph.nodes.length, ...whole }
]

const draw = drawsOf(7)
const values = (count: number): Float32Array => Float32Array.from({ length: count }, () => draw(-1000, 1000) / 1000)
const size = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1)
const batch = (): Batch => ({ input: values(size(input)), target: [draw(0, 2), draw(0, 2)] })
const weights = new Map(
  graph.parameters.map(({ name, role, shape }) => [
    name,
    values(size(shape)).map((value) => (role === 'runningVariance' ? 1 + Math.abs(value) : 0.1 * value))
  ])
)
const devices = (['reference', 'cpu', 'cuda'] as const).filter(testsDevice)
const execution = (device: (typeof devices)[number], segments: readonly Segment[]): Execution => ({
  ...{ model: net, input, device, precision: 'float32', threads: 2, segments, weights, batch: { input: [], target: [] } }
})
const batches = [batch(), batch(), batch(), batch()]
const actions = [...update(0.05, batches[0]!, batches[1]!), ...update(0.02, batches[2]!, batches[3]!)]
const singly = batches.flatMap((one) => update(0.05, one))

for (const optimizer of optimizers.slice(1))
  for (const [how, rest] of [
    ['within the step', {}],
    ['after micro-batches', { accumulate: 2 }],
    ['clipped', { clipNorm: 0.5 }]
  ] as const)
    test(`${optimizer.kind} ${how} gives the same bits with its state on the host`, async () => {
      const objective: Training = { kind: 'train', optimizer, ...rest }
      for (const device of devices) {
        const segments = device === 'reference' ? tiled : untiled
        const run = 'accumulate' in rest ? actions : singly
        const running = execution(device, segments)
        const resident = await runSections(running, objective, run)
        const offloaded = await runSections({ ...running, offloadOptimizer: true }, objective, run)
        assertSameBits(offloaded.tensors, resident.tensors, `on ${device}`)
        assert.equal(offloaded.losses, resident.losses)
        const { program } = offloaded.staged
        const moved = program.persistentTensors.filter(({ onHost }) => onHost)
        const bytes = moved.reduce((sum, tensor) => sum + tensor.bytes, 0)
        assert.is(moved.length, optimizer.kind === 'sgd' ? 2 : 4, 'state of the second convolution and the first linear layer')
        assert.ok(program.hostBytes >= bytes)
        const threePieces = 3 * 2 ** 20 * (optimizer.kind === 'sgd' ? 1 : 2)
        const saved = resident.staged.program.peakBytes - program.peakBytes
        assert.ok(saved >= bytes - threePieces, `${saved} bytes of ${bytes} are saved`)
        assert.is(offloaded.measuredPeakBytes, program.peakBytes)
      }
    })

for (const optimizer of optimizers.slice(1))
  test(`${optimizer.kind} gives the same bits however many updates wait for their state`, async () => {
    const objective: Training = { kind: 'train', optimizer }
    for (const device of devices) {
      const running = execution(device, device === 'reference' ? tiled : untiled)
      const atOnce = await runSections({ ...running, offloadOptimizer: true }, objective, singly)
      const orders = new Set<string>()
      for (const offloadOptimizer of [[], [0, 0, 1], [0, 0, 2, 1], [0, 0, 0, 3, 0, 9], Array.from({ length: 9 }, () => 1)]) {
        const paced = await runSections({ ...running, offloadOptimizer }, objective, singly)
        assertSameBits(paced.tensors, atOnce.tensors, `${offloadOptimizer.join()} on ${device}`)
        assert.equal(paced.losses, atOnce.losses)
        const { program } = paced.staged
        must(verify(program))
        assert.is(paced.measuredPeakBytes, program.peakBytes)
        orders.add(program.step.code.map((one) => (one.kind === 'launch' ? one.kernel : one.kind)).join())
      }
      assert.ok(orders.size >= 3, 'updates stand elsewhere')
    }
  })

/** None of the weights at once, then all: those of the first layer, of few bytes, stay. */
const windows = [0, 2 ** 21]

for (const optimizer of [optimizers[0]!, optimizers.at(-1)!])
  for (const [how, rest] of [
    ['within the step, one of them frozen,', { evaluate: true, groups: [{ prefix: '3', frozen: true }] }],
    ['after micro-batches', { accumulate: 2 }],
    ['clipped, beside the state,', { clipNorm: 0.5 }]
  ] as const)
    test(`${optimizer.kind} ${how} gives the same bits with weights on the host`, async () => {
      const objective: Training = { kind: 'train', optimizer, ...rest }
      const run =
        'accumulate' in rest
          ? actions
          : [...singly, ...('evaluate' in rest ? [{ section: 'evaluate', input: batches[0]!.input } as const] : [])]
      for (const device of devices) {
        const running = execution(device, device === 'reference' ? tiled : untiled)
        const resident = await runSections(running, objective, run)
        const saved: number[] = []
        for (const offloadWeights of windows) {
          const state = 'clipNorm' in rest && { offloadOptimizer: true as const }
          const offloaded = await runSections({ ...running, offloadWeights, ...state }, objective, run)
          assertSameBits(offloaded.tensors, resident.tensors, `on ${device}`)
          assert.equal(offloaded.losses, resident.losses)
          assert.equal(offloaded.scores, resident.scores)
          const { program } = offloaded.staged
          assert.ok(E.isRight(verify(program)))
          assert.is(offloaded.measuredPeakBytes, program.peakBytes)
          assert.ok(program.persistentTensors.filter(({ name, onHost }) => name.endsWith('.weight') && onHost).length >= 2)
          saved.push(resident.staged.program.peakBytes - program.peakBytes)
        }
        assert.ok(saved[0]! > 0 && saved[0]! >= saved[1]!, saved.join())
      }
    })

test.run()
