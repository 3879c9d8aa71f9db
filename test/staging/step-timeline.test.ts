/** A step as it is predicted to run: engines by their spans, memory by the lifetimes of buffers. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, relu, softmaxCrossEntropy } from '../../dsl'
import { referenceModel, stage, stepTimeline, type BufferSpan, type Program, type StageRequest } from '../../staging'
import { must } from '../must'

const layers = [
  conv2d({ out: 4, k: 3, p: 1 }),
  batchNorm(),
  relu,
  conv2d({ out: 4, k: 3, p: 1 }),
  relu,
  maxPool2d({ k: 2 }),
  globalAvgPool,
  linear({ out: 2 }),
  softmaxCrossEntropy
]

const request: StageRequest = {
  model: model({ name: 'net', layers }),
  input: [1, 3, 32, 32],
  device: referenceModel('float32'),
  strategy: 'auto',
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
}

const order = layers.map((_, position) => position)
const whole = { grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const
const tiled = { grid: { B: 1, H: 4, W: 2 }, recompute: true, reorder: 'once' } as const
const rest = { from: 7, to: 9, ...whole }

const plans: Readonly<Record<string, Partial<StageRequest>>> = {
  whole: { given: { order, segments: [{ from: 0, to: 9, ...whole }] } },
  tiled: { given: { order, segments: [{ from: 0, to: 1, ...tiled }, { from: 1, to: 7, ...tiled }, rest] } },
  prefetched: { given: { order, segments: [{ from: 0, to: 1, ...tiled, prefetch: true }, { from: 1, to: 7, ...tiled }, rest] } },
  swapped: {
    given: { order, segments: [{ from: 0, to: 9, ...whole }], swapSchedule: [{ tensor: 'output of 2', swapOut: 4, freed: 5, swapIn: 12 }] }
  },
  virtual: { strategy: 'plain', placement: { allocator: 'virtual', pageBytes: 4096 } }
}

const overlap = (a: { readonly from: number; readonly to: number }, b: { readonly from: number; readonly to: number }): boolean =>
  a.from < b.to && b.from < a.to

const liveAt = ({ buffers }: Program, lifetimes: readonly BufferSpan[], time: number): number =>
  lifetimes.reduce((sum, { buffer, from, to }) => sum + (from <= time && time < to ? buffers[buffer]!.bytes : 0), 0)

for (const [name, more] of Object.entries(plans))
  test(`${name}: a step takes what the plan says, engines do one thing at a time, and no byte holds two buffers at once`, () => {
    const asked = { ...request, ...more }
    const { program, predicted } = must(stage(asked))
    const { nanoseconds, spans, lifetimes, hostLifetimes } = stepTimeline(program, asked.device)
    assert.is(nanoseconds / 1e6, predicted.stepMilliseconds)
    assert.ok(spans.every(({ from, to }) => 0 <= from && from <= to && to <= nanoseconds))
    for (const [index, span] of spans.entries()) {
      const before = spans[index - 1]
      if (before?.engine === span.engine) assert.ok(before.to <= span.from, `${before.what} and ${span.what}`)
    }
    for (const [index, one] of lifetimes.entries())
      for (const other of lifetimes.slice(0, index)) {
        const [a, b] = [one, other].map(({ buffer }) => program.buffers[buffer]!)
        const places = [a!, b!].map(({ offset, bytes }) => ({ from: offset, to: offset + bytes }))
        const clash = one.buffer !== other.buffer && overlap(one, other) && overlap(places[0]!, places[1]!)
        assert.not.ok(clash, `${a!.name} and ${b!.name}`)
      }
    const most = Math.max(...lifetimes.map(({ from }) => liveAt(program, lifetimes, from)))
    assert.ok(most > program.peakBytes / 2 && most <= program.peakBytes, `${most} of ${program.peakBytes}`)
    assert.is(hostLifetimes.length > 0, predicted.peakHostBytes > 0)
    assert.is(
      spans.some(({ engine }) => engine === 'to-host'),
      predicted.peakHostBytes > 0
    )
  })

test('buffers know their layer and what they hold', () => {
  const { program } = must(stage({ ...request, ...plans['tiled'] }))
  const of = (name: string) => {
    const { kind, layer } = program.buffers.find((buffer) => buffer.name === name)!
    return [kind, layer]
  }
  assert.equal(of('3.weight'), ['parameters', '3'])
  assert.equal(of('velocity.3.weight'), ['optimizer state', '3'])
  assert.equal(of('the output of 0'), ['activations', '0'])
  assert.equal(of('the gradient of the output of 0'), ['gradients of activations', '0'])
  assert.equal(of('tile of the output gradient'), ['gradients of activations', undefined])
})

test.run()
