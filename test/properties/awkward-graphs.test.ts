import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { buildGraph, type Segment } from '../../staging'
import { fusibleTileAxes } from '../../staging/graph/grid'
import { fastDevices, onFastDevices, testsDevice } from '../devices'
import { gradients, type Execution, type Gradients } from '../golden/execute'
import { must } from '../must'
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
  'the input pooled to a pixel and transposed': [
    dsl.parallel([[dsl.globalAvgPool], [dsl.adaptiveAvgPool2d({ out: 1 }), dsl.convTranspose2d({ out: 4, k: 2 }), dsl.tanh, dsl.flatten]]),
    dsl.meanSquaredError
  ],
  'a pixel transposed': [
    convolution(5),
    dsl.adaptiveAvgPool2d({ out: [1, 1] }),
    dsl.convTranspose2d({ out: 4, k: 3, s: 2, groups: 1 }),
    dsl.tanh,
    dsl.meanSquaredError
  ],
  'pixels side by side, transposed': [
    convolution(4),
    dsl.parallel([[dsl.adaptiveAvgPool2d({ out: 1 })], [dsl.adaptiveAvgPool2d({ out: 1 }), dsl.tanh]]),
    dsl.convTranspose2d({ out: 4, k: 3 }),
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

/**
 * Between the network's input and a transposed convolution: all that hands on the layout that it is
 * loaded in.
 */
const between: Readonly<Record<string, readonly dsl.AnyLayer[]>> = {
  relu: [dsl.relu],
  leakyRelu: [dsl.leakyRelu({ slope: 0.1 })],
  sigmoid: [dsl.sigmoid],
  batchNorm: [dsl.batchNorm()],
  'batchNorm, frozen': [dsl.batchNorm({ frozen: true })],
  groupNorm: [dsl.groupNorm({ groups: 1 })],
  instanceNorm: [dsl.instanceNorm()],
  dropout: [dsl.dropout({ rate: 0.3 })],
  maxPool2d: [dsl.maxPool2d({ k: 2 })],
  avgPool2d: [dsl.avgPool2d({ k: 2 })],
  adaptiveAvgPool2d: [dsl.adaptiveAvgPool2d({ out: [2, 3] })],
  'adaptiveAvgPool2d to a pixel': [dsl.adaptiveAvgPool2d({ out: 1 })],
  resize: [dsl.resize({ scale: 2, mode: 'bilinear' })],
  'a sum': [dsl.residual([dsl.tanh], [])],
  'two of them': [dsl.relu, dsl.maxPool2d({ k: 2 })]
}

/**
 * A transposed convolution by windows that leave gaps, padded; and the same by windows that meet,
 * whose weights are zeros where those end.
 */
const gaps = (k: dsl.Pair, outputPadding: dsl.Pair): readonly dsl.AnyLayer[] => [
  dsl.convTranspose2d({ out: 4, k, s: 3, p: 1, outputPadding, bias: false }),
  dsl.meanSquaredError
]
const gapped: readonly dsl.AnyLayer[] = gaps([2, 1], 2)
const filled: readonly dsl.AnyLayer[] = gaps(3, [1, 0])

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

const executionOf = (layers: readonly dsl.AnyLayer[], channels = 3): Execution & { readonly ops: number } => {
  const draw = drawsOf(3)
  const input = [3, channels, 8, 7] as const
  const values = (shape: readonly number[]): Float64Array => Float64Array.from({ length: product(shape) }, () => draw(-1000, 1000) / 1000)
  const model: dsl.Model = { name: 'net', layers }
  const { nodes, parameters } = must(buildGraph(model, input))
  const weights = new Map(
    parameters.map(({ name, role, shape }) => [name, role === 'runningVariance' ? values(shape).fill(1) : values(shape)])
  )
  const batch = { input: values(input), target: values(nodes.at(-1)!.input) }
  return { model, input, device: 'reference', threads: 1, weights, batch, ops: nodes.length }
}

/** A segment an op: every tensor lies whole between two. */
const single = (ops: number): readonly Segment[] =>
  Array.from({ length: ops }, (_, from) => ({ from, to: from + 1, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }))

/** Tiles of all ops together, along what they can be tiled along. */
const mostTiles = ({ model, input }: Execution, ops: number): Segment['grid'] => {
  const axes = fusibleTileAxes(must(buildGraph(model, input!)), { from: 0, to: ops })
  const count = (axis: 'B' | 'H' | 'W', tiles: number): number => (axes.includes(axis) ? tiles : 1)
  return { B: count('B', 3), H: count('H', 2), W: count('W', 2) }
}

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

/** Sums to which tiles add, normalised: moments are those of the whole sum. */
const normalisedSums: Readonly<Record<string, readonly dsl.AnyLayer[]>> = {
  'a pixel normalised over the batch': [dsl.adaptiveAvgPool2d({ out: 1 }), dsl.batchNorm(), dsl.tanh, convolution(2)],
  'a pixel normalised in groups': [dsl.adaptiveAvgPool2d({ out: 1 }), dsl.groupNorm({ groups: 2 }), dsl.tanh, convolution(2)],
  'features normalised': [dsl.globalAvgPool, dsl.batchNorm({ momentum: 0.3 }), dsl.relu, dsl.linear({ out: 3 })]
}

for (const [name, layers] of Object.entries(normalisedSums)) {
  const { ops, ...execution } = executionOf([convolution(6), dsl.tanh, ...layers, dsl.meanSquaredError])
  const [first, ...rest] = single(ops).slice(2)
  const tiled = (grid: Segment['grid']): readonly Segment[] => [{ ...first!, from: 0, grid, recompute: true }, ...rest]
  const grids = [
    { B: 1, H: 2, W: 2 },
    { B: 3, H: 1, W: 3 },
    { B: 3, H: 1, W: 1 }
  ]

  test(`${name}: tiles of the sum compute what plain does`, async () => {
    const whole = await gradients({ ...execution, strategy: 'plain' })
    for (const grid of grids) assertClose(await gradients({ ...execution, segments: tiled(grid) }), whole, 1e-12)
  })

  onFastDevices(test, `${name}: tiles of the sum compute what the reference device does`, async (device) => {
    const exact = await gradients({ ...execution, strategy: 'plain' })
    for (const grid of grids) assertClose(await gradients({ ...execution, device, segments: tiled(grid) }), exact, 1e-4, 1e-5)
  })
}

/** Sums that nothing reads before the segment has ended: the first stands within it. */
const sums: Readonly<Record<string, dsl.AnyLayer>> = {
  'means of one pixel': dsl.adaptiveAvgPool2d({ out: 1 }),
  means: dsl.globalAvgPool,
  maxima: dsl.globalMaxPool
}
for (const [name, pool] of Object.entries(sums)) {
  const branches = dsl.parallel([[pool], [convolution(5), dsl.tanh, pool]])
  const { ops, ...execution } = executionOf([convolution(3), dsl.tanh, branches, dsl.tanh, dsl.meanSquaredError])

  test(`${name} of several tensors in one segment compute what plain does`, async () => {
    const whole = await gradients({ ...execution, strategy: 'plain' })
    for (const grid of [
      { B: 1, H: 2, W: 2 },
      { B: 3, H: 3, W: 1 }
    ]) {
      const tiles: Segment = { from: 0, to: 6, grid, recompute: true, reorder: 'once' }
      assertClose(await gradients({ ...execution, segments: [tiles, ...single(ops).slice(6)] }), whole, 1e-12)
    }
  })
}

for (const device of ['reference', ...fastDevices] as const)
  for (const [tiles, of] of Object.entries({ whole: { H: 1, W: 1 }, 'in tiles of its pixels': { H: 2, W: 3 } }))
    (testsDevice(device) ? test : test.skip)(
      `${device}: a group of one value is normalised to nothing but its bias, ${tiles}`,
      async () => {
        const { ops: _, ...execution } = executionOf([
          dsl.adaptiveAvgPool2d({ out: 1 }),
          dsl.groupNorm({ groups: 3 }),
          dsl.meanSquaredError
        ])
        const bias = execution.weights.get('1.bias') as Float64Array
        const [pool, ...rest] = single(3)
        const segments = [{ ...pool!, grid: { B: 3, ...of }, recompute: true }, ...rest]
        const { loss, tensors } = await gradients({ ...execution, device, segments })
        const { target } = execution.batch
        const errors = Array.from(target, (value, index) => bias[index % 3]! - value)
        const near = device === 'reference' ? 1e-12 : 1e-5
        assert.ok(Math.abs(loss - errors.reduce((sum, error) => sum + error * error, 0) / errors.length) < near)
        assert.ok(tensors.get('grad.input')!.every((value) => Math.abs(value) < near))
        assert.equal(
          [...tensors.get('grad.1.weight')!].map((value) => value + 0),
          [0, 0, 0]
        )
      }
    )

onFastDevices(
  test,
  'a transposed convolution reads images of 1 to 4 channels through every op that keeps their layout, in tiles too',
  async (device) => {
    for (const [name, layers] of Object.entries(between))
      for (const channels of [1, 2, 3, 4]) {
        const { ops, ...execution } = executionOf([...layers, dsl.convTranspose2d({ out: 5, k: 3, s: 2 }), dsl.meanSquaredError], channels)
        const exact = await gradients({ ...execution, strategy: 'plain' })
        const behind = { ...single(ops)[ops - 2]!, to: ops, recompute: true, grid: { B: 3, H: 2, W: 2 } }
        const tiled = [[{ ...behind, from: 0, grid: mostTiles(execution, ops) }], [...single(ops - 2), behind]]
        for (const how of [{ strategy: 'plain' }, { segments: single(ops) }, ...tiled.map((segments) => ({ segments }))] as const)
          try {
            assertClose(await gradients({ ...execution, device, ...how }), exact, 1e-4, 1e-5)
          } catch (error) {
            throw new Error(`${name}, ${channels} channels: ${String(error)}`, { cause: error })
          }
      }
  }
)

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
