/**
 * Windows whose outputs are those of the whole image: by what their scores read of it.
 */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import {
  type Layers,
  type Model,
  avgPool2d,
  conv2d,
  convTranspose2d,
  denseBlock,
  maxPool2d,
  meanSquaredError,
  relu,
  resize,
  pad
} from '../../../dsl'
import type { Extent2 } from '../../../src/images/resolution'
import { freezeModel } from '../../../src/model/model-layers'
import { buildSetupGraph, imageNetSource, planNetwork } from '../../../src/plans/plan-network'
import { fieldsAt, planWindows } from '../../../src/running/plan-windows'
import { withNetwork } from '../../../src/running/running-network'
import { chooseWindowExtent, windowSpans } from '../../../src/running/window-spans'
import { buildGraph, receptiveField, type ReceptiveField } from '../../../staging'
import { must } from '../../must'
import { propertyRuns } from '../../property-runs'
import { noise } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'

test('windows cover a side once, each by what no cut edge reaches', () => {
  const field = fc.record({ step: fc.integer({ min: 1, max: 8 }), before: fc.nat({ max: 3 }), after: fc.nat({ max: 3 }) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 9 }), field, (length, parts, { step, before, after }) => {
      const given: ReceptiveField = { stride: step, before: step * before, after: step * after }
      const extent = chooseWindowExtent(length, parts, given)
      if (extent === undefined || extent === 0) return
      const spans = windowSpans(length, extent, given)
      assert.equal([spans[0]!.from, spans.at(-1)!.to], [0, length])
      spans.forEach(({ start, from, to }, index) => {
        assert.ok(start >= 0 && start + extent <= length && from < to)
        if (index > 0) assert.is(from, spans[index - 1]!.to)
        // One half is without what is over at the end, the other at the beginning.
        const over = length % step
        const isMoved = over > 0 && from >= Math.floor(length / 2)
        const [first, end] = isMoved ? [over, length] : [0, length - over]
        assert.is((start - first) % step, 0)
        assert.ok(first <= start && start + extent <= end)
        assert.ok(start === first || from >= start + given.before, 'too near to its beginning')
        assert.ok(start + extent === end || to <= start + extent - given.after, 'too near to its end')
      })
    }),
    propertyRuns(500)
  )
})

test('of a side that is no multiple of the stride the same outputs are moved, whatever the windows', () => {
  const field: ReceptiveField = { stride: 4, before: 8, after: 12 }
  /** Where the window begins, beside a multiple of the stride, that each output is taken of. */
  const phases = (length: number, extent: number): readonly number[] =>
    windowSpans(length, extent, field).flatMap(({ start, from, to }) => new Array<number>(to - from).fill(start % 4))
  for (const extent of [24, 28, 60, 96, 100])
    assert.equal(
      phases(101, extent),
      Array.from({ length: 101 }, (_, at) => (at < 50 ? 0 : 1)),
      `windows of ${extent}`
    )
  // As many as of a side that is one.
  assert.is(windowSpans(101, 76, field).length, 2)
  // Smaller than what an output reads: two of all but what is over.
  const large: ReceptiveField = { stride: 16, before: 96, after: 96 }
  assert.is(chooseWindowExtent(100, 2, large), 96)
  assert.is(chooseWindowExtent(100, 4, large), undefined)
  assert.equal(windowSpans(100, 96, large), [
    { start: 0, from: 0, to: 50 },
    { start: 4, from: 50, to: 100 }
  ])
})

test('where no window fits, each is smaller than the one before, on either side, down to the least', async () => {
  const dilated = conv2d({ out: 4, k: 3, p: 16, d: 16 })
  const wide: Model = { name: 'wide', layers: [dilated, relu, dilated, relu, dilated] }
  const graphAt = ({ height, width }: Extent2) => buildGraph(wide, [1, 3, height, width])
  const tried: Extent2[] = []
  const planAt = (window: Extent2) => {
    tried.push(window)
    return TE.left({ code: 'budget' as const, message: 'it does not fit' })
  }
  for (const extent of [
    { height: 600, width: 700 },
    { height: 100, width: 5000 }
  ]) {
    tried.length = 0
    const planned = planWindows({ graphAt, planAt, refuse: (_, reason) => reason }, [extent], fieldsAt({ graphAt }, extent)!)
    assert.equal(await failureOf(planned), { code: 'budget', message: 'it does not fit' })
    assert.equal(tried.at(-1), { height: 97, width: 97 })
    const pixels = tried.map(({ height, width }) => height * width)
    assert.ok(pixels.every((count, index) => index === 0 || count < pixels[index - 1]!))
    assert.ok(tried.length < 25, `${tried.length} windows`)
  }
})

test('windows that are no larger than what lies around an output cover the side that they are, and no longer one', () => {
  const field: ReceptiveField = { stride: 16, before: 96, after: 96 }
  assert.is(chooseWindowExtent(128, 1, field), 128)
  assert.is(chooseWindowExtent(128, 1, field, 500), undefined)
  assert.is(chooseWindowExtent(208, 1, field, 500), 208)
  assert.equal(windowSpans(128, 128, field), [{ start: 0, from: 0, to: 128 }])
  assert.throws(() => windowSpans(500, 128, field), /never cover 500/)
})

test('what outputs read: of layers by hand, and of none where they read all', () => {
  const of = (body: Layers, side = 64): ReceptiveField | undefined =>
    receptiveField(must(buildGraph({ name: 'net', layers: body }, [1, 3, side, side])), 'H')
  const end = conv2d({ out: 2, k: 1 })
  assert.equal(of([end]), { stride: 1, before: 0, after: 0 })
  assert.equal(of([conv2d({ out: 2, k: 5, p: 2 }), end]), { stride: 1, before: 2, after: 2 })
  assert.equal(of([conv2d({ out: 2, k: 3, p: 3, d: 3 }), end]), { stride: 1, before: 3, after: 3 })
  assert.equal(of([maxPool2d({ k: 2 }), convTranspose2d({ out: 2, k: 2, s: 2 })]), { stride: 2, before: 0, after: 0 })
  // Output 2k reads the inputs 2(k - 1) to 2(k + 1) + 1 by a convolution at half the size.
  assert.equal(of([maxPool2d({ k: 2 }), conv2d({ out: 2, k: 3, p: 1 }), resize({ mode: 'nearest', scale: 2 })]), {
    ...{ stride: 2, before: 2, after: 2 }
  })
  assert.is(of([resize({ mode: 'bilinear', size: [48, 48] }), resize({ mode: 'nearest', size: [64, 64] }), end]), undefined)
  assert.is(receptiveField(must(buildGraph(freezeModel(segmenting), [1, 3, 64, 64])), 'H'), undefined)
})

/** Bodies that bring an image back to its size, of whatever they are drawn. */
const body: fc.Arbitrary<Layers> = fc
  .array(
    fc.constantFrom<Layers[]>(
      [conv2d({ out: 4, k: 3, p: 1 })],
      [conv2d({ out: 4, k: 3, p: 2, d: 2 }), relu],
      [pad({ p: [2, 0, 0, 2] }), conv2d({ out: 4, k: 3 })],
      [maxPool2d({ k: 2 }), conv2d({ out: 4, k: 3, p: 1 }), convTranspose2d({ out: 4, k: 2, s: 2 })],
      [avgPool2d({ k: 2 }), resize({ mode: 'bilinear', scale: 2 })],
      [denseBlock([conv2d({ out: 4, k: 3, s: 2, p: 1 }), convTranspose2d({ out: 4, k: 4, s: 2, p: 1 })])],
      [conv2d({ out: 4, k: 3, s: 2, p: 1 }), conv2d({ out: 4, k: 3, s: 2, p: 1 }), resize({ mode: 'nearest', scale: 4 })]
    ),
    { minLength: 1, maxLength: 3 }
  )
  .map((parts) => [...parts.flat(), conv2d({ out: 2, k: 1 })])

const scoresOf = (
  model: Model,
  pixels: Uint8Array,
  whole: number,
  { top, left, height, width }: Record<'top' | 'left' | 'height' | 'width', number>
) =>
  valueOf(
    pipe(
      buildSetupGraph(
        {
          model: { ...model, layers: [...freezeModel(model).layers, meanSquaredError] },
          device: 'reference',
          precision: 'float64',
          threads: 1,
          strategy: 'plain',
          input: [1, 3, height, width]
        },
        { kind: 'evaluate' },
        imageNetSource
      ),
      E.chain(planNetwork),
      TE.fromEither,
      TE.chain((planned) =>
        withNetwork({ planned, device: 'reference', seed: 9 }, (network) => {
          const image = { pixels, height: whole, width: whole, channels: 3, cropTop: top, cropLeft: left } as const
          return pipe(
            network.step({ learningRate: 0, step: 0, seed: 0 }, [
              { ...image, flipHorizontal: false, flipVertical: false, quarterTurns: 0 }
            ]),
            TE.map(() => Float64Array.from(network.io.view('scores')))
          )
        })
      )
    )
  )

test('a window makes, away from its cut edges, what the whole image makes there', async () => {
  const side = 64
  const pixels = noise(3 * side * side, 4)
  await fc.assert(
    fc.asyncProperty(body, fc.integer({ min: 2, max: 4 }), async (drawn, parts) => {
      const model: Model = { name: 'drawn', layers: drawn }
      const field = receptiveField(must(buildGraph(model, [1, 3, side, side])), 'H')!
      const extent = chooseWindowExtent(side, parts, field)!
      const whole = await scoresOf(model, pixels, side, { top: 0, left: 0, height: side, width: side })
      for (const { start, from, to } of windowSpans(side, extent, field)) {
        const cut = await scoresOf(model, pixels, side, { top: start, left: 0, height: extent, width: side })
        for (let channel = 0; channel < 2; channel += 1)
          for (let row = from; row < to; row += 1)
            for (let column = 0; column < side; column += 1) {
              const [one, other] = [cut[(channel * extent + row - start) * side + column]!, whole[(channel * side + row) * side + column]!]
              assert.ok(Math.abs(one - other) <= 1e-12 * Math.max(1, Math.abs(other)), `row ${row} of ${start} to ${start + extent}`)
            }
      }
    }),
    propertyRuns(12)
  )
})

test.run()
