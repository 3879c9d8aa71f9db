import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { float32Bytes, type AnyLayer } from '../../dsl'
import {
  checkPlan,
  flatLayers,
  layerText,
  shapeRules,
  trace,
  windowCount,
  windowExtent,
  type Op,
  type PlannedLayer,
  type ShapeRule
} from '../../dsl/internal'
import { opRecords } from '../../dsl/ops'
import { buildGraph } from '../../staging'
import { checkTiles } from '../../staging/check-plan'
import { inOrder } from '../../staging/graph/order'
import { validateGrid } from '../../staging/graph/grid'
import { must } from '../must'
import { compile, exportedTypes } from './compile'
import { planned } from './planned-model'

/**
 * Checks what types answer against what functions answer, for many random cases in one compilation.
 */

const seed = 20_022
const sample = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number): readonly T[] => fc.sample(arbitrary, { seed, numRuns })

const answers = (imports: string, expressions: readonly string[]): readonly string[] => {
  const text = `${imports}\n${expressions.map((expression, index) => `export type Answer${index} = ${expression}`).join('\n')}`
  const { program, mistakes } = compile([], { 'test/dsl/answers.ts': text }, {}, false)
  assert.equal(mistakes, [])
  const types = exportedTypes(program, 'test/dsl/answers.ts')
  return expressions.map((_, index) => types.get(`Answer${index}`)!)
}

const types = suite('types against run time')

types('arithmetic is exact', () => {
  const large = fc.oneof(
    fc.nat(9),
    fc.nat(1000),
    fc.nat(81920),
    fc.maxSafeNat().map((value) => value % 1e13)
  )
  const factor = fc.nat(99999)
  const window = fc.record({
    extent: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 81920 })),
    before: fc.nat(4),
    after: fc.nat(4),
    kernel: fc.integer({ min: 1, max: 11 }),
    dilation: fc.integer({ min: 1, max: 13 }),
    stride: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 120 })),
    ceil: fc.boolean()
  })
  const cases: readonly (readonly [string, number | boolean])[] = [
    ...sample(fc.tuple(large, large), 60).flatMap(
      ([a, b]) =>
        [
          [`Add<${a}, ${b}>`, a + b],
          [`Lte<${a}, ${b}>`, a <= b],
          [`Lte<${a}, ${a}>`, true]
        ] as const
    ),
    ...sample(fc.tuple(factor, factor), 60).map(([a, b]) => [`Mul<${a}, ${b}>`, a * b] as const),
    ...sample(fc.tuple(fc.integer({ min: 1, max: 64 }), fc.nat(2048)), 60).map(([a, b]) => [`Divides<${a}, ${b}>`, b % a === 0] as const),
    ...sample(window, 120).flatMap(
      ({ extent, before, after, kernel, dilation, stride, ceil }) =>
        [
          [
            `ConvDim<${extent}, ${before}, ${after}, ${kernel}, ${dilation}, ${stride}, ${ceil}>`,
            windowCount(extent, [before, after], kernel, stride, dilation, ceil)
          ],
          [`WindowExtent<${kernel}, ${dilation}>`, windowExtent(kernel, dilation)]
        ] as const
    ),
    ['Mul<number, 2>', Number.NaN]
  ]
  const found = answers(
    `import type { Add, ConvDim, Divides, Lte, Mul, WindowExtent } from '../../dsl/shapes/arithmetic'`,
    cases.map(([expression]) => expression)
  )
  cases.forEach(([expression, expected], index) => assert.is(found[index], Number.isNaN(expected) ? 'number' : `${expected}`, expression))
})

types('number makes number', () => {
  const expressions = [
    'Add<number, 1>',
    'Add<1, number>',
    'Mul<0, number>',
    'Mul<number, 1>',
    'ConvDim<number, 1, 1, 3, 1, 2, true>',
    'ConvDim<9, 1, 1, 3, 1, 2, boolean>'
  ]
  const found = answers(`import type { Add, ConvDim, Mul } from '../../dsl/shapes/arithmetic'`, expressions)
  assert.equal([...new Set(found)], ['number'])
})

types('bytes of tensors', () => {
  const shapes = [
    ...sample(fc.tuple(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 2048 }), fc.nat(81920), fc.nat(81920)), 30),
    [8, 64, 81920, 81920],
    [3, 7],
    []
  ].filter((shape) => float32Bytes(shape) <= Number.MAX_SAFE_INTEGER)
  const found = answers(
    `import type { Float32Bytes } from '../../dsl/shapes/shape'`,
    shapes.map((shape) => `Float32Bytes<readonly ${JSON.stringify(shape)}>`)
  )
  assert.equal(
    found,
    shapes.map((shape) => `${float32Bytes(shape)}`)
  )
})

types('every op: the same shape, or the same sentence', () => {
  const pair = (min: number, max: number) =>
    fc.oneof(fc.integer({ min, max }), fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })))
  const side = fc.integer({ min: -1, max: 3 })
  const padding = fc.oneof(fc.nat(2), fc.tuple(fc.nat(2), fc.nat(2)), fc.tuple(side, side, side, side))
  const windowed = { k: pair(0, 6), s: pair(1, 3), p: padding, d: pair(1, 2) }
  const options = (model: Record<string, fc.Arbitrary<unknown>>, required: readonly string[]) =>
    fc.record(model, { requiredKeys: [...required] })
  const statistical = { eps: fc.constantFrom(1e-5, 1e-7, 1, 1, 0, -1), affine: fc.boolean() }
  const mode = fc.constantFrom('bilinear', 'nearest')
  const ignored = fc.constantFrom(0, 255, -100, 1.5)
  const classWeights = fc.array(fc.constantFrom(0, 1, 2.5, 1e-7, -1), { minLength: 1, maxLength: 4 })
  const argumentsOf: { readonly [P in Op]: fc.Arbitrary<object> } = {
    conv2d: options({ out: fc.nat(6), groups: fc.nat(3), ...windowed, bias: fc.boolean() }, ['out', 'k']),
    relu: fc.constant({}),
    leakyRelu: options({ slope: fc.constantFrom(0, 0.1, -0.5) }, []),
    maxPool2d: options({ ...windowed, ceilMode: fc.boolean() }, ['k']),
    avgPool2d: options({ k: windowed.k, s: windowed.s, p: windowed.p, ceilMode: fc.boolean() }, ['k']),
    globalAvgPool: fc.constant({}),
    globalMaxPool: fc.constant({}),
    flatten: fc.constant({}),
    linear: options({ out: fc.integer({ min: -1, max: 9 }), in: fc.integer({ min: 1, max: 4 }) }, ['out']),
    dropout: options({ rate: fc.constantFrom(0, 0.5, 1e-7, 1, 1.5, -0.5) }, ['rate']),
    convTranspose2d: options(
      { out: fc.nat(6), groups: fc.nat(2), k: pair(0, 4), s: pair(1, 3), d: pair(1, 2), p: pair(-1, 3), outputPadding: pair(0, 2) },
      ['out', 'k']
    ),
    batchNorm: options({ ...statistical, momentum: fc.constantFrom(0, 0.1, 1e-7, 1, 1.5, -0.5), frozen: fc.boolean() }, []),
    groupNorm: options({ ...statistical, groups: fc.integer({ min: 0, max: 4 }) }, ['groups']),
    instanceNorm: options(statistical, []),
    pointwise: fc.constant({ function: 'silu', expression: [['input']] }),
    resize: fc.oneof(
      fc.record({ mode, size: pair(0, 9) }),
      fc.record({ mode, scale: pair(0, 3) }),
      fc.record({ mode, to: fc.constant('block') }),
      options({ mode, size: pair(1, 9), scale: pair(-1, 3), to: fc.constant('block'), alignCorners: fc.boolean() }, ['mode'])
    ),
    adaptiveAvgPool2d: fc.record({ out: pair(0, 4) }),
    pixelShuffle: fc.record({ factor: fc.constantFrom(0, 1, 1.5, 2, 2, -2) }),
    pixelUnshuffle: fc.record({ factor: fc.constantFrom(0, 1, 1.5, 2, 2, 3, -2) }),
    channelShuffle: fc.record({ groups: fc.constantFrom(0, 1, 1.5, 2, 2, 3, -2) }),
    narrow: fc.record({ start: fc.constantFrom(0, 0, 1, 2, 1.5, -1), length: fc.constantFrom(0, 1, 1, 2, 3, 1.5, -2) }),
    pad: options({ p: padding, mode: fc.constantFrom('zeros', 'reflect', 'replicate') }, ['p']),
    add: fc.constant({}),
    mul: fc.constant({}),
    concat: fc.constant({}),
    softmaxCrossEntropy: fc.constant({}),
    pixelCrossEntropy: options({ ignore: ignored, classWeights }, []),
    meanSquaredError: fc.constant({}),
    classLoss: options({ loss: fc.constant('focal'), classWeights }, ['loss']),
    pixelLoss: options({ loss: fc.constant('cross-entropy+0.5*focal'), ignore: ignored, classWeights }, ['loss']),
    overlapLoss: options({ loss: fc.constant('dice+focal'), ignore: ignored, classWeights }, ['loss']),
    valueLoss: fc.constant({ loss: 'huber' })
  }
  const start = [2, 3, 6, 5]
  const size = fc.integer({ min: 1, max: 7 })
  const image = fc.tuple(size, size, size, size)
  const shape = fc.oneof({ weight: 3, arbitrary: image }, fc.tuple(size, size), fc.constant([]))
  /** What is wrong with a formula the run time alone says. */
  const isOfFormula = ({ op, args, input }: { readonly op: Op; readonly args: object; readonly input: readonly number[] }): boolean => {
    const result = (shapeRules[op] as ShapeRule<object>)(args, [input], start)
    return E.isLeft(result) && result.left.includes('no softmax')
  }
  const cases = (Object.keys(argumentsOf) as readonly Op[]).flatMap((op) => {
    const isSimple = layerText(op, sample(argumentsOf[op], 1)[0]!) === op && shapeRules[op] !== shapeRules.batchNorm
    return sample(fc.tuple(argumentsOf[op], shape), isSimple ? 8 : 50)
      .map(([args, input]) => ({ op, args, input }))
      .filter((example) => !isOfFormula(example))
  })
  const literal = (value: object): string => JSON.stringify(value).replace(/\[/g, 'readonly [')
  const found = answers(
    `import type { OutputShape } from '../../dsl/ops'`,
    cases.map(({ op, args, input }) => `OutputShape<'${op}', ${literal(input)}, ${literal(args)}, ${literal(start)}>`)
  )
  const expected = cases.map(({ op, args, input }) => {
    const result = (shapeRules[op] as ShapeRule<object>)(args, [input], start)
    if (E.isRight(result) && result.right.length === 4 && !opRecords[op].segment.resizes)
      assert.equal(result.right.slice(2), input.slice(2), `${op} is said not to resize`)
    return E.isLeft(result) ? `"${result.left}"` : `readonly [${result.right.join(', ')}]`
  })
  cases.forEach((example, index) => assert.is(found[index], expected[index], JSON.stringify(example)))
  assert.ok(expected.filter((answer) => answer.startsWith('"')).length > 50)
  assert.ok(expected.filter((answer) => !answer.startsWith('"')).length > 50)
})

types('joins: the same shape, or the same sentence', () => {
  const size = fc.constantFrom(1, 1, 1, 2)
  const shape = fc.oneof({ weight: 8, arbitrary: fc.tuple(size, fc.nat(9), size, size) }, fc.tuple(size, size), fc.constant([]))
  const cases = sample(fc.tuple(fc.constantFrom('add', 'mul', 'concat'), fc.array(shape, { maxLength: 4 })), 200)
  const literal = (inputs: readonly (readonly number[])[]): string => JSON.stringify(inputs).replace(/\[/g, 'readonly [')
  const found = answers(
    `import type { OutputShape } from '../../dsl/ops'
    import type { Shape } from '../../dsl'`,
    cases.map(([op, inputs]) => `OutputShape<'${op}', Shape, {}, Shape, ${literal(inputs)}>`)
  )
  const expected = cases.map(([op, inputs]) => {
    const result = shapeRules[op as 'add' | 'mul' | 'concat']({}, inputs, [])
    return E.isLeft(result) ? `"${result.left}"` : `readonly [${result.right.join(', ')}]`
  })
  cases.forEach((example, index) => assert.is(found[index], expected[index], JSON.stringify(example)))
  for (const part of ['but shortcut', ' and ', 'at least two', 'not 3', 'nothing can follow', 'readonly ['])
    assert.ok(expected.filter((answer) => answer.includes(part)).length > 2, part)
})

types('segments: the same shape, or the same sentence', () => {
  const layers: Readonly<Record<string, AnyLayer>> = {
    relu: dsl.relu,
    globalAvgPool: dsl.globalAvgPool,
    flatten: dsl.flatten,
    checkpoint: dsl.checkpoint,
    meanSquaredError: dsl.meanSquaredError,
    softmaxCrossEntropy: dsl.softmaxCrossEntropy,
    'linear({ out: 2 })': dsl.linear({ out: 2 }),
    'checkpointWithin(1000)': dsl.checkpointWithin(1000),
    'tile({ H: 2 })': dsl.tile({ H: 2 }),
    'tile({ B: 2, W: 2 })': dsl.tile({ B: 2, W: 2 }),
    'tile({ B: 1, C: 2 })': dsl.tile({ B: 1, C: 2 }),
    'maxPool2d({ k: 2 })': dsl.maxPool2d({ k: 2 }),
    'tile({ H: 7, W: 5 })': dsl.tile({ H: 7, W: 5 }),
    "named('1', dsl.relu)": dsl.named('1', dsl.relu),
    "named('a.0', dsl.relu)": dsl.named('a.0', dsl.relu),
    "named('add', dsl.relu)": dsl.named('add', dsl.relu),
    "residual([dsl.named('b', dsl.relu)])": dsl.residual([dsl.named('b', dsl.relu)]),
    "seq('a', [dsl.relu, dsl.sigmoid])": dsl.seq('a', [dsl.relu, dsl.sigmoid]),
    "residual([dsl.named('1', dsl.gelu)])": dsl.residual([dsl.named('1', dsl.gelu)]),
    'batchNorm()': dsl.batchNorm(),
    'batchNorm({ frozen: true })': dsl.batchNorm({ frozen: true }),
    'groupNorm({ groups: 1 })': dsl.groupNorm({ groups: 1 }),
    'residual([dsl.batchNorm()])': dsl.residual([dsl.batchNorm()]),
    'residual([dsl.checkpoint, dsl.relu], [dsl.batchNorm()])': dsl.residual([dsl.checkpoint, dsl.relu], [dsl.batchNorm()]),
    'residual([dsl.maxPool2d({ k: 3 })])': dsl.residual([dsl.maxPool2d({ k: 3 })]),
    "denseBlock([dsl.avgPool2d({ k: 2 }), dsl.resize({ mode: 'nearest', to: 'block' })])": dsl.denseBlock([
      dsl.avgPool2d({ k: 2 }),
      dsl.resize({ mode: 'nearest', to: 'block' })
    ]),
    'denseBlock([dsl.instanceNorm(), dsl.checkpointWithin(1000)])': dsl.denseBlock([dsl.instanceNorm(), dsl.checkpointWithin(1000)]),
    'parallel([[dsl.globalAvgPool], [dsl.flatten]])': dsl.parallel([[dsl.globalAvgPool], [dsl.flatten]]),
    'parallel([[dsl.relu, dsl.tile({ H: 2 })], []])': dsl.parallel([[dsl.relu, dsl.tile({ H: 2 })], []]),
    "resize({ mode: 'bilinear', to: 'block' })": dsl.resize({ mode: 'bilinear', to: 'block' })
  }
  const common = [
    'relu',
    'globalAvgPool',
    'checkpoint',
    'tile({ H: 2 })',
    'tile({ B: 2, W: 2 })',
    'tile({ H: 7, W: 5 })',
    'maxPool2d({ k: 2 })',
    'linear({ out: 2 })',
    'batchNorm()',
    "named('1', dsl.relu)",
    "seq('a', [dsl.relu, dsl.sigmoid])"
  ]
  const expression = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...common) }, fc.constantFrom(...Object.keys(layers)))
  const lists = sample(fc.array(expression, { minLength: 2, maxLength: 7 }), 600)
  const places = new Map(Object.keys(layers).map((name, place) => [name, place]))
  const found = answers(
    `import * as dsl from '../../dsl'
    import type { WalkToEnd } from '../../dsl/typing/walk'
    import type { LocateErrorInList } from '../../dsl/typing/error-place'
    import type { RepeatedName, Repeats } from '../../dsl/flat/repeated-name'
    import type { ShapeOf, Start } from '../../dsl/typing/tensor'
    const layers = [${Object.keys(layers).map((name) => `dsl.${name}`)}] as const
    type L = typeof layers
    type X = Start<readonly [2, 3, 8, 8]>
    type Answer<L extends dsl.Layers, Y = WalkToEnd<X, L>> =
      Y extends string ? LocateErrorInList<X, L, Y>[1] : Repeats<L> extends true ? RepeatedName<L>[1] : ShapeOf<Y>`,
    lists.map((list) => `Answer<readonly [${list.map((name) => `L[${places.get(name)}]`).join(', ')}]>`)
  )
  /** As staging says it of what can be trained: with the sentences of trace, and then of tiles. */
  const expected = lists.map((names) => {
    const [list, input] = [names.map((name) => layers[name]!), [2, 3, 8, 8]]
    const traced = trace(list, input)
    if (E.isLeft(traced)) return `"${traced.left}"`
    const tiled = pipe(
      buildGraph({ name: 'm', layers: list }, input),
      E.chain((graph) => checkTiles(graph, { kind: 'gradients' }))
    )
    const tiles = E.isLeft(tiled) ? /tile: .*(?=\.$)/.exec(tiled.left.message)?.[0] : undefined
    return tiles === undefined ? `readonly [${traced.right.at(-1)!.output.join(', ')}]` : `"${tiles}"`
  })
  lists.forEach((list, index) => {
    // Of a list with two mistakes types say the first of its segments', run time that of a layer
    // first.
    const isOfTiles = found[index]!.startsWith('"tile: ') && expected[index]!.startsWith('"') && !expected[index]!.startsWith('"tile: ')
    if (!isOfTiles) assert.is(found[index], expected[index], list.join(', '))
  })
  for (const part of [
    'sums over the pixels',
    'tile: cannot tile along',
    'needs the statistics of the whole tensor',
    'needs the statistics of the whole input',
    'stands inside',
    'are more than the',
    'two layers are named',
    'branches differ',
    'readonly ['
  ])
    assert.ok(expected.filter((answer) => answer.includes(part)).length > 5, part)
})

types('plans: right, or the same sentence', () => {
  const written = flatLayers(planned.layers).filter(({ op }) => op !== 'checkpoint') as readonly PlannedLayer[]
  const layers = [...written, { name: 'loss', op: 'softmaxCrossEntropy', args: {}, inputs: [written.length] }] as readonly PlannedLayer[]
  const branching = layers.findIndex(({ name }) => name === 'block.0')
  const [position, count] = [fc.integer({ min: -1, max: layers.length + 1 }), fc.constantFrom(1, 1, 1, 1, 2, 3, 0, 2.5)]
  const name = fc.constantFrom(...layers.map((layer) => layer.name), '9', 'features.9', 'head.9', 'head')
  const interval = { tensor: 'output of 1', swapOut: 'forward head.0', freed: 'backward loss', swapIn: 'backward 4' }
  /** Mostly right: cuts at random, and then at most one field changed. */
  const plan = fc
    .record({
      cuts: fc.uniqueArray(fc.integer({ min: 1, max: layers.length - 1 }), { maxLength: 3 }),
      commuted: fc.boolean(),
      grids: fc.array(fc.record({ B: count, H: count, W: count }), { minLength: 4, maxLength: 4 }),
      recompute: fc.boolean(),
      budget: fc.oneof(fc.constant(null), fc.nat(2e9)),
      peak: fc.nat(2e9),
      change: fc.nat(17),
      position,
      place: fc.nat(3),
      name,
      text: fc.constantFrom('relu', 'conv2d 4 k3', 'linear 2')
    })
    .map(({ cuts, commuted, grids, recompute, budget, peak, change, position, place, name, text }) => {
      const order = layers.map((_, index) => (commuted && index === 1 ? 2 : commuted && index === 2 ? 1 : index))
      const ends = [...cuts.sort((a, b) => a - b), layers.length]
      const segments = ends.map((to, index) => ({
        from: ends[index - 1] ?? 0,
        to,
        checkpoint: layers[order[to - 1]!]!.name,
        grid: change === 0 ? grids[index]! : { ...{ B: 1, H: 1, W: 1 }, ...(index === place && change !== 10 ? grids[index] : {}) },
        recompute: recompute || index < ends.length - 1,
        reorder: 'once' as const
      }))
      const right: dsl.PlanFile = {
        model: 'planned',
        input: [2, 3, 16, 16],
        layers: layers.map(({ op, args }) => layerText(op, args)),
        order,
        strategy: 'by hand',
        device: { name: 'cpu', precision: 'float32', threads: 2 },
        objective: 'train with sgd',
        graph: '0',
        budget: change === 11 ? budget : null,
        peak,
        segments,
        predicted: {}
      }
      const at = place % segments.length
      const changed = (field: object): dsl.PlanFile => ({ ...right, segments: segments.with(at, { ...segments[at]!, ...field }) })
      switch (change) {
        case 1:
          return changed({ from: position })
        case 2:
          return changed({ to: position })
        case 3:
          return changed({ checkpoint: name })
        case 4:
          return changed({ recompute: false })
        case 5:
          return { ...right, segments: segments.slice(0, at) }
        case 6:
          return { ...right, order: order.with(place, position) }
        case 7:
          return { ...right, layers: right.layers.with(place, text) }
        case 8:
          return { ...right, layers: right.layers.slice(0, layers.length - place) }
        case 9:
          return { ...right, input: [2, 3, 16, 16 + place].slice(place === 3 ? 1 : 0) }
        case 10:
          if (place % 4 === 3) return changed({ slicedWinograd: [name] })
          if (place % 4 === 2) return changed({ normaliseOnLoad: [name] })
          return changed({ winograd: [place === 1 ? 'features.9' : 'features.0', name].slice(place > 1 ? 1 : 0) })
        case 12:
          return { ...right, swapSchedule: [{ ...interval, tensor: `${['output', 'indices', 'weights'][place % 3]} of ${name}` }] }
        case 13:
          return { ...right, swapSchedule: [interval, { ...interval, freed: `${['forward', 'backward', 'beside'][place % 3]} ${name}` }] }
        case 14:
          return { ...right, order: order.with(branching, branching + 1).with(branching + 1, branching) }
        case 15:
          return place === 0
            ? changed({ hostTensors: [segments[0]!.checkpoint], grid: { B: 1, H: 1, W: 2 }, recompute: true })
            : changed({ hostTensors: ['features.0', name].slice(place > 1 ? 1 : 0) })
        case 16:
          return changed({ rematerialize: true, ...(place % 3 === 0 && { recompute: false, grid: { B: 1, H: 1, W: 1 } }) })
        case 17:
          return changed({ shards: { B: place % 2 === 0 ? 2 : 1, H: place === 1 ? grids[1]!.H : 2 } })
        default:
          return right
      }
    })
  const plans = sample(plan, 340)
  const literal = (value: unknown): string =>
    Array.isArray(value)
      ? `readonly [${value.map(literal).join(', ')}]`
      : typeof value === 'object' && value !== null
        ? `{ ${Object.entries(value)
            .map(([key, one]) => `readonly ${key}: ${literal(one)}`)
            .join('; ')} }`
        : JSON.stringify(value)
  const found = answers(
    `import type { planned } from './planned-model'
    import type { CheckedPlan } from '../../dsl/plan/checked-plan'
    import type { Invalid } from '../../dsl/typing/tensor'
    type Sentences<T> = T extends Invalid<infer Sentence> ? Sentence : unknown extends T ? never : T extends object ? Each<T> : never
    type Each<T> = { [K in keyof T]: Sentences<T[K]> }[T extends readonly unknown[] ? number & keyof T : keyof T]`,
    plans.map((one) => `Exclude<Each<CheckedPlan<typeof planned, ${literal(one)}>>, undefined>`)
  )
  const graph = must(buildGraph(planned, planned.input!))
  /** What staging adds to the plan's own rules: a segment has not more tiles than rows. */
  const tooFine = ({ order, segments }: dsl.PlanFile): string | undefined => {
    const running = inOrder(graph, order)
    return segments.flatMap((segment) => {
      const mistake = validateGrid(running, segment, segment.grid)
      return mistake === undefined ? [] : [`segment ${segment.from}..${segment.to}: ${mistake}`]
    })[0]
  }
  const expected = plans.map((one) => {
    const checked = checkPlan(layers, planned.input, one)
    return E.isLeft(checked) ? checked.left : tooFine(one)
  })
  plans.forEach((one, index) => {
    const said = found[index] === 'never' ? [] : found[index]!.split(' | ').map((sentence) => sentence.replace(/^"|"$/g, ''))
    const sentence = expected[index]
    assert.ok(sentence === undefined ? said.length === 0 : said.includes(sentence), `${JSON.stringify(one)}\n${sentence}\n${found[index]}`)
  })
  for (const part of [
    'layer ',
    'layers: ',
    'order: ',
    'input: ',
    'sums over',
    'needs the statistics',
    'allows B',
    'follow each other',
    'end at',
    'must end after',
    'no layer',
    'cannot shard along',
    'cannot shard along B H',
    'shards must be whole',
    'winograd: there is no layer',
    'is not in this segment',
    'is no convolution but',
    'slicedWinograd: ',
    'normaliseOnLoad: ',
    'hostTensors: there is no layer',
    'bands of rows',
    'right after forward',
    'saves nothing',
    'there is no tensor',
    'there is no timepoint',
    'its last layer',
    'recompute must',
    'over the budget',
    'whole numbers'
  ])
    assert.ok(
      expected.some((sentence) => sentence?.includes(part)),
      part
    )
  assert.ok(expected.filter((sentence) => sentence === undefined).length > 25)
})

types.run()
