import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { layouts, type Kernel, type KernelOf, type Profile, withProfile, referenceModel } from '../../staging'

const base = referenceModel('float32')

const relu = (count: number): KernelOf<'rectifierForward'> => ({ kind: 'rectifierForward', count, slope: 0 })
const strides = {
  sourceStride0: 0,
  sourceStride1: 0,
  sourceStride2: 0,
  destinationStride0: 0,
  destinationStride1: 0,
  destinationStride2: 0
}
const copy = (count: number, add: 0 | 1): Kernel => ({ kind: 'copyBox', n0: 1, n1: 1, n2: 1, n3: count, ...strides, add, ofParameters: 0 })
const zero: Kernel = { kind: 'zero', bytes: 4096 }

/** A profile in which each kernel takes `ratio` times what the base model says. */
const profileOf = (kernels: readonly (readonly [Kernel, number])[]): Profile => ({
  device: 'cpu',
  library: 'test',
  threads: 1,
  linkBytesPerSecond: { toDevice: 3e9, toHost: 4e9 },
  kernels: kernels.map(([kernel, ratio]) => ({ kernel: { ...kernel }, milliseconds: ratio * base.milliseconds(kernel) }))
})

const ratioOf = (model: ReturnType<typeof withProfile>, kernel: Kernel): number => model.milliseconds(kernel) / base.milliseconds(kernel)
const near = (actual: number, expected: number, tolerance = 1e-9): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)

test('a measured kernel takes its measured time, another of its family a time between its neighbours', () => {
  const model = withProfile(
    base,
    profileOf([
      [relu(1e4), 2],
      [relu(1e8), 4]
    ])
  )
  near(ratioOf(model, relu(1e4)), 2)
  near(ratioOf(model, relu(1e2)), 2)
  near(ratioOf(model, relu(1e9)), 4, 1e-3)
  const between = ratioOf(model, relu(1e6))
  assert.ok(between > 2 && between < 4, `${between}`)
  assert.is(model.sourceOf(relu(1e4)), 'measured')
  assert.is(model.sourceOf(relu(1.01e4)), 'interpolated')
  assert.is(model.sourceOf(relu(1e6)), 'extrapolated')
})

test('a family that was not measured takes the ratio of its kind, a kind that was not the base time', () => {
  const model = withProfile(base, profileOf([[copy(1e6, 0), 3]]))
  near(ratioOf(model, copy(1e6, 1)), 3, 0.02)
  near(ratioOf(model, copy(1e9, 1)), 1, 0.01)
  near(ratioOf(model, zero), 1)
  assert.is(model.sourceOf(copy(1e6, 1)), 'roofline')
  assert.is(model.sourceOf(zero), 'roofline')
})

test('far beyond its own sizes a kernel takes what others of its family take about its size', () => {
  const copies: readonly (readonly [Kernel, number])[] = [
    [copy(1e3, 1), 8],
    [copy(1e8, 1), 8]
  ]
  const small = withProfile(base, profileOf([...copies, [copy(1e3, 0), 2]]))
  near(ratioOf(small, copy(1e8, 0)), 8, 0.05)
  near(ratioOf(small, copy(1e3, 0)), 2)
  const large = withProfile(base, profileOf([...copies, [copy(1e8, 0), 2]]))
  near(ratioOf(large, copy(1e3, 0)), 8, 0.05)
  near(ratioOf(large, copy(7e7, 0)), 2, 0.05)
})

test('what may be launching does not grow with a kernel', () => {
  const small = relu(1e3)
  const timed = (milliseconds: number) => withProfile(base, profileOf([[small, milliseconds / base.milliseconds(small)]]))
  near(ratioOf(timed(0.015), relu(1e8)), 1, 0.01)
  near(ratioOf(timed(0.015), relu(1e2)), 0.015 / base.milliseconds(small))
  // What takes longer than any launch is slow.
  assert.ok(ratioOf(timed(1), relu(1e8)) > 0.97 / base.milliseconds(small))
  // Less than was modelled is so for larger ones.
  near(ratioOf(timed(base.milliseconds(small) / 2), relu(1e8)), 0.5)
})

test('a sample of kernels leaves none far from those that are measured, and takes those that matter most first', () => {
  const model = withProfile(base, profileOf([[relu(1e6), 3]]))
  const counts = Array.from({ length: 200 }, (_, index) => Math.round(1e5 * 1.03 ** index))
  const wanted = [copy(1e6, 0), ...counts.map(relu)]
  const sample = model.sample(wanted)
  assert.is(sample[0], wanted[0])
  assert.is(sample[1], wanted[1])
  assert.ok(sample.length < counts.length / 4, `${sample.length} kernels are a sample of ${counts.length}`)

  const after = withProfile(base, profileOf([[relu(1e6), 3], ...sample.map((kernel) => [kernel, 3] as const)]))
  assert.equal(after.sample(wanted), [])
  const size = (kernel: Kernel): number => Math.log(base.milliseconds(kernel))
  for (const kernel of counts.map(relu)) {
    const nearest = Math.min(...[relu(1e6), ...sample.slice(1)].map((other) => Math.abs(size(other) - size(kernel))))
    assert.ok(nearest <= Math.log(1.3) / 2 + 1e-9, `${kernel.count} elements are ${nearest} from what is measured`)
  }
})

test('a sample begins with one of each kind of which nothing is measured, the one of it that matters most', () => {
  const [large, small] = [relu(1e8), relu(1e5)]
  const wanted = [large, relu(1e7), copy(1e6, 0), copy(1e3, 0), small]
  assert.equal(withProfile(base, profileOf([])).sample(wanted), [large, copy(1e6, 0), relu(1e7), copy(1e3, 0), small])
  assert.equal(withProfile(base, profileOf([[small, 1]])).sample(wanted), [copy(1e6, 0), large, relu(1e7), copy(1e3, 0)])
})

test("a rectifier's slope makes no other family", () => {
  const model = withProfile(base, profileOf([[relu(1e6), 3]]))
  near(ratioOf(model, { ...relu(1e6), slope: 0.1 }), 3)
  assert.is(model.sourceOf({ ...relu(1e6), slope: 0.1 }), 'interpolated')
})

test('kernels of another version of Tilefold are passed over, and the link is the measured one', () => {
  const old = { kernel: { kind: 'rectifierForward', count: 7 }, milliseconds: 1 }
  const unknown = { kernel: { kind: 'convolve', count: 7 }, milliseconds: 1 }
  const later = {
    kernel: {
      kind: 'convolutionForward',
      ...{ batch: 1, inChannels: 16, inHeight: 8, inWidth: 8, outChannels: 16, outHeight: 8, outWidth: 8, groups: 1 },
      ...{ kernelHeight: 3, kernelWidth: 3, strideHeight: 1, strideWidth: 1, dilationHeight: 1, dilationWidth: 1 },
      ...{ padTop: 1, padBottom: 1, padLeft: 1, padRight: 1, algorithm: 0, slope: 1 },
      ...{ sourceLayout: 0, destinationLayout: 0, weightLayout: layouts.length }
    },
    milliseconds: 1
  }
  const model = withProfile(base, { ...profileOf([]), kernels: [old, unknown, later] })
  near(ratioOf(model, relu(7)), 1)
  assert.equal(model.linkBytesPerSecond, { toDevice: 3e9, toHost: 4e9 })
})

test.run()
