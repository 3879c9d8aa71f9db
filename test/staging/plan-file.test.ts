import fc from 'fast-check'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, relu, residual, type AnyLayer, type Model, type PlanFile } from '../../dsl'
import {
  buildGraph,
  checkPlanFile,
  decodePlanFile,
  toPlanFile,
  planFileText,
  referenceModel,
  stage,
  strategyNames,
  verify,
  type Objective,
  type PlanPlacement,
  type Segment,
  type Staged,
  type StageRequest
} from '../../staging'
import { asWritten } from '../golden/execute'
import { must } from '../must'
import { propertyRuns } from '../property-runs'
import { drawsOf, netKind, randomNet } from './random-nets'

const objective: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }

const decoded = (value: unknown): PlanFile => must(E.mapLeft((message: string) => ({ message }))(decodePlanFile(value))).plan

/** Written, read and checked, a plan has the same decisions, and they the same Program. */
const assertReadAgain = (request: StageRequest, staged: Staged): void => {
  const file = toPlanFile(staged)
  const read = decoded(JSON.parse(planFileText(file, { kind: 'json' })))
  assert.equal(read, file)
  const given = must(checkPlanFile(must(buildGraph(request.model, read.input)), request.model.input, read))
  assert.equal(given, staged.plan)
  assert.equal(must(stage({ ...request, given })).program, staged.program)
}

test('random nets and strategies: a plan that is written and read again is the same', () => {
  let [tiled, swapped] = [0, 0]
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 - 1 }),
      fc.constantFrom(...strategyNames),
      fc.double({ min: 0.3, max: 1, noNaN: true }),
      fc.constantFrom<PlanPlacement | undefined>(undefined, { allocator: 'virtual', pageBytes: 4096 }),
      (seed, strategy, share, placement) => {
        const request: StageRequest = {
          ...randomNet(drawsOf(seed), netKind(seed)),
          strategy,
          device: referenceModel('float32'),
          objective,
          source: { kind: 'float' },
          hostBudget: { bytes: 2 ** 40 },
          ...(placement && { placement })
        }
        const { plainPeakBytes } = must(stage({ ...request, strategy: 'plain' })).predicted
        const staged = stage({ ...request, budget: { bytes: Math.floor(share * plainPeakBytes) } })
        if (E.isLeft(staged)) return
        assertReadAgain(request, staged.right)
        const { segments, swapSchedule = [] } = staged.right.plan
        if (segments.some(({ grid }) => grid.B * grid.H * grid.W > 1)) tiled++
        if (swapSchedule.length > 0) swapped++
      }
    ),
    propertyRuns(60)
  )
  assert.ok(tiled > 0 && swapped > 0, `${tiled} plans tile, ${swapped} swap`)
})

const convolution = (out: number, s = 1): AnyLayer => conv2d({ out, k: 3, s, p: 1, bias: false })
const network: Model = {
  name: 'blocks',
  input: [2, 3, 24, 16],
  layers: [
    convolution(4),
    batchNorm(),
    relu,
    maxPool2d({ k: 2 }),
    residual([convolution(8, 2), batchNorm(), relu, convolution(8)], [conv2d({ out: 8, k: 1, s: 2 }), batchNorm()]),
    relu,
    globalAvgPool,
    linear({ out: 2 })
  ]
}
const request: StageRequest = {
  model: network,
  device: referenceModel('float64'),
  strategy: 'plain',
  objective,
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
}
const whole = { B: 1, H: 1, W: 1 }
const segment = (from: number, to: number, grid = whole): Segment => ({
  ...{ from, to, grid, recompute: to < 15 },
  reorder: 'once'
})

/** What becomes of decisions by hand: 'sound', or the sentence of the refusal. */
const answerTo = (segments: readonly Segment[]): string => {
  const staged = stage({ ...request, given: asWritten(segments) })
  if (E.isLeft(staged)) return staged.left.message
  const verified = verify(staged.right.program)
  return E.isLeft(verified) ? verified.left.message : 'sound'
}

test('segments by hand may cut a block anywhere, and may be tiled where they start at the statistics', () => {
  assert.equal(
    must(stage(request))
      .graph.nodes.map(({ op }, position) => `${position} ${op}`)
      .join(', '),
    '0 conv2d, 1 batchNorm, 2 relu, 3 maxPool2d, 4 conv2d, 5 batchNorm, 6 relu, 7 conv2d, 8 conv2d, 9 batchNorm, 10 add, 11 relu, 12 globalAvgPool, 13 linear, 14 softmaxCrossEntropy'
  )
  const grid = { B: 1, H: 3, W: 2 }
  assert.is(answerTo([segment(0, 1, grid), segment(1, 5, grid), segment(5, 9, grid), segment(9, 13, grid), segment(13, 15)]), 'sound')
  for (let cut = 1; cut < 15; cut++) assert.is(answerTo([segment(0, cut), segment(cut, 15)]), 'sound', `cut at ${cut}`)
})

test('segments that would tile a tensor whose statistics they need are refused with the layer', () => {
  for (const [segments, sentence] of [
    [
      [segment(0, 2, { ...whole, W: 2 }), segment(2, 15)],
      'segment 0..2: cannot tile along W; batchNorm needs the statistics of the whole tensor before it, so a segment must end before it.'
    ],
    [
      [segment(0, 1), segment(1, 10, { ...whole, B: 2 }), segment(10, 15)],
      'segment 1..10: cannot tile along B; batchNorm needs the statistics of the whole tensor before it, so a segment must end before it.'
    ]
  ] as const)
    assert.is(answerTo(segments), sentence)
})

test('an order in which a max pool runs before a rectifier is written and read', () => {
  const rectified = { ...network, layers: [convolution(4), ...(network.layers as readonly AnyLayer[]).slice(2)] }
  const wanted: StageRequest = { ...request, model: rectified, strategy: 'sft' }
  const staged = must(stage(wanted))
  assert.equal(staged.plan.order.slice(0, 4), [0, 2, 1, 3])
  assertReadAgain(wanted, staged)
})

test('a plan names no convolution by Winograd that cannot run so on any device', () => {
  const layers: readonly AnyLayer[] = [
    ...[convolution(4), convolution(4, 2), conv2d({ out: 4, k: 1 }), conv2d({ out: 4, k: 3, d: 2 }), conv2d({ out: 4, k: 3, groups: 2 })],
    ...[globalAvgPool, linear({ out: 2 })]
  ]
  const model = { ...network, layers }
  const file = toPlanFile(must(stage({ ...request, model })))
  const answer = (name: string): string => {
    const checked = checkPlanFile(must(buildGraph(model, file.input)), model.input, {
      ...file,
      segments: [{ ...file.segments[0]!, winograd: [name] }]
    })
    return E.isLeft(checked) ? checked.left.message : 'sound'
  }
  const refusal = (layer: string): string =>
    `segment 0..8: winograd: there is none for ${layer}; it takes 3x3 kernels with strides of 1 and one group.`
  assert.equal(['0', '1', '2', '3', '4'].map(answer), [
    'sound',
    refusal('1 (conv2d 4 k3 s2 p1 no-bias)'),
    refusal('2 (conv2d 4 k1)'),
    'sound',
    refusal('4 (conv2d 4 k3 g2)')
  ])
})

test('a max pool runs after a rectifier that something else reads too', () => {
  const layers: readonly AnyLayer[] = [convolution(4), relu, residual([maxPool2d({ k: 3, s: 1, p: 1 })]), globalAvgPool, linear({ out: 2 })]
  const refused = stage({
    ...request,
    model: { ...network, layers },
    given: { order: [0, 2, 1, 3, 4, 5, 6], segments: [segment(0, 7)] }
  })
  assert.ok(E.isLeft(refused))
  assert.is(
    E.isLeft(refused) && refused.left.message,
    'order: 2 cannot run at position 1; only a max pool may run before the rectifier that it follows.'
  )
})

test.run()
