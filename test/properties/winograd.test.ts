import { isRight } from 'fp-ts/Either'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { buildGraph, isConvolution, layoutCode, readsStoredWeights, strategyNames, verify, type Segment, type Staged } from '../../staging'
import { gradients, outputs, stageFor, type Execution } from '../golden/execute'
import { drawsOf, type Draw } from '../staging/random-nets'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { assertClose } from './random-execution'
import { assertPeakTouched } from './touched-peak'

/**
 * 3 x 3 convolutions of whole blocks of channels after one of 3 channels, some dilated, whose
 * padding differs from side to side.
 */
const convolutions = (draw: Draw, maxDilation: number, wide: boolean): readonly dsl.AnyLayer[] =>
  Array.from({ length: draw(2, 4) }, () => {
    const [rows, columns] = maxDilation === 1 ? [1, 1] : [draw(1, maxDilation), draw(1, maxDilation)]
    return [
      dsl.conv2d({
        out: 16 * (wide || draw(0, 2) === 0 ? draw(5, 9) : draw(1, 5)),
        k: 3,
        d: [rows, columns],
        p: [rows - draw(0, 1), rows - draw(0, 1), columns - draw(0, 1), columns - draw(0, 1)],
        bias: draw(0, 1) === 1
      }),
      dsl.leakyRelu({ slope: 0.5 })
    ]
  }).flat()

const randomExecution = (seed: number, { extents = [12, 28] as readonly [number, number], maxDilation = 3, wide = false } = {}) => {
  const draw = drawsOf(seed)
  const input = [draw(1, 2), 3, draw(...extents), draw(...extents)] as const
  const model: dsl.Model = {
    name: 'convolutions',
    layers: [...convolutions(draw, maxDilation, wide), dsl.globalAvgPool, dsl.meanSquaredError]
  }
  const graph = must(buildGraph(model, input))
  const values = (shape: readonly number[]): Float64Array =>
    Float64Array.from({ length: shape.reduce((all, extent) => all * extent, 1) }, () => draw(-1000, 1000) / 1000)
  const weights = new Map(graph.parameters.map(({ name, shape }) => [name, values(shape).map((value) => value / 4)]))
  const batch = { input: values(input), target: values(graph.nodes[graph.nodes.length - 1]!.input) }
  const execution: Execution = { model, input, device: 'cpu', weights, batch, seed }
  const whole: Segment = { from: 0, to: graph.nodes.length, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  const transformable = graph.nodes.flatMap(({ op, input }, position) => (op === 'conv2d' && input[1] % 16 === 0 ? [position] : []))
  const byWinograd = (segment: Segment): Segment => ({
    ...segment,
    winograd: transformable.filter((position) => segment.from <= position && position < segment.to)
  })
  const plans = [[whole], randomSegments(draw, graph)].map((plan) => plan.map(byWinograd))
  // Of few channels there is one slice, as if there were none.
  const inSlices = plans.map((plan) =>
    plan.map((segment): Segment => ({ ...segment, slicedWinograd: segment.winograd!.filter(() => draw(0, 3) > 0) }))
  )
  return { draw, execution, plans, inSlices }
}

/** Of the median, how far rounding may move a value that a rectifier reads. */
const rounding = 2e-5

/** Whether rounding may turn a rectifier, of which the gradient then differs by half of its own. */
const isNearKink = async ({ model, weights, ...execution }: Execution): Promise<boolean> => {
  const { layers } = model
  for (const [position, { op }] of layers.entries()) {
    if (op !== 'leakyRelu') continue
    const before = [...layers.slice(0, position), dsl.meanSquaredError]
    const read = new Map([...weights].filter(([name]) => Number(name.split('.')[0]) < position))
    const values = await outputs({
      ...execution,
      model: { ...model, layers: before },
      weights: read,
      device: 'reference',
      strategy: 'plain'
    })
    const distances = Float64Array.from(values, Math.abs).sort()
    if (distances[0]! < rounding * distances[distances.length >> 1]!) return true
  }
  return false
}

const runs = propertyRuns(15, 5)

const winogradKinds = ({ program }: Staged): readonly string[] =>
  program.kernels.filter(isConvolution).flatMap(({ kind, algorithm }) => (algorithm === 1 ? [kind] : []))

/** Whether a kernel of few tiles transforms its weights itself, and sums in an order of its own. */
const readsStored = ({ program }: Staged): boolean => program.kernels.filter(isConvolution).some(readsStoredWeights)

test('random convolutions, sizes and grids: gradients by Winograd are those of the reference device, up to rounding', async () => {
  let [large, stored] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      // Of small images no gradient of inputs is by tiles of 6x6 results.
      const { execution, plans } = randomExecution(seed, seed % 3 === 0 ? { extents: [60, 90] } : { wide: seed % 3 === 1 })
      const exact = await gradients({ ...execution, device: 'reference', strategy: 'plain' })
      for (const segments of plans) {
        const found = await gradients({ ...execution, segments })
        try {
          assertClose(found, exact, 1e-4, 1e-4)
        } catch (error) {
          if (!(await isNearKink(execution))) throw error
        }
        assert.ok(found.measuredPeakBytes <= found.staged.program.peakBytes)
        const kinds = winogradKinds(found.staged)
        for (const kind of ['convolutionForward', 'convolutionBackwardData', 'convolutionBackwardWeights'])
          assert.ok(kinds.includes(kind), `${kind} is not by Winograd`)
        const ofLarge = layoutCode('winograd6Backward')
        stored += Number(readsStored(found.staged))
        large += Number(found.staged.program.kernels.some((kernel) => isConvolution(kernel) && kernel.weightLayout === ofLarge))
      }
    }),
    // Two values that rectifiers read are 3e-6 and 4e-6 from 0; the other two have what is counted.
    { ...runs, examples: [[1574888513], [3], [1], [9]] }
  )
  assert.ok(large > 0, 'no gradient by tiles of 6x6 results')
  assert.ok(stored > 0, 'no weights are read as they are stored')
})

test('random plans in slices of channels: the bits of the same plan without slices, where that transforms all weights beforehand, accepted by the verifier', async () => {
  let [sliced, less, equal] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { execution, plans, inSlices } = randomExecution(seed)
      for (const [index, segments] of plans.entries()) {
        const whole = await gradients({ ...execution, segments })
        const found = await gradients({ ...execution, segments: inSlices[index]! })
        const { program } = found.staged
        const verified = verify(program)
        assert.ok(isRight(verified), JSON.stringify(verified))
        if (!readsStored(whole.staged)) {
          assert.equal(found.tensors, whole.tensors, 'other bits in slices')
          equal++
        }
        assertPeakTouched(program, found.measuredPeakBytes)
        sliced += Number(program.kernels.some(({ kind }) => kind === 'sliceWeights'))
        less += Number(program.peakBytes < whole.staged.program.peakBytes)
      }
    }),
    runs
  )
  assert.ok(sliced > 5 && less > 0 && equal > 5, `${sliced} plans in slices, ${less} in less memory, ${equal} of the same bits`)
})

test('what strategies choose within budgets: accepted by the verifier, the same gradients, the predicted peak; with exact kernels never Winograd', async () => {
  let [chosen, tiled, mixed, direct] = [0, 0, 0, 0]
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      // Small images are not worth the transformation of weights.
      const { draw, execution } = randomExecution(seed, { extents: [60, 110], maxDilation: 1 })
      const exact = await gradients({ ...execution, strategy: 'plain', exactKernels: true })
      const { plainPeakBytes } = exact.staged.predicted
      // Strategies agree where there is little to decide.
      const ran = new Set<string>()
      assert.is(plainPeakBytes, exact.staged.program.peakBytes)
      for (const strategy of strategyNames) {
        const budget = Math.floor((plainPeakBytes * draw(60, 130)) / 100)
        const wanted: Execution = { ...execution, strategy, budget }
        for (const exactKernels of [undefined, true as const]) {
          const one = exactKernels ? { ...wanted, exactKernels } : wanted
          const ofStrategy = stageFor(one, { kind: 'gradients' })
          if (!isRight(ofStrategy)) continue
          const decisions = JSON.stringify([exactKernels, ofStrategy.right.plan])
          if (ran.has(decisions)) continue
          ran.add(decisions)
          const { staged, ...found } = await gradients(one)
          assert.equal((await gradients(one)).tensors, found.tensors, 'other bits for the same plan')
          const verified = verify(staged.program)
          assert.ok(isRight(verified), JSON.stringify(verified))
          assertClose({ staged, ...found }, exact, 1e-4, 1e-4)
          assertPeakTouched(staged.program, found.measuredPeakBytes)
          const byWinograd = staged.plan.segments.filter(({ winograd = [] }) => winograd.length > 0)
          assert.is(winogradKinds(staged).length > 0, byWinograd.length > 0)
          if (exactKernels) assert.is(byWinograd.length, 0)
          else if (byWinograd.length === 0) direct++
          else chosen++
          if (byWinograd.some(({ grid }) => grid.B * grid.H * grid.W > 1)) tiled++
          if (byWinograd.length > 0 && byWinograd.length < staged.plan.segments.length) mixed++
        }
      }
    }),
    { ...runs, numRuns: Math.ceil(runs.numRuns / 3) }
  )
  assert.ok(chosen > 5 && tiled > 0 && direct > 0, `${chosen} plans by Winograd, ${tiled} in tiles, ${mixed} in part, ${direct} without`)
})

test.run()
