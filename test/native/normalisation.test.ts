import * as assert from 'uvu/assert'
import { test } from 'uvu'
import type { Kernel } from '../../staging/kernels/kernels'
import { gelu, sigmoid, silu, tanh } from '../../dsl'
import { getPointwiseFunctions } from '../../staging/pointwise/functions'
import { activationElements, channelBlock, layoutCode, type Layout } from '../../staging/kernels/layout'
import { operandRegions } from '../../staging/verify/operand-regions'
import { testsDevice } from '../devices'
import { close, cudaTarget, runKernel, targets, type Target } from './program'

const [batch, channels, height, width] = [2, 6, 3, 7]
const pixels = height * width
const wave = (count: number, phase: number): readonly number[] => Array.from({ length: count }, (_, i) => Math.sin(3 * i + phase))

const tried: readonly Target[] = testsDevice('cuda') ? [...targets, cudaTarget] : targets
const layouts = { reference: ['plain'], cpu: ['plain', 'nChw8c', 'nChw16c', 'nhwc'], cuda: ['plain', 'nhwc'] } as const
const layoutsOf = ({ device }: Target): readonly Layout[] => layouts[device]

/** Where an element of [batch, of, pixels] lies. */
const place = (layout: Layout, of: number, image: number, channel: number, pixel: number): number => {
  const block = channelBlock(layout, of)
  return ((image * Math.ceil(of / block) + Math.floor(channel / block)) * pixels + pixel) * block + (channel % block)
}

const each = (of: number, visit: (image: number, channel: number, pixel: number, plain: number) => void): void => {
  for (let image = 0; image < batch; image++)
    for (let channel = 0; channel < of; channel++)
      for (let pixel = 0; pixel < pixels; pixel++) visit(image, channel, pixel, place('plain', of, image, channel, pixel))
}

const laidOut = (plain: readonly number[], layout: Layout, of = channels): readonly number[] => {
  const result = new Array<number>(activationElements(layout, [batch, of, height, width])).fill(0)
  each(of, (image, channel, pixel, at) => (result[place(layout, of, image, channel, pixel)] = plain[at]!))
  return result
}

const kinds = {
  'batch normalisation': { groups: channels, perImage: 0 },
  'instance normalisation': { groups: channels, perImage: 1 },
  'group normalisation': { groups: 2, perImage: 1 },
  'layer normalisation': { groups: 1, perImage: 1 }
} as const
const epsilon = 0.1
const [weights, bias] = [wave(channels, 1), wave(channels, 2)]
/** Not about zero. */
const source = wave(batch * channels * pixels, 3).map((x) => x + 2)
const gradient = wave(source.length, 4)

type Kind = (typeof kinds)[keyof typeof kinds]
const rows = ({ groups, perImage }: Kind): number => (perImage === 1 ? batch : 1) * groups
const rowOf = ({ groups, perImage }: Kind, image: number, channel: number): number =>
  perImage * image * groups + Math.floor((channel * groups) / channels)

/** Count, mean and sum of squared deviations of each row. */
const momentsOf = (kind: Kind, x: readonly number[]): Float64Array => {
  const moments = new Float64Array(3 * rows(kind))
  const gather = (visit: (row: Float64Array, value: number) => void): void =>
    each(channels, (image, channel, _, at) => {
      const row = rowOf(kind, image, channel)
      visit(moments.subarray(3 * row, 3 * row + 3), x[at]!)
    })
  gather((row, value) => {
    row[0]! += 1
    row[1]! += value
  })
  for (let row = 0; row < rows(kind); row++) moments[3 * row + 1]! /= moments[3 * row]!
  gather((row, value) => (row[2]! += (value - row[1]!) ** 2))
  return moments
}

interface Parameters {
  readonly weights: readonly number[]
  readonly bias: readonly number[]
  readonly slope: number
}

const normalised = (
  kind: Kind,
  x: readonly number[],
  { weights, bias, slope }: Parameters,
  moments = momentsOf(kind, x)
): readonly number[] => {
  const y = new Array<number>(x.length)
  each(channels, (image, channel, _, at) => {
    const [count, mean, deviations] = moments.subarray(3 * rowOf(kind, image, channel)) as unknown as readonly [number, number, number]
    const value = ((x[at]! - mean) / Math.sqrt(deviations / count + epsilon)) * weights[channel]! + bias[channel]!
    y[at] = value > 0 ? value : slope * value
  })
  return y
}

/** How sum(dy y) changes with each number, by differences. */
const slopes = (at: readonly number[], f: (x: readonly number[]) => readonly number[]): readonly number[] => {
  const h = 1e-5
  const loss = (x: readonly number[]): number => f(x).reduce((sum, y, i) => sum + y * gradient[i]!, 0)
  return at.map((x, i) => (loss(at.with(i, x + h)) - loss(at.with(i, x - h))) / (2 * h))
}

for (const [name, kind] of Object.entries(kinds)) {
  const moments = momentsOf(kind, source)

  for (const target of tried)
    for (const layout of layoutsOf(target))
      test(`moments of two tiles are those of both, ${name}, ${target.device} ${target.precision} ${layout}`, async () => {
        const kernel: Kernel = { kind: 'momentsForward', batch, channels, height, width, layout: layoutCode(layout), ...kind }
        const slack = { ...target, tolerance: 1e-6 }
        const [, first] = await runKernel(kernel, [laidOut(source, layout), new Float64Array(moments.length)], target)
        close(first!, [...moments], slack)
        const negative = source.map((x) => -x)
        const [, both] = await runKernel(kernel, [laidOut(negative, layout), Float64Array.from(first!)], target)
        each(channels, (image, channel) => {
          const row = 3 * rowOf(kind, image, channel)
          const [count, mean, deviations] = [moments[row]!, moments[row + 1]!, moments[row + 2]!]
          close(both!.slice(row, row + 3), [2 * count, 0, 2 * (deviations + count * mean * mean)], slack)
        })
      })

  for (const slope of [1, 0.25, 0]) {
    const parameters = { weights, bias, slope }
    const y = normalised(kind, source, parameters)
    const bySource = slopes(source, (x) => normalised(kind, x, parameters))
    const byConstant = slopes(source, (x) => normalised(kind, x, parameters, moments))
    const byWeights = slopes(weights, (w) => normalised(kind, source, { ...parameters, weights: w }))
    const byBias = slopes(bias, (b) => normalised(kind, source, { ...parameters, bias: b }))

    for (const target of tried)
      for (const layout of layoutsOf(target)) {
        const where = `slope ${slope}, ${name}, ${target.device} ${target.precision} ${layout}`
        const fields = { batch, channels, height, width, layout: layoutCode(layout), ...kind, epsilon, slope }
        const [x, dy] = [laidOut(source, layout), laidOut(gradient, layout)]
        const read = [x, moments, weights, bias] as const
        const slack = { ...target, tolerance: 2e-6 }

        test(`y follows from the statistics, ${where}`, async () => {
          close((await runKernel({ kind: 'normaliseForward', ...fields }, [...read, dy], target))[4]!, laidOut(y, layout), target)
        })

        test(`gradients are those of finite differences, ${where}`, async () => {
          const images = kind.perImage === 1 ? batch : 1
          const none = new Float64Array(2 * images * channels)
          const sums = Float64Array.from((await runKernel({ kind: 'normaliseBackwardReduce', ...fields }, [...read, dy, none], target))[5]!)
          const ofParameters: Kernel = { kind: 'normaliseParameters', images, channels }
          const [, weightGradient, biasGradient] = await runKernel(ofParameters, [sums, weights, weights], target)
          close(weightGradient!, byWeights, slack)
          close(biasGradient!, byBias, slack)
          const before = laidOut(wave(source.length, 5), layout)
          for (const add of [0, 1])
            for (const [known, expected] of [
              [sums, bySource],
              [undefined, byConstant]
            ] as const) {
              const dx = (await runKernel({ kind: 'normaliseBackward', ...fields, add }, [...read, known, dy, before], target))[6]!
              close(
                dx,
                laidOut(expected, layout).map((value, i) => value + add * before[i]!),
                slack
              )
            }
        })
      }
  }
}

for (const target of tried) {
  const name = `${target.device} ${target.precision}`

  // The mean is a million deviations from zero, as far as float32 tells the values apart at all.
  test(`data far from zero keep their statistics and their digits, ${name}`, async () => {
    const count = 5000
    const far = wave(count, 1).map((x) => Math.fround(4096 + 4 * x))
    const mean = far.reduce((sum, x) => sum + x, 0) / count
    const deviations = far.reduce((sum, x) => sum + (x - mean) ** 2, 0)
    const tile = { batch: 1, channels: 1, height: 1, width: count, layout: 0, groups: 1, perImage: 0 }
    const [, moments] = await runKernel({ kind: 'momentsForward', ...tile }, [far, new Float64Array(3)], target)
    assert.is(moments![0], count)
    assert.ok(Math.abs(moments![1]! / mean - 1) < 1e-12)
    assert.ok(Math.abs(moments![2]! / deviations - 1) < 1e-9)
    const kernel: Kernel = { kind: 'normaliseForward', ...tile, epsilon: 0, slope: 1 }
    const [, , , , y] = await runKernel(kernel, [far, Float64Array.from(moments!), undefined, undefined, far], target)
    close(
      y!,
      far.map((x) => (x - mean) / Math.sqrt(deviations / count)),
      target
    )
  })

  for (const layout of layoutsOf(target).filter((each) => each === 'plain' || each === 'nhwc'))
    test(`statistics are finite where squares are not in float32, ${name} ${layout}`, async () => {
      const [many, width, unit] = [8, 100, 2 ** 80]
      // 0, ±unit and ±2 unit, as often as each other in every channel of either layout.
      const x = Array.from({ length: many * width }, (_, i) => unit * (((layout === 'plain' ? i : Math.floor(i / many)) % 5) - 2))
      const tile = { batch: 1, channels: many, height: 1, width, layout: layoutCode(layout), groups: many, perImage: 0 }
      const [, moments] = await runKernel({ kind: 'momentsForward', ...tile }, [x, new Float64Array(3 * many)], target)
      for (let row = 0; row < 3 * many; row += 3) {
        assert.ok(Math.abs(moments![row + 1]! / unit) < 1e-6)
        assert.ok(Math.abs(moments![row + 2]! / (2 * width * unit ** 2) - 1) < 1e-6)
      }
    })

  for (const layout of layoutsOf(target).filter((each) => each === 'plain' || each === 'nhwc'))
    test(`a first element far from all others leaves the variance its digits, ${name} ${layout}`, async () => {
      const [many, width, apart, noise] = [8, 60_000, 100.3, 2 ** -10]
      const x = Float32Array.from({ length: many * width }, (_, i) => {
        const pixel = layout === 'plain' ? i % width : Math.floor(i / many)
        return pixel === 0 ? apart : pixel % 2 === 0 ? noise : -noise
      })
      const tile = { batch: 1, channels: many, height: 1, width, layout: layoutCode(layout), groups: many, perImage: 0 }
      const [, moments] = await runKernel({ kind: 'momentsForward', ...tile }, [[...x], new Float64Array(3 * many)], target)
      const of = Array.from({ length: width }, (_, pixel) => x[layout === 'plain' ? pixel : pixel * many]!)
      const mean = of.reduce((sum, value) => sum + value, 0) / width
      const deviations = of.reduce((sum, value) => sum + (value - mean) ** 2, 0)
      for (let row = 0; row < 3 * many; row += 3)
        assert.ok(Math.abs(moments![row + 2]! / deviations - 1) < 1e-4, `${moments![row + 2]} for ${deviations}`)
    })

  test(`running statistics move towards the batch's, and stand for moments, ${name}`, async () => {
    const moments = Float64Array.of(4, 0.5, 6, 11, -2, 20)
    const kernel: Kernel = { kind: 'updateRunning', channels: 2, momentum: 0.25 }
    const [, mean, variance] = await runKernel(kernel, [moments, [1, 2], [3, 4]], target)
    close(mean!, [0.75 + 0.125, 1.5 - 0.5], target)
    close(variance!, [2.25 + 0.5, 3 + 0.5], target)
    const [, , running] = await runKernel({ kind: 'momentsOfRunning', channels: 2 }, [[1, 2], [3, 4], new Float64Array(6)], target)
    assert.equal(running, [1, 1, 3, 1, 2, 4])
  })

  test(`parts of ranks are merged and added in their order, ${name}`, async () => {
    // Of 1, 3 and of 5; of 2 and of 2, 6; a part of nothing.
    const parts = Float64Array.of(2, 2, 2, 1, 2, 0, 1, 5, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0)
    const [, merged] = await runKernel({ kind: 'mergeMoments', rows: 2, parts: 3 }, [parts, Float64Array.of(9, 9, 9, 9, 9, 9)], target)
    close(merged!, [3, 3, 8, 3, 10 / 3, 32 / 3], target)
    const [, sums] = await runKernel(
      { kind: 'addSums', count: 2, parts: 3 },
      [Float64Array.of(1, 2, 30, 40, 500, 600), new Float64Array(2)],
      target
    )
    close(sums!, [531, 642], target)
  })

  test(`of the maxima of ranks the largest is taken, of equals the first in place, ${name}`, async () => {
    // The largest; the first of equals, which a later rank has; a NaN; the only one that there is.
    const parts = Float64Array.of(2, 1, 3, 9, 7, 4, 0, 0, 5, 8, 3, 6, NaN, 9, -1, 7)
    const [, maxima, largest] = await runKernel(
      { kind: 'mergeMaxima', rows: 4, parts: 2 },
      [parts, new Float64Array(8), [0, 0, 0, 0]],
      target
    )
    assert.equal(Array.from(maxima!), [5, 8, 3, 6, NaN, 9, -1, 7])
    assert.equal(Array.from(largest!), [5, 3, NaN, -1])
  })

  test(`two tensors are added and rectified, into either of them, ${name}`, async () => {
    const [first, second] = [wave(100, 1), wave(100, 2)]
    for (const slope of [1, 0, 0.5]) {
      const kernel: Kernel = { kind: 'addForward', count: 100, slope }
      const sum = first.map((x, i) => x + second[i]!).map((x) => (x > 0 ? x : slope * x))
      close((await runKernel(kernel, [first, second, first], target))[2]!, sum, target)
    }
  })

  for (const layout of layoutsOf(target)) {
    const tile = { batch, channels, height, width, layout: layoutCode(layout) }
    const x = wave(source.length, 6).map((value) => 4 * value)

    /** Of each function at 0, 1 and -2. */
    const values = [
      [0.5, 0.7310585786300049, 0.11920292202211755],
      [0, 0.7615941559557649, -0.9640275800758169],
      [0, 0.7310585786300049, -0.2384058440442351],
      [0, 0.8413447460685429, -0.04550026389635842]
    ]
    const functions = [sigmoid, tanh, silu, gelu].map(({ args }) => ({ ...args, ...getPointwiseFunctions(args) }))
    const shared = { broadcast: 0, weightPerChannel: 0, biasPerChannel: 0 }
    const absent = [undefined, undefined, undefined]
    for (const [index, { function: called, ...own }] of functions.entries())
      test(`${called} and its gradient, ${name} ${layout}`, async () => {
        const [expected, keepsOutput] = [values[index]!, 'derivativeOfOutput' in own]
        const forward = async (at: readonly number[]): Promise<readonly number[]> =>
          (
            await runKernel(
              { kind: 'pointwiseForward', ...tile, ...shared, expression: own.forward },
              [laidOut(at, layout), ...absent, laidOut(at, layout)],
              target
            )
          )[4]!
        const known = await forward(x.map((_, i) => [0, 1, -2][i % 3]!))
        close(
          known,
          laidOut(
            x.map((_, i) => expected[i % 3]!),
            layout
          ),
          target
        )
        const kept = keepsOutput ? await forward(x) : laidOut(x, layout)
        const [, , , , , found] = await runKernel(
          { kind: 'pointwiseBackward', ...tile, ...shared, expression: own.backward('input') },
          [kept, ...absent, laidOut(gradient, layout), laidOut(gradient, layout)],
          target
        )
        // Differences of float64 values, whatever the target's own precision.
        const [double, h] = [targets[0], 1e-5]
        const at = async (shift: number): Promise<readonly number[]> => {
          const plain = { ...tile, ...shared, layout: 0, expression: own.forward }
          const moved = x.map((value) => value + shift)
          return (await runKernel({ kind: 'pointwiseForward', ...plain }, [moved, ...absent, moved], double))[4]!
        }
        const [above, below] = [await at(h), await at(-h)]
        const slope = laidOut(
          above.map((value, i) => (gradient[i]! * (value - below[i]!)) / (2 * h)),
          layout
        )
        close(found!, slope, { ...target, tolerance: 1e-6 })
      })
  }

  const ranges = [
    [16, 0, 32],
    [16, 3, 20],
    [20, 16, 36],
    [8, 24, 40],
    [5, 0, 5]
  ] as const
  for (const from of layoutsOf(target))
    for (const to of layoutsOf(target))
      for (const [count, first, of] of ranges)
        for (const add of [0, 1])
          test(`${count} channels from ${from} into ${to} at ${first} of ${of}, add ${add}, write what they say, ${name}`, async () => {
            const [sourceChannels, sourceFirst] = [count + 9, 4]
            const kernel: Kernel = {
              kind: 'copyChannels',
              batch,
              height,
              width,
              count,
              sourceChannels,
              sourceFirst,
              sourceLayout: layoutCode(from),
              destinationChannels: of,
              destinationFirst: first,
              destinationLayout: layoutCode(to),
              add
            }
            const plain = wave(batch * sourceChannels * pixels, 7)
            const untouched = 100
            const before = new Array<number>(activationElements(to, [batch, of, height, width])).fill(untouched)
            const expected = [...before]
            each(count, (image, channel, pixel) => {
              const value = plain[place('plain', sourceChannels, image, sourceFirst + channel, pixel)]!
              expected[place(to, of, image, first + channel, pixel)] = value + add * untouched
            })
            const after = (await runKernel(kernel, [laidOut(plain, from, sourceChannels), before], target))[1]!
            const inBlock = channelBlock(to, of)
            const written = new Set<number>()
            const { region, use } = operandRegions(kernel, { activationBytes: 1, parameterBytes: 1 })[1]!
            if (region.kind !== 'bytes') throw new Error('not bytes')
            const starts = region.repeats.reduce<readonly number[]>(
              (known, repeat) => known.flatMap((start) => Array.from({ length: repeat.count }, (_, i) => start + i * repeat.stride)),
              [region.start ?? 0]
            )
            for (const start of starts) for (let i = 0; i < region.run; i++) written.add(start + i)
            const isPadding = (at: number): boolean =>
              Math.floor(Math.floor(at / inBlock / pixels) % Math.ceil(of / inBlock)) * inBlock + (at % inBlock) >= of
            close(
              after,
              expected.map((value, at) => (isPadding(at) && add === 0 && first + count === of ? 0 : value)),
              target
            )
            after.forEach((value, at) => {
              if (value !== untouched) assert.ok(written.has(at), `element ${at} is written, but not said`)
              else if (use === 'write') assert.not(written.has(at), `element ${at} is said to be written`)
            })
          })
}

test.run()
