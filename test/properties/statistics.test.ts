// Gradients through batch statistics, running statistics and evaluation against the chain rule
// written out in loops of its own.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, maxPool2d, meanSquaredError, relu, type Model } from '../../dsl'
import type { Segment, Training } from '../../staging'
import { gradients, type Execution } from '../golden/execute'
import { drawsOf } from '../staging/random-nets'
import { runSections, update } from '../training/execute'
import { assertTensorsClose } from './random-execution'

const [batch, height, width] = [2, 27, 19]
const [epsilon, momentum] = [0.01, 0.2]
const network: Model = {
  name: 'net',
  layers: [
    conv2d({ out: 4, k: 3, s: 2, p: 1 }),
    batchNorm({ eps: epsilon, momentum }),
    relu,
    conv2d({ out: 5, k: 3, p: 1 }),
    batchNorm({ eps: epsilon, momentum }),
    relu,
    maxPool2d({ k: 3, s: 2, p: 1 }),
    globalAvgPool,
    meanSquaredError
  ]
}

type Numbers = Float64Array<ArrayBuffer>

/** [batch, channels, height, width]. */
interface Image {
  readonly channels: number
  readonly height: number
  readonly width: number
  readonly values: Numbers
}
type Values = ReadonlyMap<string, Numbers>

const imageOf = (channels: number, rows: number, columns: number, values = new Float64Array(batch * channels * rows * columns)): Image => ({
  channels,
  height: rows,
  width: columns,
  values
})
const place = ({ channels, height, width }: Image, b: number, c: number, y: number, x: number): number =>
  ((b * channels + c) * height + y) * width + x
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)
const eachElement = ({ channels, height, width }: Image, visit: (b: number, c: number, y: number, x: number) => void): void => {
  for (const b of range(batch))
    for (const c of range(channels)) for (const y of range(height)) for (const x of range(width)) visit(b, c, y, x)
}
const half = (extent: number): number => Math.floor((extent - 1) / 2) + 1

/**
 * Every product of a 3 x 3 convolution with padding 1: of the output's element, the input's and the
 * weight.
 */
const eachProduct = (source: Image, destination: Image, stride: number, visit: (out: number, from: number, weight: number) => void): void =>
  eachElement(destination, (b, c, y, x) => {
    for (const i of range(source.channels))
      for (const ky of range(3))
        for (const kx of range(3)) {
          const [row, column] = [stride * y + ky - 1, stride * x + kx - 1]
          if (row < 0 || column < 0 || row >= source.height || column >= source.width) continue
          visit(place(destination, b, c, y, x), place(source, b, i, row, column), ((c * source.channels + i) * 3 + ky) * 3 + kx)
        }
  })

/**
 * What a layer makes, and how the gradient of that becomes the one of its input; parameters'
 * gradients are told by name.
 */
interface Layer {
  readonly output: Image
  readonly backward: (dy: Numbers, tell: (name: string, values: Numbers) => void) => Numbers
}

const convolution = (name: string, source: Image, stride: number, weights: Values): Layer => {
  const [weight, bias] = [weights.get(`${name}.weight`)!, weights.get(`${name}.bias`)!]
  const [rows, columns] = stride === 1 ? [source.height, source.width] : [half(source.height), half(source.width)]
  const output = imageOf(bias.length, rows, columns)
  eachElement(output, (b, c, y, x) => (output.values[place(output, b, c, y, x)] = bias[c]!))
  eachProduct(source, output, stride, (out, from, at) => (output.values[out]! += source.values[from]! * weight[at]!))
  return {
    output,
    backward: (dy, tell) => {
      const [dx, dw, db] = [new Float64Array(source.values.length), new Float64Array(weight.length), new Float64Array(bias.length)]
      eachProduct(source, output, stride, (out, from, at) => {
        dx[from]! += dy[out]! * weight[at]!
        dw[at]! += dy[out]! * source.values[from]!
      })
      eachElement(output, (b, c, y, x) => (db[c]! += dy[place(output, b, c, y, x)]!))
      tell(`${name}.weight`, dw)
      tell(`${name}.bias`, db)
      return dx
    }
  }
}

interface Statistics {
  readonly mean: Numbers
  readonly variance: Numbers
}

const statisticsOf = (source: Image): Statistics => {
  const count = source.values.length / source.channels
  const [mean, variance] = [new Float64Array(source.channels), new Float64Array(source.channels)]
  eachElement(source, (b, c, y, x) => (mean[c]! += source.values[place(source, b, c, y, x)]! / count))
  eachElement(source, (b, c, y, x) => (variance[c]! += (source.values[place(source, b, c, y, x)]! - mean[c]!) ** 2 / count))
  return { mean, variance }
}

/** By the batch's statistics, through which the gradient goes as the chain rule says. */
const normalisation = (name: string, source: Image, { mean, variance }: Statistics, weights: Values): Layer => {
  const { channels, height: rows, width: columns, values } = source
  const [weight, bias] = [weights.get(`${name}.weight`)!, weights.get(`${name}.bias`)!]
  const count = values.length / channels
  const output = imageOf(channels, rows, columns)
  const deviation = variance.map((one) => Math.sqrt(one + epsilon))
  eachElement(source, (b, c, y, x) => {
    const at = place(source, b, c, y, x)
    output.values[at] = ((values[at]! - mean[c]!) / deviation[c]!) * weight[c]! + bias[c]!
  })
  return {
    output,
    backward: (dy, tell) => {
      const [dw, db, dMean, dVariance] = [0, 1, 2, 3].map(() => new Float64Array(channels)) as [Numbers, Numbers, Numbers, Numbers]
      eachElement(source, (b, c, y, x) => {
        const at = place(source, b, c, y, x)
        const distance = values[at]! - mean[c]!
        dw[c]! += (dy[at]! * distance) / deviation[c]!
        db[c]! += dy[at]!
        dMean[c]! -= (dy[at]! * weight[c]!) / deviation[c]!
        dVariance[c]! -= (dy[at]! * weight[c]! * distance) / (2 * deviation[c]! ** 3)
      })
      const dx = new Float64Array(values.length)
      eachElement(source, (b, c, y, x) => {
        const at = place(source, b, c, y, x)
        dx[at] = (dy[at]! * weight[c]!) / deviation[c]! + (2 * dVariance[c]! * (values[at]! - mean[c]!) + dMean[c]!) / count
      })
      tell(`${name}.weight`, dw)
      tell(`${name}.bias`, db)
      return dx
    }
  }
}

const rectifier = (source: Image): Layer => ({
  output: { ...source, values: source.values.map((value) => Math.max(value, 0)) },
  backward: (dy) => dy.map((value, at) => (source.values[at]! > 0 ? value : 0))
})

const pool = (source: Image): Layer => {
  const output = imageOf(source.channels, half(source.height), half(source.width))
  output.values.fill(-Infinity)
  const indices = new Int32Array(output.values.length)
  eachElement(output, (b, c, y, x) => {
    for (const row of range(3).map((ky) => 2 * y + ky - 1))
      for (const column of range(3).map((kx) => 2 * x + kx - 1)) {
        if (row < 0 || column < 0 || row >= source.height || column >= source.width) continue
        const [at, from] = [place(output, b, c, y, x), place(source, b, c, row, column)]
        if (source.values[from]! > output.values[at]!) {
          output.values[at] = source.values[from]!
          indices[at] = from
        }
      }
  })
  const backward = (dy: Numbers): Numbers => {
    const dx = new Float64Array(source.values.length)
    dy.forEach((value, at) => (dx[indices[at]!]! += value))
    return dx
  }
  return { output, backward }
}

const average = (source: Image): Layer => {
  const pixels = source.height * source.width
  const output = imageOf(source.channels, 1, 1)
  source.values.forEach((value, at) => (output.values[Math.floor(at / pixels)]! += value / pixels))
  return { output, backward: (dy) => source.values.map((_, at) => dy[Math.floor(at / pixels)]! / pixels) }
}

/**
 * The network's layers on an input, normalised by the batch's statistics or by given ones, which
 * are handed out by name.
 */
const forward = (input: Numbers, weights: Values, running?: (name: string) => Statistics) => {
  const statistics = new Map<string, Statistics & { readonly count: number }>()
  const normalise = (name: string, source: Image): Layer => {
    const own = statisticsOf(source)
    statistics.set(name, { ...own, count: source.values.length / source.channels })
    return normalisation(name, source, running?.(name) ?? own, weights)
  }
  const steps: readonly ((source: Image) => Layer)[] = [
    (source) => convolution('0', source, 2, weights),
    (source) => normalise('1', source),
    rectifier,
    (source) => convolution('3', source, 1, weights),
    (source) => normalise('4', source),
    rectifier,
    pool,
    average
  ]
  const layers: Layer[] = []
  let image = imageOf(3, height, width, input)
  for (const step of steps) {
    layers.push(step(image))
    image = layers.at(-1)!.output
  }
  return { layers, output: image.values, statistics }
}

const draw = drawsOf(2)
const random = (count: number): Numbers => Float64Array.from({ length: count }, () => draw(-1000, 1000) / 1000)
const sizes = { '0.weight': 108, '0.bias': 4, '1.weight': 4, '1.bias': 4, '3.weight': 180, '3.bias': 5, '4.weight': 5, '4.bias': 5 }
const learnt: Values = new Map(Object.entries(sizes).map(([name, count]) => [name, random(count)]))
const before: Values = new Map(
  ['1', '4'].flatMap((name) => {
    const channels = learnt.get(`${name}.bias`)!.length
    return [
      [`${name}.running_mean`, random(channels)],
      [`${name}.running_var`, random(channels).map((value) => 0.5 + Math.abs(value))]
    ] as const
  })
)
const [input, target] = [random(batch * 3 * height * width), random(batch * 5)]

const { layers, output, statistics } = forward(input, learnt)
const loss = output.reduce((sum, value, at) => sum + (value - target[at]!) ** 2 / target.length, 0)
const expected = new Map<string, Numbers>()
const inputGradient = layers.reduceRight(
  (dy, layer) => layer.backward(dy, (name, values) => expected.set(`grad.${name}`, values)),
  output.map((value, at) => (2 * (value - target[at]!)) / target.length)
)

const moved = (one: string, values: Numbers): Numbers =>
  values.map((value, at) => (1 - momentum) * before.get(one)![at]! + momentum * value)
// The variance that runs along is that of the population.
const unbiased = ({ variance, count }: { readonly variance: Numbers; readonly count: number }): Numbers =>
  variance.map((value) => (value * count) / (count - 1))
const running: Values = new Map(
  [...statistics].flatMap(([one, own]): readonly (readonly [string, Numbers])[] => [
    [`${one}.running_mean`, moved(`${one}.running_mean`, own.mean)],
    [`${one}.running_var`, moved(`${one}.running_var`, unbiased(own))]
  ])
)

const tiles = { B: 1, H: 3, W: 2 }
const inTiles = [0, 1, 4].map((from, index): Segment => {
  return { from, to: [1, 4, 8][index]!, grid: tiles, recompute: true, reorder: 'once' }
})
const ways: Readonly<Record<string, readonly Segment[]>> = {
  whole: [{ from: 0, to: 9, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }],
  'in 3 x 2 tiles': [...inTiles, { from: 8, to: 9, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }]
}
const executionOf = (segments: readonly Segment[]): Execution => {
  const weights = new Map([...learnt, ...before])
  return { model: network, input: [batch, 3, height, width], device: 'reference', segments, weights, batch: { input, target } }
}

for (const [name, segments] of Object.entries(ways)) {
  test(`loss, gradients through the statistics and what becomes of them, ${name}`, async () => {
    const found = await gradients(executionOf(segments))
    assert.ok(Math.abs(found.loss - loss) <= 1e-12 * loss, `loss ${found.loss} is not ${loss}`)
    const after = [...running].map(([one, values]) => [`after.${one}`, values] as const)
    const all = new Map([['grad.input', inputGradient], ...expected, ...after])
    const wanted = new Map([...found.tensors.keys()].map((one) => [one, all.get(one)!]))
    assert.is(wanted.size, 13)
    assertTensorsClose(found.tensors, wanted, 1e-12)
  })

  test(`running statistics after a step, and an evaluation by them, ${name}`, async () => {
    const objective: Training = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, evaluate: true }
    const rate = 0.1
    const found = await runSections(executionOf(segments), objective, [...update(rate, { input, target }), { section: 'evaluate', input }])
    const after = new Map(
      [...learnt].map(([one, values]) => [one, values.map((value, at) => value - rate * expected.get(`grad.${one}`)![at]!)])
    )
    const wanted = new Map([...found.tensors.keys()].map((one) => [one, (after.get(one) ?? running.get(one))!]))
    assert.is(wanted.size, 12)
    assertTensorsClose(found.tensors, wanted, 1e-12)
    const scores = forward(input, after, (one) => ({
      mean: running.get(`${one}.running_mean`)!,
      variance: running.get(`${one}.running_var`)!
    })).output
    assertTensorsClose(new Map([['scores', found.scores[0] as Numbers]]), new Map([['scores', scores]]), 1e-12)
  })
}

test.run()
