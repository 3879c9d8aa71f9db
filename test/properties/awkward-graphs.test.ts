import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as dsl from '../../dsl'
import { buildGraph, type Segment } from '../../staging'
import { onFastDevices } from '../devices'
import { gradients, type Execution, type Gradients } from '../golden/execute'
import { drawsOf } from '../staging/random-nets'
import { assertClose } from './random-execution'

const convolution = (out: number): dsl.AnyLayer => dsl.conv2d({ out, k: 3, p: 1 })

/** Where a tensor meets itself, is flat, or is the network's input. */
const nets: Readonly<Record<string, readonly dsl.AnyLayer[]>> = {
  'the sum of a tensor and itself': [convolution(4), dsl.tanh, dsl.residual([], []), convolution(3), dsl.meanSquaredError],
  'a tensor beside itself': [convolution(4), dsl.tanh, dsl.parallel([[], [convolution(2)], []]), convolution(3), dsl.meanSquaredError],
  'the input beside itself': [dsl.parallel([[], []]), convolution(3), dsl.meanSquaredError],
  'flat tensors side by side': [
    convolution(4),
    dsl.parallel([[dsl.flatten, dsl.linear({ out: 3 })], [dsl.globalAvgPool]]),
    dsl.linear({ out: 2 }),
    dsl.meanSquaredError
  ],
  'the input transposed': [dsl.convTranspose2d({ out: 4, k: 3, s: 2 }), dsl.tanh, dsl.meanSquaredError],
  'the input transposed and convolved': [
    dsl.parallel([[dsl.convTranspose2d({ out: 4, k: 3, p: 1 })], [convolution(2)]]),
    dsl.tanh,
    dsl.meanSquaredError
  ],
  'the input normalised twice': [
    dsl.residual([dsl.batchNorm(), dsl.tanh, convolution(3)], [dsl.batchNorm(), dsl.relu]),
    dsl.globalAvgPool,
    dsl.meanSquaredError
  ],
  'a checkpoint in each branch': [
    convolution(4),
    dsl.residual([convolution(4), dsl.checkpoint, dsl.batchNorm(), dsl.relu, convolution(4)], [dsl.checkpoint, convolution(4)]),
    dsl.relu,
    dsl.meanSquaredError
  ]
}

/** A transposed convolution by windows that leave gaps, padded; and the same by windows that meet, whose weights are zeros where those end. */
const gaps = (k: dsl.Pair, outputPadding: dsl.Pair): readonly dsl.AnyLayer[] => [
  dsl.convTranspose2d({ out: 4, k, s: 3, p: 1, outputPadding, bias: false }),
  dsl.meanSquaredError
]
const gapped: readonly dsl.AnyLayer[] = gaps([2, 1], 2)
const filled: readonly dsl.AnyLayer[] = gaps(3, [1, 0])

const input = [3, 3, 8, 7] as const
const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

const executionOf = (layers: readonly dsl.AnyLayer[]): Execution & { readonly ops: number } => {
  const draw = drawsOf(3)
  const values = (shape: readonly number[]): Float64Array => Float64Array.from({ length: product(shape) }, () => draw(-1000, 1000) / 1000)
  const model: dsl.Model = { name: 'net', layers }
  const built = buildGraph(model, input)
  if (!isRight(built)) throw new Error(built.left.message)
  const { nodes, parameters } = built.right
  const weights = new Map(
    parameters.map(({ name, role, shape }) => [name, role === 'runningVariance' ? values(shape).fill(1) : values(shape)])
  )
  const batch = { input: values(input), target: values(nodes.at(-1)!.input) }
  return { model, input, device: 'reference', threads: 1, weights, batch, ops: nodes.length }
}

/** A segment an op: every tensor lies whole between two. */
const single = (ops: number): readonly Segment[] =>
  Array.from({ length: ops }, (_, from) => ({ from, to: from + 1, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }))

for (const [name, layers] of Object.entries(nets)) {
  const { ops, ...execution } = executionOf(layers)

  test(`${name}: a segment an op computes what plain does`, async () => {
    assertClose(await gradients({ ...execution, segments: single(ops) }), await gradients({ ...execution, strategy: 'plain' }), 1e-12)
  })

  onFastDevices(test, `${name}: it computes what the reference device does`, async (device) => {
    const exact = await gradients({ ...execution, strategy: 'plain' })
    assertClose(await gradients({ ...execution, device, strategy: 'plain' }), exact, 1e-4, 1e-5)
    assertClose(await gradients({ ...execution, device, segments: single(ops) }), exact, 1e-4, 1e-5)
  })
}

for (const device of ['reference', 'cpu'] as const)
  test(`${device}: padding holds where a transposed convolution's windows leave gaps`, async () => {
    const [few, many] = [executionOf(gapped), executionOf(filled)]
    const values = few.weights.get('0.weight')!
    const spread = new Float64Array(3 * 4 * 3 * 3)
    for (let index = 0; index < values.length; index += 1) spread[9 * (index >> 1) + 3 * (index % 2)] = values[index]!
    const { batch } = few
    const [actual, expected] = [
      await gradients({ ...few, device, strategy: 'plain' }),
      await gradients({ ...many, device, batch, weights: new Map([['0.weight', spread]]), strategy: 'plain' })
    ]
    const inputs = ({ tensors, ...rest }: Gradients): Gradients => ({
      ...rest,
      tensors: new Map([['grad.input', tensors.get('grad.input')!]])
    })
    assertClose(inputs(actual), inputs(expected), device === 'cpu' ? 1e-5 : 1e-12)
  })

test.run()
