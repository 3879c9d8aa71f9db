// Ops that move pixels and channels, or pick one of them, in tiles that divide nothing in
// particular.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { createKernelTimer } from '../../native'
import { buildGraph, fusibleTileAxes, keyOfKernel, verify, type Graph, type Grid, type Segment } from '../../staging'
import { validateGrid } from '../../staging/graph/grid'
import { segmentTiling } from '../../staging/graph/tiling'
import { bf16Devices, fastDevices, onFastDevices, testsDevice } from '../devices'
import { gradients, outputs, stageFor, type Execution } from '../golden/execute'
import { inSystems } from '../in-systems'
import { must } from '../must'
import { drawsOf } from '../staging/random-nets'
import { assertClose } from './random-execution'

const convolution = (out: number, k = 3): dsl.AnyLayer => dsl.conv2d({ out, k, p: k >> 1 })

/** What stands between two convolutions: of 18 channels, 8 rows and 6 columns. */
const moved: Readonly<Record<string, readonly dsl.AnyLayer[]>> = {
  'shuffled by 3': [dsl.pixelShuffle({ factor: 3 })],
  'unshuffled by 2': [dsl.pixelUnshuffle({ factor: 2 })],
  'shuffled by 1': [dsl.pixelShuffle({ factor: 1 }), dsl.tanh, dsl.pixelUnshuffle({ factor: 1 })],
  'shuffled and back': [dsl.pixelShuffle({ factor: 3 }), convolution(1), dsl.pixelUnshuffle({ factor: 6 })],
  'unshuffled beside a larger window': [dsl.parallel([[dsl.pixelUnshuffle({ factor: 2 })], [dsl.conv2d({ out: 3, k: 5, s: 2, p: 2 })]])],
  'channels shuffled': [dsl.channelShuffle({ groups: 3 })],
  'channels shuffled and back': [dsl.channelShuffle({ groups: 2 }), convolution(18), dsl.channelShuffle({ groups: 9 })],
  narrowed: [dsl.narrow({ start: 1, length: 16 })],
  'split and shuffled': [
    dsl.parallel([[dsl.narrow({ start: 0, length: 8 })], [dsl.narrow({ start: 8, length: 10 }), convolution(10), dsl.relu]]),
    dsl.channelShuffle({ groups: 2 })
  ],
  'padded with zeros': [dsl.pad({ p: [3, 0, 1, 2] })],
  'padded by far': [dsl.pad({ p: [9, 7, 8, 0] }), dsl.conv2d({ out: 2, k: 2, s: 2 })],
  reflected: [dsl.pad({ p: [7, 2, 0, 5], mode: 'reflect' })],
  'edges repeated': [dsl.pad({ p: [9, 4, 2, 10], mode: 'replicate' })],
  'padded in each way': [dsl.pad({ p: 1, mode: 'reflect' }), dsl.pad({ p: [2, 0], mode: 'replicate' }), dsl.pad({ p: [0, 1] })],
  'padded by nothing': [dsl.pad({ p: 0, mode: 'reflect' })],
  'added to its shifted self': [dsl.residual([dsl.pad({ p: [2, 0, 1, 0], mode: 'reflect' }), dsl.conv2d({ out: 18, k: [3, 2] })])]
}

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

/** What is proved of a program before it runs. */
const proves = (execution: Execution): void => {
  const optimizer = { kind: 'sgd', momentum: 0.9, weightDecay: 0 } as const
  for (const objective of [{ kind: 'gradients' }, { kind: 'evaluate' }, { kind: 'train', optimizer }] as const)
    must(verify(must(stageFor(execution, objective)).program))
}

const graphOf = (layers: readonly dsl.AnyLayer[], input: readonly number[]): Graph =>
  must(buildGraph({ name: 'net', layers }, input as readonly [number, number, number, number]))

type Drawn = Execution & { readonly graph: Graph }

const executionOf = (layers: readonly dsl.AnyLayer[]): Drawn => {
  const draw = drawsOf(5)
  const input = [2, 3, 8, 6] as const
  const values = (shape: readonly number[]): Float64Array => Float64Array.from({ length: product(shape) }, () => draw(-1000, 1000) / 1000)
  const graph = graphOf(layers, input)
  const weights = new Map(
    graph.parameters.map(({ name, role, shape }) => [name, role === 'runningVariance' ? values(shape).fill(1) : values(shape)])
  )
  const batch = { input: values(input), target: values(graph.nodes.at(-1)!.input) }
  return { model: { name: 'net', layers }, input, device: 'reference', threads: 2, weights, batch, graph }
}

/** One image a tile, in the long tests both too. */
const grids: readonly Grid[] = (inSystems ? [1, 2] : [2]).flatMap((B) =>
  [1, 2, 3, 5].flatMap((H) => [1, 3].map((W): Grid => ({ B, H, W })))
)

/** All tilings of the ops before `end`; each op behind them is a segment. */
const tilings = (graph: Graph, end: number): readonly (readonly Segment[])[] => {
  const span = { from: 0, to: end }
  const axes = fusibleTileAxes(graph, span)
  return grids
    .filter((grid) => (['B', 'H', 'W'] as const).every((axis) => grid[axis] === 1 || axes.includes(axis)))
    .filter((grid) => validateGrid(graph, span, grid) === undefined && segmentTiling(graph, span, grid) !== undefined)
    .map((grid) => [
      { ...span, grid, recompute: true, reorder: 'once' },
      ...graph.nodes.slice(end).map((_, index): Segment => ({
        ...{ from: end + index, to: end + index + 1, grid: { B: 1, H: 1, W: 1 } },
        recompute: false,
        reorder: 'once'
      }))
    ])
}

for (const [name, layers] of Object.entries(moved)) {
  const { graph, ...execution } = executionOf([convolution(18), dsl.tanh, ...layers, convolution(3), dsl.tanh, dsl.meanSquaredError])
  // Tiles end with what the ops make, or with the loss.
  const ends = [graph.nodes.length - 3, graph.nodes.length]

  test(`${name}: tiles compute what plain does`, async () => {
    const plain = await gradients({ ...execution, strategy: 'plain' })
    for (const end of ends) {
      const all = tilings(graph, end)
      assert.ok(all.some(([first]) => first!.grid.H > 2 && first!.grid.W > 1))
      for (const segments of all) {
        proves({ ...execution, segments })
        assertClose(await gradients({ ...execution, segments }), plain, 1e-12)
      }
    }
  })

  onFastDevices(test, `${name}: it computes what the reference device does`, async (device) => {
    const plain = await gradients({ ...execution, strategy: 'plain' })
    assertClose(await gradients({ ...execution, device, strategy: 'plain' }), plain, 1e-4, 1e-5)
    for (const segments of tilings(graph, ends[0]!).slice(-3))
      assertClose(await gradients({ ...execution, device, segments }), plain, 1e-4, 1e-5)
  })
}

test('every tile of a padding can be timed by itself', () => {
  const kernels = Object.values(moved).flatMap((layers) => {
    const { graph, ...execution } = executionOf([convolution(18), ...layers, dsl.meanSquaredError])
    return tilings(graph, graph.nodes.length).flatMap(
      (segments) => must(stageFor({ ...execution, segments }, { kind: 'gradients' })).program.kernels
    )
  })
  const pads = [...new Map(kernels.filter(({ kind }) => kind === 'padForward').map((kernel) => [keyOfKernel(kernel), kernel])).values()]
  const times = must(must(createKernelTimer({ device: 'cpu', precision: 'float32', threads: 1 })).milliseconds(pads))
  assert.ok(pads.length > 100)
  assert.equal(
    times.filter((time) => typeof time !== 'number'),
    []
  )
})

const pooled: Readonly<Record<string, readonly dsl.AnyLayer[]>> = {
  'the largest': [dsl.globalMaxPool],
  'the largest of a branch': [dsl.denseBlock([dsl.pad({ p: 1, mode: 'reflect' }), dsl.conv2d({ out: 2, k: 3 })]), dsl.globalMaxPool]
}

for (const [name, layers] of Object.entries(pooled)) {
  const { graph, ...execution } = executionOf([
    convolution(18),
    dsl.tanh,
    ...layers,
    dsl.batchNorm(),
    dsl.tanh,
    dsl.linear({ out: 3 }),
    dsl.meanSquaredError
  ])
  const end = graph.nodes.length - 4

  test(`${name}: tiles compute what plain does`, async () => {
    const plain = await gradients({ ...execution, strategy: 'plain' })
    const all = tilings(graph, end)
    assert.is(all.length, grids.length)
    for (const segments of all) assertClose(await gradients({ ...execution, segments }), plain, 1e-12)
    const whole = await outputs({ ...execution, strategy: 'plain' })
    for (const segments of all) {
      proves({ ...execution, segments })
      assert.equal(await outputs({ ...execution, segments }), whole)
    }
    const recomputed = all[0]!.map((segment): Segment => ({ ...segment, recompute: true }))
    assertClose(await gradients({ ...execution, segments: recomputed }), plain, 1e-12)
  })

  onFastDevices(test, `${name}: it computes what the reference device does`, async (device) => {
    const plain = await gradients({ ...execution, strategy: 'plain' })
    for (const segments of tilings(graph, end)) assertClose(await gradients({ ...execution, device, segments }), plain, 1e-4, 1e-5)
  })
}

/** Where the gradient of the largest of [1, 1, 4, 5] arrives, in 2 x 3 tiles and in one. */
const arrivals = async (on: Pick<Execution, 'device' | 'precision'>, input: readonly number[]): Promise<readonly (readonly number[])[]> => {
  const layers = [dsl.globalMaxPool, dsl.meanSquaredError]
  const graph = graphOf(layers, [1, 1, 4, 5])
  const execution = { ...on, model: { name: 'net', layers }, input: [1, 1, 4, 5], weights: new Map<string, number[]>() }
  const [tiled] = tilings(graph, 1).slice(-1)
  const found = []
  for (const decisions of [{ strategy: 'plain' as const }, { segments: tiled! }]) {
    const { tensors } = await gradients({ ...execution, ...decisions, batch: { input, target: [-3] } })
    found.push([...tensors.get('grad.input')!].flatMap((value, index) => (value === 0 ? [] : [index])))
  }
  return found
}

const ways = [...(['reference', ...fastDevices] as const).map((device) => ({ name: device, on: { device } })), ...bf16Devices()]
for (const { name, on } of ways.filter(({ on }) => testsDevice(on.device))) {
  const image = (at: Readonly<Record<number, number>>): readonly number[] => Array.from({ length: 20 }, (_, index) => at[index] ?? -9)

  test(`${name}: of equals the first in the order of rows has the gradient, of zeros whatever their sign, of NaN too`, async () => {
    assert.equal(await arrivals(on, image({ 4: 2, 5: 2, 16: 2 })), [[4], [4]])
    assert.equal(await arrivals(on, image({ 9: -0, 11: 0, 12: -0 })), [[9], [9]])
    assert.equal(await arrivals(on, image({})), [[0], [0]])
    assert.equal(await arrivals(on, image({ 1: Infinity, 8: NaN, 13: NaN })), [[8], [8]])
  })
}

test.run()
