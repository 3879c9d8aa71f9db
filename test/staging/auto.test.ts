import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, checkpoint, conv2d, globalAvgPool, linear, maxPool2d, model, relu, residual, tile } from '../../dsl'
import { builtIn } from '../../models'
import {
  buildGraph,
  referenceModel,
  stage,
  strategyNames,
  type DeviceModel,
  type Objective,
  type StageRequest,
  type StrategyName
} from '../../staging'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import { sourceOrder } from '../../staging/graph/order'
import { createStepGraph } from '../../staging/ops/build-graph'
import { lower } from '../../staging/lowering'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { algorithmDevice } from './algorithm-device'
import { drawsOf, netKind, randomNet } from './random-nets'
import { randomSegments } from './random-segments'

const training: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }
const source = { kind: 'image', mean: [0, 0, 0, 0], deviation: [1, 1, 1, 1] } as const

/**
 * The reference device, one that also has 3 x 3 convolutions by Winograd, and one with a choice of
 * scratch.
 */
const deviceFor = (seed: number): DeviceModel => {
  if (seed % 5 === 0) return algorithmDevice()
  const device = referenceModel(seed % 2 === 0 ? 'float32' : 'float64')
  const winograd: DeviceModel['winograd'] = ({ kernel, stride, dilation, groups }) =>
    groups === 1 && kernel.join() === '3,3' && [...stride, ...dilation].every((step) => step === 1)
  return seed % 4 < 2 ? { ...device, winograd } : device
}

/**
 * Residual blocks with statistics between all convolutions, in front of which there is much to keep
 * or to make again.
 */
const normalisedNet = (seed: number): Pick<StageRequest, 'model' | 'input'> => {
  const draw = drawsOf(seed)
  const channels = 4 * draw(1, 3)
  const convolution = () => [conv2d({ out: channels, k: 3, p: 1, bias: false }), batchNorm()] as const
  const blocks = Array.from({ length: draw(1, 4) }, () => [residual([...convolution(), relu, ...convolution()]), relu])
  return {
    model: model({ name: 'normalised', layers: [...convolution(), relu, ...blocks.flat(), globalAvgPool, linear({ out: 2 })] }),
    input: [1, 3, draw(24, 48), draw(24, 48)]
  }
}

/** A net, a random one where none is given, and what stages it by a strategy within a budget. */
const randomCase = (seed: number, net = randomNet(drawsOf(seed), netKind(seed)) as Pick<StageRequest, 'model' | 'input'>) => {
  const objective: Objective = seed % 3 === 0 ? { kind: 'gradients' } : training
  const request = {
    ...net,
    device: deviceFor(seed),
    objective,
    source: seed % 3 === 0 ? { kind: 'float' } : source,
    // With room on the host auto swaps too, as the strategies do that swap.
    hostBudget: { bytes: 2 ** 40 }
  }
  return (strategy: StrategyName, budget?: number, hostBudget?: number) =>
    stage({
      ...request,
      strategy,
      ...(budget === undefined ? {} : { budget: { bytes: budget } }),
      ...(hostBudget === undefined ? {} : { hostBudget: { bytes: hostBudget } })
    } as StageRequest)
}

const seeds = fc.nat({ max: 2 ** 31 - 1 })
const runs = propertyRuns(20, 4)

const plainPeak = (staged: ReturnType<ReturnType<typeof randomCase>>): number => must(staged).predicted.plainPeakBytes

test('more memory never predicts a slower plan, of any strategy, and never one that does not fit', () => {
  fc.assert(
    fc.property(
      seeds,
      fc.constantFrom(...strategyNames),
      fc.array(fc.double({ min: 0.2, max: 1.1, noNaN: true }), { minLength: 6, maxLength: 6 }),
      (seed, strategy, shares) => {
        const staged = randomCase(seed)
        const peak = plainPeak(staged('plain'))
        const unlimited = staged(strategy)
        assert.ok(isRight(unlimited))
        let before = Infinity
        for (const budget of shares.map((share) => Math.floor(share * peak)).sort((a, b) => a - b)) {
          const answer = staged(strategy, budget)
          if (isLeft(answer)) {
            assert.is(before, Infinity, `${budget} bytes are refused, but less was enough`)
            continue
          }
          const { stepMilliseconds, peakDeviceBytes } = answer.right.predicted
          assert.ok(peakDeviceBytes <= budget)
          assert.ok(stepMilliseconds <= before, `${budget} bytes take ${stepMilliseconds} ms, but less took ${before} ms`)
          before = stepMilliseconds
        }
        assert.ok(isRight(unlimited) && unlimited.right.predicted.stepMilliseconds <= before)
      }
    ),
    runs
  )
})

test('auto is never slower than a strategy within the same budget, and finds a plan wherever one does', () => {
  fc.assert(
    fc.property(seeds, fc.double({ min: 0.2, max: 1.1, noNaN: true }), (seed, share) => {
      const staged = randomCase(seed)
      const budget = Math.floor(share * plainPeak(staged('plain')))
      // Without a host budget it does not swap.
      const auto = staged('auto', budget, Number.MAX_SAFE_INTEGER)
      const others = strategyNames.filter((name) => name !== 'auto').map((name) => staged(name, budget))
      assert.is(isRight(auto), others.some(isRight))
      for (const other of others) {
        if (isRight(auto) && isRight(other)) assert.ok(auto.right.predicted.stepMilliseconds <= other.right.predicted.stepMilliseconds)
        if (isLeft(auto) && isLeft(other)) assert.ok(auto.left.smallestFeasibleBudgetBytes! <= other.left.smallestFeasibleBudgetBytes!)
      }
    }),
    // What sft-offload keeps of its image, the largest tensor, had no segment to be in.
    { ...runs, examples: [[1074069037, 0.2]] }
  )
})

test('auto is never slower than a strategy where strides leave out most of what whole tensors hold', () => {
  const first = [conv2d({ out: 8, k: 3, p: 1 }), relu] as const
  const gaps = [maxPool2d({ k: 2, s: 3 }), conv2d({ out: 6, k: 1, s: 2 })] as const
  const last = [globalAvgPool, linear({ out: 2 })] as const
  const kept = [...first, conv2d({ out: 8, k: 1, s: 3 }), ...gaps, conv2d({ out: 22, k: 3, p: 1 }), relu, ...last] as const
  // Less memory than for some bands is enough for finer ones, which are faster.
  const inBands = [...first, conv2d({ out: 10, k: 3, p: 1, bias: false }), batchNorm(), relu, ...gaps, ...last] as const
  const cases = [
    { staged: randomCase(1, { model: model({ name: 'kept', layers: kept }), input: [1, 3, 45, 71] }), shares: [0.9, 1.1] },
    { staged: randomCase(5, { model: model({ name: 'bands', layers: inBands }), input: [1, 3, 58, 58] }), shares: [0.7] }
  ] as const
  for (const { staged, shares } of cases)
    for (const share of shares) {
      const plain = must(staged('plain')).predicted
      const budget = Math.floor(share * plain.plainPeakBytes)
      const { stepMilliseconds, lowerBoundMilliseconds } = must(staged('auto', budget)).predicted
      assert.ok(lowerBoundMilliseconds > 0)
      for (const name of ['sft', 'sft-offload'] as const)
        assert.ok(stepMilliseconds <= must(staged(name, budget)).predicted.stepMilliseconds, `${share}, ${name}`)
      // In tiles, though all would fit whole.
      if (share > 1) assert.ok(stepMilliseconds < 0.8 * plain.stepMilliseconds)
    }
})

test('the smallest budget that a refusal names is enough, and one byte less is not', () => {
  fc.assert(
    fc.property(seeds, fc.constantFrom(...strategyNames), fc.integer({ min: 1, max: 4096 }), (seed, strategy, budget) => {
      const staged = randomCase(seed)
      const refused = staged(strategy, budget)
      if (isRight(refused)) return
      const smallest = refused.left.smallestFeasibleBudgetBytes!
      const enough = staged(strategy, smallest)
      assert.ok(isRight(enough) && enough.right.program.peakBytes <= smallest)
      const less = staged(strategy, smallest - 1)
      assert.ok(isLeft(less) && less.left.smallestFeasibleBudgetBytes === smallest)
    }),
    runs
  )
})

/** Half of them have something to make again. */
const hostCase = (seed: number) => (seed % 2 === 0 ? randomCase(seed) : randomCase(seed, normalisedNet(seed)))

test('more memory on the host, and on the device, never predicts a slower plan, and never refuses one', () => {
  let slower = 0
  fc.assert(
    fc.property(
      seeds,
      fc.constantFrom('sft-offload', 'auto'),
      fc.array(fc.double({ min: 0.1, max: 1, noNaN: true }), { minLength: 2, maxLength: 2 }),
      fc.array(fc.double({ min: 0, max: 0.8, noNaN: true }), { minLength: 3, maxLength: 3 }),
      (seed, strategy, shares, hostShares) => {
        const staged = hostCase(seed)
        const peak = plainPeak(staged('plain'))
        const bytes = (list: readonly number[]): readonly number[] => list.map((share) => Math.floor(share * peak)).sort((a, b) => a - b)
        /** For each budget, the times by what the host has. */
        const times = bytes(shares).map((budget) =>
          [...bytes(hostShares), 2 ** 40].map((hostBudget) => {
            const answer = staged(strategy, budget, hostBudget)
            return isRight(answer) ? answer.right.predicted.stepMilliseconds : Infinity
          })
        )
        times.forEach((row, index) => {
          row.forEach((time, place) => {
            assert.ok(time <= (row[place - 1] ?? Infinity), `${time} ms, but ${row[place - 1]} ms with less on the host`)
            const above = times[index - 1]?.[place] ?? Infinity
            assert.ok(time <= above, `${time} ms, but ${above} ms with less on the device`)
          })
          slower += Number(row[0]! > row.at(-1)!)
        })
      }
    ),
    { ...runs, numRuns: runs.numRuns / 2 }
  )
  assert.ok(slower > 0, 'no host budget made a difference')
})

test('the fewest bytes on the host that a refusal names are enough, and one byte less is not', () => {
  let named = 0
  const neededOf = ({ message }: { readonly message: string }): number =>
    Number(/ needs at least (\d+) bytes[^;]* there; /.exec(message)?.[1] ?? NaN)
  fc.assert(
    fc.property(
      seeds,
      fc.constantFrom('sft-offload', 'auto', 'window'),
      fc.double({ min: 0.1, max: 0.9, noNaN: true }),
      (seed, strategy, share) => {
        const staged = hostCase(seed)
        const budget = Math.floor(share * plainPeak(staged('plain')))
        const refused = staged(strategy, budget, 0)
        if (isRight(refused)) return
        const needed = neededOf(refused.left)
        // More on the host is of no use.
        if (Number.isNaN(needed)) return assert.ok(isLeft(staged(strategy, budget)))
        named++
        const enough = staged(strategy, budget, needed)
        assert.ok(isRight(enough) && enough.right.program.hostBytes === needed)
        const less = staged(strategy, budget, needed - 1)
        assert.ok(isLeft(less) && neededOf(less.left) === needed)
      }
    ),
    { ...runs, examples: [[14, 'sft-offload', 0.4838538909475913]] }
  )
  assert.ok(named > 0, 'no refusal named the host')
})

test('the same request to auto gives the same plan and Program', () => {
  fc.assert(
    fc.property(seeds, fc.double({ min: 0.3, max: 1.1, noNaN: true }), (seed, share) => {
      const staged = randomCase(seed)
      const budget = Math.floor(share * plainPeak(staged('plain')))
      assert.equal(JSON.stringify(staged('auto', budget)), JSON.stringify(staged('auto', budget)))
    }),
    runs
  )
})

test("segments' estimated times add up to what the simulator says, but for what every plan does", () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const draw = drawsOf(seed)
      const { model, input } = randomNet(draw, netKind(seed))
      const graph = createStepGraph(must(buildGraph(model, input)), training, source)
      const device = referenceModel('float32')
      const estimate = segmentEstimator(graph, device)
      const common = [1, 2, 3].map(() => {
        const segments = randomSegments(draw, graph)
        const estimated = segments.reduce((sum, segment) => sum + estimate(segment)!.nanoseconds(), 0)
        return Math.round(1e6 * lower(graph, { order: sourceOrder(graph), segments }, device).milliseconds()) - estimated
      })
      assert.ok(common[0]! > 0)
      assert.equal(common, [common[0], common[0], common[0]])
    }),
    runs
  )
})

test('auto says its name, and what is kept of a plan says the rest', () => {
  const staged = stage({
    model: builtIn.vgg11!({ classes: 2, head: 'gap' }),
    input: [1, 3, 224, 224],
    device: referenceModel('float32'),
    strategy: 'auto',
    objective: training,
    source,
    budget: { bytes: 90e6 }
  })
  assert.ok(isRight(staged) && staged.right.strategy === 'auto' && staged.right.plan.segments.length > 1)
})

test("auto does as the model's marks ask, with all the memory there is", () => {
  const staged = stage({
    model: model({
      name: 'marked',
      input: [1, 3, 64, 64],
      layers: [
        conv2d({ out: 8, k: 3, p: 1 }),
        tile({ H: 4, W: 2 }),
        relu,
        checkpoint,
        conv2d({ out: 8, k: 3, p: 1 }),
        globalAvgPool,
        linear({ out: 2 })
      ]
    }),
    device: referenceModel('float32'),
    strategy: 'auto',
    objective: training,
    source
  })
  assert.ok(isRight(staged))
  const [first] = staged.right.plan.segments
  assert.equal([first!.from, first!.to, first!.grid], [0, 2, { B: 1, H: 4, W: 2 }])
})

test.run()
