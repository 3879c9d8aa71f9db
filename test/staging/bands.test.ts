import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model, relu, residual } from '../../dsl'
import { referenceModel, stage, verify, type Instruction, type Segment, type Staged, type StageRequest } from '../../staging'
import type { LinkRates } from '../../staging/devices/device-model'
import { must } from '../must'

const net = model({
  name: 'rows',
  layers: [conv2d({ out: 8, k: 3, p: 1 }), relu, conv2d({ out: 8, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
})
/** Slow enough that bands take a part of the time that computing does. */
const rates: LinkRates = { toDevice: 2e8, toHost: 2e8 }
const request = {
  ...{ model: net, input: [1, 3, 96, 64], objective: { kind: 'gradients' }, source: { kind: 'float' } },
  device: { ...referenceModel('float32'), linkBytesPerSecond: rates }
} as const satisfies Partial<StageRequest>

const staged = (asked: Partial<StageRequest> & Pick<StageRequest, 'strategy'>): Staged => {
  const result = must(stage({ ...request, ...asked }))
  const verified = verify(result.program)
  assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
  return result
}

const segmentsIn = (rows: number, ahead: boolean): readonly Segment[] => {
  const tiles = { grid: { B: 1, H: rows, W: 1 }, recompute: true, reorder: 'once', ...(ahead && { prefetch: true as const }) } as const
  return [
    { from: 0, to: 2, ...tiles, hostTensors: [1] },
    { from: 2, to: 4, ...tiles, hostTensors: [3] },
    { from: 4, to: 7, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  ]
}
const inRows = (rows: number, ahead: boolean, asked: Partial<StageRequest> = {}) => {
  const given = { order: [0, 1, 2, 3, 4, 5, 6], segments: segmentsIn(rows, ahead) }
  const { predicted, program } = staged({ ...asked, strategy: 'plain', given })
  return { milliseconds: predicted.stepMilliseconds, peakBytes: program.peakBytes }
}

test('bands that pass beside computing take less time and more memory, the more so the more tiles there are', () => {
  const [four, fourAhead, twelveAhead] = [inRows(4, false), inRows(4, true), inRows(12, true)]
  assert.ok(fourAhead.milliseconds < 0.9 * four.milliseconds, `${fourAhead.milliseconds} ms instead of ${four.milliseconds}`)
  assert.ok(twelveAhead.milliseconds < fourAhead.milliseconds)
  assert.ok(fourAhead.peakBytes > four.peakBytes)
})

test('a band of a gradient that is brought from the host and neither begins a tile nor goes back is refused', () => {
  const { program } = staged({ strategy: 'plain', given: { order: [0, 1, 2, 3, 4, 5, 6], segments: segmentsIn(4, false) } })
  const withoutSeeds = (code: readonly Instruction[]): readonly Instruction[] =>
    code.map((one): Instruction => {
      if (one.kind === 'loop') return { ...one, body: withoutSeeds(one.body) }
      if (one.kind !== 'copy') return one
      const { seed: _, ...copy } = one
      return copy
    })
  const verified = verify({ ...program, step: { ...program.step, code: withoutSeeds(program.step.code) } })
  assert.match(
    isRight(verified) ? '' : verified.left.message,
    /host brings a part of "the gradient of the output of 3 on the host" that is neither a seed nor goes back\.$/
  )
})

test('where the threads that compute copy too, what passes beside computing takes from it', () => {
  const device = { ...request.device, copyBytesPerSecond: rates }
  const [inTurn, ahead] = [inRows(4, false, { device }), inRows(4, true, { device })]
  assert.is(inTurn.milliseconds, inRows(4, false).milliseconds)
  assert.ok(ahead.milliseconds >= inTurn.milliseconds)
  const slow = inRows(4, true, { device: { ...device, copyBytesPerSecond: { toDevice: 2e9, toHost: 2e9 } } })
  assert.ok(slow.milliseconds < inTurn.milliseconds, 'a link that is slower than the memory leaves most of the threads to computing')
})

test('a host tensor that a segment before normalises goes in bands through one that only adds it', () => {
  const block = residual([batchNorm(), relu, conv2d({ out: 8, k: 3, p: 1 })])
  const skipping = model({ name: 'skip', layers: [conv2d({ out: 8, k: 3, p: 1 }), block, globalAvgPool, linear({ out: 2 })] })
  const rows = { grid: { B: 1, H: 4, W: 1 }, recompute: true, reorder: 'once' } as const
  const whole = { grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const
  const segments: readonly Segment[] = [
    { from: 0, to: 1, ...rows, hostTensors: [0] },
    { from: 1, to: 4, ...rows },
    { from: 4, to: 5, ...rows },
    { from: 5, to: 8, ...whole }
  ]
  const given = { order: [0, 1, 2, 3, 4, 5, 6, 7], segments }
  assert.ok(staged({ model: skipping, strategy: 'plain', given }).program.hostBytes > 0)
})

test('sft-offload lets bands pass beside computing where that is faster', () => {
  const normalised = () => [conv2d({ out: 8, k: 3, p: 1, bias: false }), batchNorm(), relu]
  const deep = model({ name: 'deep', layers: [...normalised(), ...normalised(), ...normalised(), globalAvgPool, linear({ out: 2 })] })
  const activation = 4 * 8 * 96 * 64
  const planOn = (device: StageRequest['device']) => {
    const { plan, predicted } = staged({
      model: deep,
      strategy: 'sft-offload',
      budget: { bytes: activation },
      hostBudget: { bytes: Infinity },
      device
    })
    assert.ok(plan.segments.some(({ hostTensors }) => hostTensors !== undefined))
    return { loads: plan.segments.some(({ prefetch }) => prefetch), milliseconds: predicted.stepMilliseconds }
  }
  const [beside, inTurn] = [planOn(request.device), planOn({ ...request.device, copyBytesPerSecond: rates })]
  assert.ok(beside.loads && !inTurn.loads)
  assert.ok(beside.milliseconds < inTurn.milliseconds)
})

test.run()
