/**
 * Yang 2020 (docs/papers.md): Algorithm 1's order, what is offloaded, and workspaces by what is
 * free.
 */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, parallel, relu, residual } from '../../dsl'
import { builtIn } from '../../models'
import { buildGraph, isConvolution, referenceModel, stage, verify, type Staged, type StageRequest } from '../../staging'
import type { Graph } from '../../staging/graph/graph'
import { createStepGraph } from '../../staging/ops/build-graph'
import type { StepGraph } from '../../staging/graph/step-graph'
import { lower, type Lowered } from '../../staging/lowering'
import { createTimelines } from '../../staging/lowering/cost/timeline'
import { sourceOrder, depthFirst, inOrder, type Order } from '../../staging/graph/order'
import { withFastestFirst } from '../../staging/devices/algorithms'
import { workspacesWithin } from '../../staging/strategies/free-workspace'
import { dymem } from '../../staging/strategies/dymem'
import { wholeGraph } from '../../staging/strategies/plain'
import { algorithmDevice } from './algorithm-device'
import { drawsOf, netKind, randomNet } from './random-nets'
import { must } from '../must'
import { searchIn } from './search-in'

const base = {
  device: referenceModel('float32'),
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
} as const

/** Of dymem's plans of a graph in an order, the one that needs the fewest bytes. */
const leastOf = (written: StepGraph, order: Order): Lowered => {
  if (dymem.kind !== 'swapping') throw new Error('dymem swaps')
  const [least] = [
    ...dymem
      .groups(searchIn(written, base.device, order), 'alone')[0]!
      .scheduled(Infinity, Infinity)
      .flatMap(({ estimates }) => estimates())
  ].sort((a, b) => a.deviceBytes - b.deviceBytes)
  return lower(written, least!.plan(), base.device)
}

/** All branches one layer further at a time. */
const breadthFirst = ({ nodes }: Graph): Order => {
  const depths: number[] = []
  nodes.forEach(({ inputs }) => depths.push(1 + Math.max(...inputs.map((tensor) => (tensor === 0 ? 0 : depths[tensor - 1]!)))))
  return [...nodes.keys()].sort((a, b) => depths[a]! - depths[b]! || a - b)
}

const branch = (out: number) => [conv2d({ out: 8, k: 1 }), relu, conv2d({ out: 8, k: 3, p: 1 }), relu, conv2d({ out, k: 3, p: 1 })]
const inception = parallel([branch(1), branch(1), branch(1), [conv2d({ out: 1, k: 1 })]])
const ends = [relu, maxPool2d({ k: 2 }), conv2d({ out: 4, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
const branching = model({ name: 'branching', layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, inception, relu, inception, ...ends] })

test('one branch to its end before the next: models and random nets are written so', () => {
  const graphs = [
    ...Object.values(builtIn).map((make) => must(buildGraph(make({ classes: 2 }), [2, 3, 224, 224]))),
    ...Array.from({ length: 60 }, (_, seed) => {
      const { model: net, input } = randomNet(drawsOf(seed), netKind(seed))
      return must(buildGraph(net, input))
    })
  ]
  assert.ok(graphs.filter((graph) => breadthFirst(graph).join() !== sourceOrder(graph).join()).length > 10)
  for (const graph of graphs) assert.equal(depthFirst(graph), sourceOrder(graph), graph.model)
})

test('depth first needs less than breadth first, forward alone and with what Dymem moves', () => {
  const graph = must(buildGraph(branching, [1, 3, 64, 64]))
  const wide = inOrder(graph, breadthFirst(graph))
  const order = depthFirst(wide)
  assert.not.equal(order, sourceOrder(wide))
  const names = ({ nodes }: Graph): readonly string[] => nodes.map(({ name }) => name)
  assert.equal(names(inOrder(wide, order)), names(graph))

  const forward = createStepGraph(wide, { kind: 'evaluate' }, base.source)
  const [deep, broad] = [order, sourceOrder(wide)].map((one) => lower(forward, { order: one, segments: wholeGraph(wide) }, base.device))
  assert.ok(deep!.liveBytes() < 0.8 * broad!.liveBytes(), `${deep!.liveBytes()} and ${broad!.liveBytes()}`)

  const [swapped, moved] = [order, sourceOrder(wide)].map((one) => leastOf(createStepGraph(wide, base.objective, base.source), one))
  assert.ok(swapped!.liveBytes() < moved!.liveBytes(), `${swapped!.liveBytes()} and ${moved!.liveBytes()}`)
  for (const { program } of [swapped!, moved!]) must(verify(program()))
})

test('everything but the inputs of linear layers goes, however much memory there is', () => {
  const { graph, plan } = must(stage({ ...base, model: branching, input: [1, 3, 64, 64], strategy: 'dymem' }))
  const { tensors } = createTimelines(graph, base.device)(plan.segments)
  const gone = new Set((plan.swapSchedule ?? []).map(({ tensor }) => tensor))
  const last = graph.nodes.findIndex(({ op }) => op === 'linear')
  assert.not.ok(gone.has(`output of ${graph.nodes[last - 1]!.name}`))
  assert.ok(gone.size > tensors.length / 2, `${gone.size} of ${tensors.length}`)
})

const shrinking = (out: number) => [conv2d({ out, k: 3, p: 1 }), relu, residual([conv2d({ out, k: 3, p: 1 }), relu]), maxPool2d({ k: 2 })]
const network = model({ name: 'shrinking', layers: [...[8, 16, 32, 64].flatMap(shrinking), globalAvgPool, linear({ out: 2 })] })
const wanted: StageRequest = { ...base, device: algorithmDevice(), model: network, input: [1, 3, 96, 96], strategy: 'dymem' }

test('each convolution takes the workspace that is free where it runs', () => {
  const { smallestFeasibleBudgetBytes: least } = E.match(
    (error: { readonly smallestFeasibleBudgetBytes?: number }) => error,
    () => ({ smallestFeasibleBudgetBytes: 0 })
  )(stage({ ...wanted, budget: { bytes: 4096 } }))
  const most = must(stage(wanted))
  const algorithmOf = ({ segments }: Staged['plan']): readonly (number | undefined)[] => segments.map(({ workspace }) => workspace)
  assert.is(new Set(algorithmOf(most.plan)).size, 1)

  const budgets = [0, 0.15, 0.3, 0.5, 0.75].map((share) => Math.floor(least! + share * (most.program.peakBytes - least!)))
  const plans = budgets.map((budget) => must(stage({ ...wanted, budget: { bytes: budget } })))
  for (const { program, plan } of plans) {
    must(verify(program))
    const limit = Math.max(...plan.segments.map(({ workspace = 0 }) => workspace))
    for (const kernel of program.kernels.filter(isConvolution)) assert.ok(wanted.device.scratchBytes(kernel)! <= limit)
  }
  const differing = plans.filter(({ plan }) => new Set(algorithmOf(plan)).size > 1)
  assert.ok(differing.length > 0)
  // One limit for all layers is slower in the same memory.
  for (const { plan, predicted, program, graph } of differing) {
    const uniform = algorithmOf(plan).map((workspace) => {
      const segments = wholeGraph(graph).map((segment) => ({ ...segment, ...(workspace !== undefined && { workspace }) }))
      return lower(graph, { ...plan, segments }, wanted.device)
    })
    const fitting = uniform.filter((one) => one.peakBytes() <= program.peakBytes)
    for (const one of fitting) assert.ok(one.milliseconds() >= predicted.stepMilliseconds)
  }
})

test('Programs with a workspace by layer are proven on random nets', () => {
  let differing = 0
  for (let seed = 0; seed < 24; seed++) {
    const request: StageRequest = { ...wanted, ...randomNet(drawsOf(seed), netKind(seed)) }
    const most = must(stage(request)).program.peakBytes
    const refused = stage({ ...request, budget: { bytes: 1024 } })
    const least = E.isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : most
    const { plan, program } = must(stage({ ...request, budget: { bytes: Math.floor(least + ((seed % 4) * (most - least)) / 4) } }))
    must(verify(program))
    differing += Number(new Set(plan.segments.map(({ workspace }) => workspace)).size > 1)
  }
  assert.ok(differing > 0)
})

test('segments for workspaces take next to nothing of their own', () => {
  for (const name of ['vgg16', 'resnet18', 'densenet121'] as const) {
    const graph = createStepGraph(must(buildGraph(builtIn[name]!({ classes: 2 }), [1, 3, 128, 128])), base.objective, base.source)
    const device = withFastestFirst(algorithmDevice())
    // As if free memory came and went, so that hardly any two layers have the same.
    const cut = workspacesWithin(graph, device)((position) => ((position >> 1) % 2 === 0 ? 0 : 2 ** 30))
    assert.ok(cut.length > 5, `${name}: ${cut.length}`)
    const alike = cut.map((segment) => ({ ...segment, workspace: 0 }))
    const whole = wholeGraph(graph).map((segment) => ({ ...segment, workspace: 0 }))
    const [apart, together] = [alike, whole].map((segments) => lower(graph, { order: sourceOrder(graph), segments }, device))
    // Boundaries keep a shortcut's gradient apart.
    assert.ok(apart!.liveBytes() <= 1.005 * together!.liveBytes(), `${name}: ${apart!.liveBytes()} and ${together!.liveBytes()}`)
    assert.ok(apart!.milliseconds() <= 1.001 * together!.milliseconds(), name)
  }
})

test.run()
