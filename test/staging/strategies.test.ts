import { isLeft, isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  adaptiveAvgPool2d,
  avgPool2d,
  batchNorm,
  checkpoint,
  conv2d,
  convTranspose2d,
  dropout,
  flatten,
  globalAvgPool,
  linear,
  maxPool2d,
  model,
  parallel,
  relu,
  resize,
  tile,
  type AnyLayer
} from '../../dsl'
import { builtIn } from '../../models'
import { buildGraph, fusibleTileAxes, referenceModel, stage, type Segment, type Staged, type StageRequest } from '../../staging'
import { inOrder, hoistPoolAboveRelu } from '../../staging/graph/order'
import type { Kernel } from '../../staging/kernels/kernels'
import { checkpointPositions, findSegments } from '../../staging/strategies/find-segments'
import { segmentTiling } from '../../staging/graph/tiling'
import { must } from '../must'
import { convolutions } from './convolutions'

const request = (layers: readonly AnyLayer[], input: readonly number[], rest: Partial<StageRequest> = {}): StageRequest => ({
  model: model({ name: 'net', layers }),
  input,
  device: referenceModel('float32'),
  strategy: 'sft',
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] },
  ...rest
})

const staged = (wanted: StageRequest): Staged => must(stage(wanted))

const image = [1, 3, 256, 192]

test('Listing 3: what must be tiled joins the next op that may be checkpointed', () => {
  const spans = findSegments([100, 100, 40, 90, 30, 5], 50)
  assert.equal(spans, [
    { from: 0, to: 3 },
    { from: 3, to: 5 },
    { from: 5, to: 6 }
  ])
})

test('a smaller budget gives a smaller peak, never over the budget, down to the smallest that is named', () => {
  const plain = staged(request(convolutions, image, { strategy: 'plain' })).predicted
  for (const fraction of [1, 0.6, 0.4, 0.25]) {
    const budget = Math.ceil(plain.plainPeakBytes * fraction)
    const { predicted, program } = staged(request(convolutions, image, { budget: { bytes: budget } }))
    assert.ok(program.peakBytes <= budget)
    assert.is(predicted.peakDeviceBytes, program.peakBytes)
    assert.ok(predicted.stepMilliseconds >= predicted.lowerBoundMilliseconds)
  }
  const refused = stage(request(convolutions, image, { budget: { bytes: 4096 } }))
  assert.ok(isLeft(refused) && refused.left.code === 'budget')
  const smallest = isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0
  assert.ok(staged(request(convolutions, image, { budget: { bytes: smallest } })).program.peakBytes <= smallest)
})

test('no plan takes less than what is said of all, in whichever order its kernels were measured faster', () => {
  const reference = referenceModel('float32')
  const rectifiesLargeFaster = {
    ...reference,
    milliseconds: (kernel: Kernel): number => ('slope' in kernel && 'count' in kernel ? 1e6 / kernel.count : reference.milliseconds(kernel))
  }
  for (const strategy of ['plain', 'sft'] as const) {
    const { predicted } = staged(request(convolutions, image, { strategy, device: rectifiesLargeFaster }))
    assert.ok(predicted.stepMilliseconds >= predicted.lowerBoundMilliseconds, strategy)
  }
})

test('no plan takes less than what is said of all where strides pass over what tiles leave out', () => {
  const gaps = [avgPool2d({ k: 1, s: 8 }), resize({ mode: 'nearest', size: [8, 8] }), conv2d({ out: 8, k: 1, s: 4 })]
  for (const gap of gaps) {
    const layers = [conv2d({ out: 16, k: 3, p: 1 }), relu, gap, globalAvgPool, linear({ out: 2 })]
    for (const strategy of ['plain', 'sft', 'sft-offload', 'auto'] as const)
      for (const fractionOfPlain of [0.7, 1]) {
        const found = stage(request(layers, [1, 3, 64, 64], { strategy, budget: { fractionOfPlain }, hostBudget: { bytes: 1e9 } }))
        if (isLeft(found)) continue
        const { stepMilliseconds, lowerBoundMilliseconds, haloOverhead } = found.right.predicted
        assert.ok(stepMilliseconds >= lowerBoundMilliseconds, `${gap.op}, ${strategy}: ${stepMilliseconds} < ${lowerBoundMilliseconds}`)
        if (strategy === 'sft-offload' && fractionOfPlain < 1) assert.ok(haloOverhead < -0.5, 'tiles leave nothing out')
      }
  }
})

test('what is said of all plans counts what tiles leave out of the layers before a stride alone', () => {
  const before = [conv2d({ out: 16, k: 3, p: 1 }), relu, conv2d({ out: 16, k: 3, p: 1 }), relu]
  const { stepMilliseconds, lowerBoundMilliseconds } = staged(
    request([...before, conv2d({ out: 8, k: 1, s: 2 }), globalAvgPool, linear({ out: 2 })], [1, 3, 64, 64])
  ).predicted
  assert.ok(lowerBoundMilliseconds < 0.8 * stepMilliseconds && lowerBoundMilliseconds > 0.3 * stepMilliseconds)
})

test('sft pools before it rectifies, and needs less for it; a checkpoint between the two keeps them as written', () => {
  const order = (layers: readonly AnyLayer[]): readonly number[] => staged(request(layers, image)).plan.order
  assert.equal(order(convolutions), [0, 1, 2, 4, 3, 5, 6, 7, 8, 9])
  assert.equal(order([...convolutions.slice(0, 4), checkpoint, ...convolutions.slice(4)]), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  const plain = staged(request(convolutions, image, { strategy: 'plain' }))
  assert.ok(staged(request(convolutions, image)).program.peakBytes < plain.program.peakBytes)
})

test('no segment ends between what changed places, not even where an image is one pixel', () => {
  const built = must(
    buildGraph(model({ name: 'net', layers: [conv2d({ out: 4, k: 1 }), relu, maxPool2d({ k: 8 }), flatten] }), [1, 3, 8, 8])
  )
  const graph = inOrder(built, hoistPoolAboveRelu(built))
  const sizes = [1024, 16, 16, 16, 0]
  assert.equal(
    graph.nodes.map(({ op }) => op),
    ['conv2d', 'maxPool2d', 'relu', 'flatten', 'softmaxCrossEntropy']
  )
  assert.equal(checkpointPositions(graph, sizes, 4096), [1, 3, 4])
})

test('plans are deterministic', () => {
  const wanted = request(convolutions, image, { budget: { bytes: 2_000_000 } })
  assert.equal(JSON.stringify(staged(wanted)), JSON.stringify(staged(wanted)))
})

test('chen recomputes every segment but the last, and needs less than plain', () => {
  const plain = staged(request(convolutions, image, { strategy: 'plain' }))
  const { plan } = staged(request(convolutions, image, { strategy: 'chen', budget: { bytes: plain.program.peakBytes - 1 } }))
  assert.ok(plan.segments.length > 1)
  assert.equal(
    plan.segments.map(({ recompute }) => recompute),
    plan.segments.map((_, index) => index < plan.segments.length - 1)
  )
  const root = staged(request(convolutions, image, { strategy: 'chen-sqrt' })).plan
  assert.is(root.segments.length, Math.round(Math.sqrt(convolutions.length + 1)))
})

test('a U-Net is cut between its levels, where more than one tensor goes on', () => {
  const by = (strategy: 'sft' | 'chen'): Staged =>
    staged({
      ...request([], [1, 3, 256, 256], { strategy, budget: { fractionOfPlain: 0.8 } }),
      model: builtIn['unet']!({ classes: 2, head: 'gap' })
    })
  const [cut, equal] = [by('sft'), by('chen')]
  const between = cut.plan.segments.slice(1).filter(({ from }) => from > 4 && from < 43)
  assert.ok(between.length > 0, JSON.stringify(cut.plan.segments))
  assert.ok(cut.predicted.stepMilliseconds <= equal.predicted.stepMilliseconds)
})

test('a checkpoint in the model ends a segment, a tile mark fixes its grid', () => {
  const layers = [...convolutions.slice(0, 5), tile({ H: 3, W: 2 }), checkpoint, ...convolutions.slice(5)]
  const { plan } = staged(request(layers, image))
  assert.equal(plan.segments[0], { from: 0, to: 5, grid: { B: 1, H: 3, W: 2 }, recompute: true, reorder: 'once', prefetch: true })
})

test('a model may end in a tiled sum over pixels: its loss stands in a segment of its own', () => {
  const { plan } = staged(request([...convolutions.slice(0, 7), tile({ H: 4, W: 4 }), globalAvgPool], image))
  assert.equal(plan.segments[0]!.grid, { B: 1, H: 4, W: 4 })
  assert.equal(
    plan.segments.map(({ to }) => to),
    [8, 9]
  )
})

test('tiles asked for right after a checkpoint are those of the segment that starts there', () => {
  const layers = [
    ...convolutions.slice(0, 2),
    checkpoint,
    tile({ H: 3 }),
    ...convolutions.slice(2, 5),
    checkpoint,
    ...convolutions.slice(5)
  ]
  const { segments } = staged(request(layers, image)).plan
  assert.equal(
    segments.slice(0, 2).map(({ to, grid }) => [to, grid]),
    [
      [2, { B: 1, H: 1, W: 1 }],
      [5, { B: 1, H: 3, W: 1 }]
    ]
  )
})

test('tiles asked for twice in a segment are asked for together, and a plan says how many there are', () => {
  const layers = [conv2d({ out: 4, k: 3, p: 1 }), tile({ H: 5 }), relu, tile({ W: 2 }), checkpoint, globalAvgPool, linear({ out: 2 })]
  const { plan } = staged(request(layers, [1, 3, 7, 8]))
  // 7 rows in 5 tiles are 2, 2, 2 and 1.
  assert.equal(plan.segments[0]!.grid, { B: 1, H: 4, W: 2 })
  const planned = staged({
    ...request([], [1, 3, 2080, 2080], { budget: { bytes: 230_000_000 } }),
    model: builtIn.vgg16!({ classes: 2, head: 'gap' })
  })
  for (const segment of planned.plan.segments) {
    const tiling = segmentTiling(planned.graph, segment, segment.grid)!
    for (const axis of ['B', 'H', 'W'] as const) {
      const made = tiling[axis].reduce((sum, { count }) => sum + count, 0)
      assert.is(made, segment.grid[axis], `segment ${segment.from}..${segment.to} along ${axis}`)
    }
  }
})

test('what would see nothing but padding is refused by its layer, whole or in tiles', () => {
  const refusal = (layers: readonly AnyLayer[], input: readonly number[]): string => {
    const refused = stage(request(layers, input))
    return isLeft(refused) && refused.left.code === 'input' ? refused.left.message : 'staged'
  }
  const sparse = conv2d({ out: 4, k: 1, s: 3, p: 1 })
  const head = [globalAvgPool, linear({ out: 2 })]
  assert.is(
    refusal([sparse, ...head], [1, 3, 1, 1]),
    'net on 1x3x1x1: 0: conv2d: sees nothing but padding; give it less padding or a larger input.'
  )
  assert.is(refusal([sparse, ...head], [1, 3, 4, 4]), 'staged')
  const padded = conv2d({ out: 4, k: 1, p: 1 })
  assert.is(
    refusal([padded, relu, tile({ H: 34 }), checkpoint, ...head], [1, 3, 32, 32]),
    'net on 1x3x32x32: tile: of 1x34x1 tiles from 0 to 1 some see nothing but padding; take fewer tiles.'
  )
  assert.is(refusal([padded, relu, tile({ H: 8 }), checkpoint, ...head], [1, 3, 32, 32]), 'staged')
})

test('more tiles than rows are asked for in vain; what is evaluated, of whatever size, gets as many as there are', () => {
  const layers = [
    conv2d({ out: 4, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 2 }),
    tile({ H: 32, W: 2 }),
    checkpoint,
    globalAvgPool,
    linear({ out: 2 })
  ]
  const fine = request(layers, [1, 3, 64, 64])
  assert.equal(staged(fine).plan.segments[0]!.grid, { B: 1, H: 32, W: 2 })
  for (const strategy of ['auto', 'sft', 'plain'] as const) {
    const refused = stage(request(layers, [1, 3, 32, 32], { strategy }))
    assert.is(
      isLeft(refused) && refused.left.message,
      'net on 1x3x32x32: tile: 32 tiles along H are more than the 16 rows of the output of 2; take at most 16, or a larger input.'
    )
  }
  const evaluated = staged(request(layers, [1, 3, 32, 32], { objective: { kind: 'evaluate' } }))
  assert.equal(evaluated.plan.segments[0]!.grid, { B: 1, H: 16, W: 2 })
})

test("what normalises the network's input cannot stand in tiles of it, asked for or given", () => {
  const asked = stage(request([batchNorm(), relu, tile({ H: 2 }), checkpoint, globalAvgPool, linear({ out: 2 })], [1, 3, 32, 32]))
  assert.is(
    isLeft(asked) && asked.left.message,
    'net on 1x3x32x32: 2: tile: cannot tile along H; batchNorm needs the statistics of the whole input, so put a checkpoint after it.'
  )
  const [first, rest] = [
    { from: 0, to: 2, grid: { B: 1, H: 1, W: 4 }, recompute: true, reorder: 'once' as const },
    { from: 2, to: 5, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' as const }
  ]
  const given = stage({
    ...request([batchNorm(), relu, globalAvgPool, linear({ out: 2 })], [1, 3, 32, 32]),
    given: { order: [0, 1, 2, 3, 4], segments: [first, rest] }
  })
  assert.is(
    isLeft(given) && given.left.message,
    'segment 0..2: cannot tile along W; batchNorm needs the statistics of the whole input, so a segment must end after it.'
  )
})

test('halo overhead counts the multiply-adds of all weights: of convolutions, transposed too, linear layers and normalisations', () => {
  const layers = [
    tile({ H: 2 }),
    convTranspose2d({ out: 2, k: 2, s: 2 }),
    batchNorm({ frozen: true }),
    conv2d({ out: 4, k: 3, p: 1 }),
    checkpoint,
    globalAvgPool,
    linear({ out: 2 })
  ]
  // Each of 16 rows once: 2 x 16 elements of 3 multiply-adds (6 channels, 4 taps of 8 meet an
  // output of stride 2 x 2 on average) and of one.
  const [row, others] = [2 * 16 * (6 + 1), 4 * 16 * 16 * 18 + 4 * 2]
  const { haloOverhead } = staged(request(layers, [1, 6, 8, 8])).predicted
  assert.ok(Math.abs(haloOverhead - (2 * row) / (16 * row + others)) < 1e-12, `${haloOverhead}`)
})

test('a segment may end in a sum over pixels, whatever follows it', () => {
  const layers = [...convolutions.slice(0, 8), dropout({ rate: 0.2 }), relu, linear({ out: 2 })]
  const { plan } = staged(request(layers, image, { budget: { bytes: 900_000 } }))
  assert.ok(plan.segments.some(({ to, grid }) => to === 8 && grid.H * grid.W > 1))
})

test('what is kept whole is one segment, unless the model asks for a checkpoint', () => {
  const spans = (layers: readonly AnyLayer[]): unknown => staged(request(layers, image)).plan.segments.map(({ from, to }) => [from, to])
  assert.equal(spans(convolutions), [[0, 10]])
  assert.equal(spans([...convolutions.slice(0, 5), checkpoint, ...convolutions.slice(5)]), [
    [0, 5],
    [5, 10]
  ])
})

test('fused-tiled dimensions: a flat layer leaves the batch, a sum over pixels may end a segment', () => {
  const built = buildGraph(model({ name: 'net', layers: [...convolutions.slice(0, 7), flatten, linear({ out: 2 })] }), image)
  assert.ok(isRight(built))
  if (!isRight(built)) return
  assert.equal(fusibleTileAxes(built.right, { from: 0, to: 7 }), ['B', 'H', 'W'])
  assert.equal(fusibleTileAxes(built.right, { from: 0, to: 9 }), ['B'])
  const pooled = must(buildGraph(model({ name: 'net', layers: convolutions }), image))
  assert.equal(fusibleTileAxes(pooled, { from: 0, to: 8 }), ['B', 'H', 'W'])
  assert.equal(fusibleTileAxes(pooled, { from: 0, to: 9 }), ['B'])
})

test('a pool to one pixel inside a segment in tiles is refused, to more pixels it is not', () => {
  const sentence = (out: number): string => {
    const layers = [adaptiveAvgPool2d({ out }), resize({ mode: 'nearest', to: 'block' })]
    const tiles: Segment = { from: 0, to: 3, grid: { B: 1, H: 2, W: 1 }, recompute: false, reorder: 'once' }
    const answer = stage(request(layers, image, { given: { order: [0, 1, 2], segments: [tiles] } }))
    return isLeft(answer) ? answer.left.message : ''
  }
  assert.match(sentence(1), /segment 0\.\.3: cannot tile along H; adaptiveAvgPool2d to one pixel sums over the pixels/)
  assert.is(sentence(2), '')
})

test('a sum that nothing inside its segment reads may stand anywhere in it, in tiles too', () => {
  const pools = parallel([[globalAvgPool], [conv2d({ out: 3, k: 3, p: 1 }), globalAvgPool]])
  const planned = (to: number) =>
    stage(
      request([pools, linear({ out: 2 })], image, {
        given: {
          order: [0, 1, 2, 3, 4, 5],
          segments: [
            { from: 0, to, grid: { B: 1, H: 2, W: 2 }, recompute: true, reorder: 'once' },
            { from: to, to: 6, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
          ]
        }
      })
    )
  assert.ok(isRight(planned(3)))
  const joined = planned(4)
  assert.match(isLeft(joined) ? joined.left.message : '', /segment 0\.\.4: cannot tile along H W; globalAvgPool sums over the pixels/)
})

test('given segments are refused with the segment and the reason', () => {
  const whole = { B: 1, H: 1, W: 1 }
  const cases: readonly (readonly [readonly Segment[], RegExp])[] = [
    [
      [{ from: 0, to: 10, grid: { ...whole, H: 2 }, recompute: true, reorder: 'once' }],
      /segment 0\.\.10: cannot tile along H; globalAvgPool sums over the pixels, so it must be the segment's last op/
    ],
    [
      [{ from: 0, to: 4, grid: whole, recompute: true, reorder: 'once' }],
      /the segments end at 4, but the model has 10 layers, its loss included/
    ],
    [
      [
        { from: 0, to: 4, grid: whole, recompute: true, reorder: 'once' },
        { from: 5, to: 10, grid: whole, recompute: false, reorder: 'once' }
      ],
      /segments must follow each other: this one starts at 5, the one before ends at 4/
    ],
    [
      [
        { from: 0, to: 5, grid: { ...whole, H: 2 }, recompute: false, reorder: 'once' },
        { from: 5, to: 10, grid: whole, recompute: false, reorder: 'once' }
      ],
      /what is tiled is recomputed/
    ]
  ]
  for (const [segments, sentence] of cases) {
    const refused = stage(
      request(convolutions, image, { given: { order: convolutions.concat(relu).map((_, position) => position), segments } })
    )
    assert.ok(isLeft(refused))
    if (isLeft(refused)) assert.match(refused.left.message, sentence)
  }
})

test('a given order may commute any of the pools with the rectifiers before them, and nothing else', () => {
  const whole = { B: 1, H: 1, W: 1 }
  const layers = [...convolutions.slice(0, 7), maxPool2d({ k: 2 }), ...convolutions.slice(7)]
  const segments: readonly Segment[] = [
    { from: 0, to: 5, grid: { ...whole, H: 3 }, recompute: true, reorder: 'once' },
    { from: 5, to: 11, grid: whole, recompute: false, reorder: 'once' }
  ]
  const planned = (order: readonly number[]) => stage(request(layers, image, { strategy: 'by hand', given: { order, segments } }))
  const written = layers.concat(relu).map((_, position) => position)
  for (const order of [written, [0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10], [0, 1, 2, 4, 3, 5, 7, 6, 8, 9, 10]]) {
    const result = planned(order)
    assert.ok(isRight(result))
    assert.equal([result.right.plan.order, result.right.plan.segments, result.right.strategy], [order, segments, 'by hand'])
  }
  for (const order of [[1, 0, ...written.slice(2)], [0, 1, 2, 3, 5, 4, ...written.slice(6)], written.slice(1), written.fill(0, 3)])
    assert.ok(isLeft(planned(order)), order.join())
  const small = stage(
    request(layers, image, { given: { order: layers.concat(relu).map((_, position) => position), segments }, budget: { bytes: 1e6 } })
  )
  assert.ok(isLeft(small) && small.left.code === 'budget')
  if (isLeft(small)) assert.match(small.left.message, /1000000 bytes: the given plan needs at least \d+ bytes/)
})

test('whole VGG-16 at 20480 x 20480 is planned in 1 GiB, most of it one tiled segment that ends in a vector', () => {
  const wanted = {
    ...request([], [1, 3, 20480, 20480], { budget: { bytes: 2 ** 30 } }),
    model: builtIn.vgg16!({ classes: 2, head: 'gap' })
  }
  const { plan, program } = staged(wanted)
  assert.ok(program.peakBytes <= 2 ** 30)
  assert.ok(plan.segments[0]!.grid.H > 8)
  assert.ok(program.step.code.length < 5000, 'interior tiles are loops, not copies')
})

test.run()
