import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import type { Op } from '../../dsl/internal'
import { buildGraph, hasTarget } from '../../staging'
import { gradients, trainSteps, type Execution } from '../golden/execute'
import { drawsOf } from '../staging/random-nets'
import { must } from '../must'

/** One op at its most awkward, on an odd image, with something to learn before it. */
const layersOf: { readonly [P in Op]: readonly dsl.AnyLayer[] } = {
  conv2d: [dsl.conv2d({ out: 4, k: [3, 2], s: [2, 1], p: [0, 2, 1, 0], d: [1, 2], groups: 2 }), dsl.meanSquaredError],
  relu: [dsl.relu, dsl.meanSquaredError],
  leakyRelu: [dsl.leakyRelu({ slope: 0.2 }), dsl.meanSquaredError],
  maxPool2d: [dsl.maxPool2d({ k: [3, 2], s: [2, 1], p: [1, 0], d: [1, 2], ceilMode: true }), dsl.meanSquaredError],
  avgPool2d: [
    dsl.avgPool2d({ k: 3, s: 2, p: 1, ceilMode: true }),
    dsl.avgPool2d({ k: 2, s: 1, p: 1, countIncludePad: false }),
    dsl.meanSquaredError
  ],
  globalAvgPool: [dsl.globalAvgPool, dsl.meanSquaredError],
  globalMaxPool: [dsl.globalMaxPool, dsl.tanh, dsl.linear({ out: 2 }), dsl.meanSquaredError],
  flatten: [dsl.flatten, dsl.meanSquaredError],
  linear: [dsl.flatten, dsl.linear({ out: 3 }), dsl.linear({ out: 2, bias: false }), dsl.meanSquaredError],
  dropout: [dsl.dropout({ rate: 0.4 }), dsl.meanSquaredError],
  softmaxCrossEntropy: [dsl.globalAvgPool, dsl.linear({ out: 5 }), dsl.softmaxCrossEntropy],
  convTranspose2d: [
    dsl.convTranspose2d({ out: 4, k: [3, 2], s: [2, 3], p: [1, 0], outputPadding: [1, 0], d: [2, 1], groups: 2 }),
    dsl.meanSquaredError
  ],
  // A bias right before statistics has no gradient.
  batchNorm: [dsl.silu, dsl.batchNorm({ eps: 0.01 }), dsl.tanh, dsl.meanSquaredError],
  groupNorm: [dsl.silu, dsl.groupNorm({ groups: 2 }), dsl.tanh, dsl.meanSquaredError],
  instanceNorm: [dsl.silu, dsl.instanceNorm({ affine: true }), dsl.tanh, dsl.meanSquaredError],
  pointwise: [dsl.silu, dsl.gelu, dsl.sigmoid, dsl.tanh, dsl.meanSquaredError],
  resize: [dsl.resize({ mode: 'bilinear', size: [5, 11] }), dsl.meanSquaredError],
  adaptiveAvgPool2d: [dsl.adaptiveAvgPool2d({ out: [3, 5] }), dsl.meanSquaredError],
  pixelShuffle: [dsl.conv2d({ out: 18, k: 1 }), dsl.pixelShuffle({ factor: 3 }), dsl.tanh, dsl.meanSquaredError],
  pixelUnshuffle: [dsl.conv2d({ out: 3, k: [1, 2] }), dsl.pixelUnshuffle({ factor: 2 }), dsl.tanh, dsl.meanSquaredError],
  channelShuffle: [
    dsl.conv2d({ out: 6, k: 1 }),
    dsl.channelShuffle({ groups: 2 }),
    dsl.tanh,
    dsl.channelShuffle({ groups: 3 }),
    dsl.meanSquaredError
  ],
  narrow: [
    dsl.conv2d({ out: 6, k: 1 }),
    dsl.parallel([[dsl.narrow({ start: 0, length: 4 }), dsl.tanh], [dsl.narrow({ start: 2, length: 3 })]]),
    dsl.narrow({ start: 1, length: 5 }),
    dsl.meanSquaredError
  ],
  pad: [
    dsl.pad({ p: [3, 1, 0, 2], mode: 'reflect' }),
    dsl.pad({ p: [2, 1], mode: 'replicate' }),
    dsl.pad({ p: [0, 1, 3, 2] }),
    dsl.conv2d({ out: 2, k: 3 }),
    dsl.meanSquaredError
  ],
  add: [dsl.residual([dsl.conv2d({ out: 6, k: 3, p: 1 }), dsl.tanh]), dsl.meanSquaredError],
  mul: [dsl.gated([dsl.conv2d({ out: 6, k: 3, p: 1 })], [dsl.sigmoid]), dsl.meanSquaredError],
  concat: [dsl.parallel([[], [dsl.conv2d({ out: 5, k: 3, p: 1 })], [dsl.avgPool2d({ k: 3, s: 1, p: 1 })]]), dsl.meanSquaredError],
  pixelCrossEntropy: [dsl.pixelCrossEntropy({ ignore: 2, classWeights: [1, 2, 0.5, 3, 0.25, 1] })],
  meanSquaredError: [dsl.meanSquaredError],
  classLoss: [
    dsl.globalAvgPool,
    dsl.linear({ out: 5 }),
    dsl.classLoss({ loss: 'focal:gamma=1.5+cross-entropy:smoothing=0.1', classWeights: [1, 2, 0.5, 3, 0.25] })
  ],
  pixelLoss: [dsl.pixelLoss({ loss: 'focal:gamma=1.5+0.5*cross-entropy', ignore: 2, classWeights: [1, 2, 0.5, 3, 0.25, 1] })],
  overlapLoss: [dsl.overlapLoss({ loss: 'tversky:smooth=0.5+0.5*cross-entropy', ignore: 2, classWeights: [1, 2, 0.5, 3, 0.25, 1] })],
  valueLoss: [dsl.valueLoss({ loss: 'huber:delta=0.5+mean-squared-error' })]
}

/** Other forms of ops, and ops that meet. */
const others: Readonly<Record<string, readonly dsl.AnyLayer[]>> = {
  'sums that add a tensor again': [
    dsl.residual([dsl.residual([dsl.conv2d({ out: 6, k: 3, p: 1 }), dsl.tanh])]),
    dsl.residual([], []),
    dsl.residual([dsl.tanh], [dsl.residual([dsl.silu])]),
    dsl.meanSquaredError
  ],
  'squeeze and excitation': [
    dsl.gated([dsl.tanh], [dsl.adaptiveAvgPool2d({ out: 1 }), dsl.conv2d({ out: 6, k: 1 }), dsl.hardsigmoid]),
    dsl.meanSquaredError
  ],
  'a sum that is broadcast': [
    dsl.residual([dsl.tanh], [dsl.adaptiveAvgPool2d({ out: 1 }), dsl.conv2d({ out: 6, k: 1 })]),
    dsl.meanSquaredError
  ],
  'pointwise functions with parameters': [
    dsl.prelu({ perChannel: true }),
    dsl.tanh,
    dsl.prelu(),
    dsl.pointwise('affine', (x, { weight, bias }) => x.mul(weight).add(bias), {
      weight: { initial: 1, perChannel: true },
      bias: { initial: 0.1, perChannel: true }
    }),
    dsl.pointwise('swish', (x, { weight }) => x.mul(x.mul(weight).sigmoid()), { weight: { initial: 0.7 } }),
    dsl.meanSquaredError
  ],
  'frozen batchNorm': [dsl.batchNorm({ frozen: true }), dsl.meanSquaredError],
  'batchNorm without weights': [dsl.silu, dsl.batchNorm({ affine: false }), dsl.tanh, dsl.meanSquaredError],
  'instanceNorm without weights': [dsl.silu, dsl.instanceNorm(), dsl.tanh, dsl.meanSquaredError],
  'groupNorm of all channels': [dsl.silu, dsl.groupNorm({ groups: 1, affine: false }), dsl.tanh, dsl.meanSquaredError],
  'a rectified batchNorm': [dsl.silu, dsl.batchNorm(), dsl.leakyRelu({ slope: 0.2 }), dsl.meanSquaredError],
  'depthwise convolution': [dsl.conv2d({ out: 6, k: 3, p: 3, d: 3, groups: 6, bias: false }), dsl.meanSquaredError],
  'depthwise transposed convolution': [dsl.convTranspose2d({ out: 6, k: 2, s: 2, groups: 6, bias: false }), dsl.meanSquaredError],
  'bilinear resizing by its corners': [dsl.resize({ mode: 'bilinear', size: [5, 11], alignCorners: true }), dsl.meanSquaredError],
  'bilinear resizing by a factor': [dsl.resize({ mode: 'bilinear', scale: [2, 3] }), dsl.meanSquaredError],
  'nearest resizing': [dsl.resize({ mode: 'nearest', size: [5, 11] }), dsl.meanSquaredError],
  'pixelCrossEntropy without weights': [dsl.pixelCrossEntropy()],
  'dice of sigmoids': [dsl.overlapLoss({ loss: 'dice+binary-focal:gamma=1.5' })],
  'dice of one channel': [dsl.conv2d({ out: 1, k: 1 }), dsl.overlapLoss({ loss: 'dice' })],
  'binary losses of pixels': [dsl.pixelLoss({ loss: 'binary-cross-entropy:smoothing=0.2+binary-focal:alpha=-1' })],
  'normalised branches of a normalised tensor': [
    dsl.silu,
    dsl.batchNorm(),
    dsl.residual(
      [dsl.conv2d({ out: 4, k: 3, s: 2, p: 1, bias: false }), dsl.batchNorm(), dsl.tanh, dsl.conv2d({ out: 5, k: 1 })],
      [dsl.batchNorm(), dsl.tanh, dsl.conv2d({ out: 5, k: 1, s: 2 })]
    ),
    dsl.silu,
    dsl.batchNorm(),
    dsl.globalAvgPool,
    dsl.linear({ out: 3 }),
    dsl.softmaxCrossEntropy
  ],
  'what a block and its own layers share': [
    dsl.parallel([
      [dsl.residual([dsl.tanh, dsl.conv2d({ out: 6, k: 3, p: 1 })], [dsl.sigmoid])],
      [dsl.adaptiveAvgPool2d({ out: 2 }), dsl.resize({ mode: 'bilinear', to: 'block' })],
      []
    ]),
    dsl.denseBlock([dsl.groupNorm({ groups: 3 }), dsl.conv2d({ out: 2, k: 3, p: 1 })]),
    dsl.meanSquaredError
  ]
}

const seed = 3
const [batch, height, width] = [2, 8, 7]
const input = [batch, 3, height, width] as const
const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

const executionOf = (layers: readonly dsl.AnyLayer[]): Execution => {
  const draw = drawsOf(seed)
  const values = (shape: readonly number[]): Float64Array => Float64Array.from({ length: product(shape) }, () => draw(-1000, 1000) / 1000)
  const model: dsl.Model = { name: 'net', layers: [dsl.conv2d({ out: 6, k: 3, p: 1 }), ...layers] }
  const { nodes, parameters } = must(buildGraph(model, input))
  const loss = nodes[nodes.length - 1]!
  const [, classes, rows, columns] = loss.input
  const target = hasTarget(loss, 'labels')
    ? [2, 0]
    : hasTarget(loss, 'pixel-labels')
      ? Array.from({ length: batch * rows * columns }, () => draw(0, Math.max(classes, 2) - 1))
      : values(loss.input)
  const weights = new Map(
    parameters.map(({ name, role, shape }) => {
      const drawn = values(shape)
      return [name, role === 'runningVariance' ? drawn.map((value) => 0.2 + Math.abs(value)) : drawn] as const
    })
  )
  return { model, input, device: 'reference', strategy: 'plain', threads: 1, seed, weights, batch: { input: values(input), target } }
}

/** What is differentiated: `input`, and every parameter that learns by its name. */
const variablesOf = ({ weights, batch }: Execution): ReadonlyMap<string, ArrayLike<number>> =>
  new Map([['input', batch.input], ...[...weights].filter(([name]) => !name.includes('running'))])

const withVariable = (execution: Execution, name: string, values: Float64Array): Execution =>
  name === 'input'
    ? { ...execution, batch: { ...execution.batch, input: values } }
    : { ...execution, weights: new Map([...execution.weights, [name, values]]) }

interface Evaluated {
  readonly loss: number
  readonly gradient: ReadonlyMap<string, ArrayLike<number>>
}

const handedOut = async (execution: Execution): Promise<Evaluated> => {
  const { loss, tensors } = await gradients(execution)
  return { loss, gradient: new Map([...variablesOf(execution).keys()].map((name) => [name, tensors.get(`grad.${name}`)!])) }
}

/**
 * Gradients are handed out with dropout off; a step of plain descent at rate 1 shows those of the
 * weights with it on.
 */
const descended = async (execution: Execution): Promise<Evaluated> => {
  const optimizer = { kind: 'sgd', momentum: 0, weightDecay: 0 } as const
  const { losses, tensors } = await trainSteps(execution, { optimizer, learningRate: 1, steps: 1 })
  const moved = (name: string, before: ArrayLike<number>) => Float64Array.from(before, (value, index) => value - tensors.get(name)![index]!)
  return { loss: losses[0]!, gradient: new Map([...execution.weights].map(([name, before]) => [name, moved(name, before)])) }
}

/** Central differences along random directions against the gradient's product with them. */
const compare = async (execution: Execution, evaluate: (execution: Execution) => Promise<Evaluated>): Promise<void> => {
  const { gradient } = await evaluate(execution)
  const draw = drawsOf(seed + 1)
  const epsilon = 1e-5
  for (const [name, derivative] of gradient) {
    const values = variablesOf(execution).get(name)!
    for (let round = 0; round < 3; round += 1) {
      const direction = Float64Array.from(values, () => draw(-1000, 1000) / 1000)
      const lossAt = async (distance: number): Promise<number> =>
        (
          await evaluate(
            withVariable(
              execution,
              name,
              direction.map((part, index) => values[index]! + distance * part)
            )
          )
        ).loss
      const slope = ((await lossAt(epsilon)) - (await lossAt(-epsilon))) / (2 * epsilon)
      const expected = direction.reduce((sum, part, index) => sum + part * derivative[index]!, 0)
      const size = Math.hypot(...direction) * Math.hypot(...Array.from(derivative))
      assert.ok(size > 0, `the gradient of ${name} is zero`)
      assert.ok(Math.abs(slope - expected) <= 1e-7 * size, `${name}: the loss has slope ${slope}, its gradient says ${expected}`)
    }
  }
}

for (const [name, layers] of Object.entries({ ...layersOf, ...others }))
  test(`finite differences: ${name}`, () => compare(executionOf(layers), name === 'dropout' ? descended : handedOut))

test.run()
