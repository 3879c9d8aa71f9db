import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  adaptiveAvgPool2d,
  batchNorm,
  checkpoint,
  checkpointWithin,
  conv2d,
  convTranspose2d,
  denseBlock,
  flatten,
  globalAvgPool,
  groupNorm,
  input,
  instanceNorm,
  linear,
  meanSquaredError,
  modelOf,
  named,
  net,
  parallel,
  pixelCrossEntropy,
  relu,
  residual,
  resize,
  seq,
  tile,
  type AnyLayer,
  type Layers,
  type Model
} from '../../dsl'
import { flatLayers, layerText, trace } from '../../dsl/internal'
import { buildGraph } from '../../staging'

const names = (layers: Layers) => flatLayers(layers).map(({ op, name }) => `${op} ${name}`)

const layers = suite('layers as data')

layers('a layer is its op and its arguments', () => {
  const wide = conv2d({ out: 8, k: [1, 7], p: [0, 3] })
  assert.is(wide.op, 'conv2d')
  assert.equal(wide.args, { out: 8, k: [1, 7], p: [0, 3] })
})

layers('names count places, marks take none, given names replace places', () => {
  assert.equal(names([conv2d({ out: 8, k: 3 }), checkpoint, relu, tile({ H: 2 }), named('mean', globalAvgPool), linear({ out: 2 })]), [
    'conv2d 0',
    'checkpoint 1',
    'relu 1',
    'tile 2',
    'globalAvgPool mean',
    'linear 3'
  ])
  assert.equal(
    names([seq('features', [conv2d({ out: 8, k: 3 }), seq([relu, named('inner', relu)])]), seq([relu]), named('head', seq([flatten]))]),
    ['conv2d features.0', 'relu features.1.0', 'relu features.1.inner', 'relu 1.0', 'flatten head.0']
  )
})

/** "add layer1.0.add 5 1": op, name, tensors read. */
const flow = (list: Layers): readonly string[] => flatLayers(list).map(({ op, name, inputs }) => [op, name, ...inputs].join(' '))
const convolution = conv2d({ out: 8, k: 3, p: 1 })

layers("a residual's layers have the names and the order that torchvision gives them", () =>
  assert.equal(
    flow([
      named('conv1', convolution),
      seq('layer1', [
        seq([
          residual([named('conv1', convolution), named('bn1', batchNorm()), relu], [seq('downsample', [convolution, batchNorm()])]),
          named('relu', relu)
        ]),
        named('1', residual([named('conv1', convolution)]))
      ])
    ]),
    [
      'conv2d conv1 0',
      'conv2d layer1.0.conv1 1',
      'batchNorm layer1.0.bn1 2',
      'relu layer1.0.2 3',
      'conv2d layer1.0.downsample.0 1',
      'batchNorm layer1.0.downsample.1 5',
      'add layer1.0.add 4 6',
      'relu layer1.0.relu 7',
      'conv2d layer1.1.conv1 8',
      'add layer1.1.add 9 8'
    ]
  )
)

layers('the layers of blocks are counted as if they stood in the list around them, joins by themselves', () => {
  assert.equal(flow([relu, residual([convolution, relu], [convolution]), denseBlock([relu]), residual([relu]), relu]), [
    'relu 0 0',
    'conv2d 1 1',
    'relu 2 2',
    'conv2d 3 1',
    'add add 3 4',
    'relu 4 5',
    'concat concat 5 6',
    'relu 5 7',
    'add add1 8 7',
    'relu 6 9'
  ])
})

layers('blocks stand in blocks, branches may be empty, and marks stand at a tensor', () => {
  assert.equal(flow([parallel([[], [residual([checkpoint, relu], [denseBlock([relu])])], [seq('pool', [checkpoint])]]), checkpoint]), [
    'checkpoint 0 0',
    'relu 0 0',
    'relu 1 0',
    'concat concat 0 2',
    'add add 1 3',
    'checkpoint pool.0 0',
    'concat concat1 0 4 0',
    'checkpoint 3 5'
  ])
  assert.equal(
    flatLayers([relu, parallel([[relu, residual([relu])], [tile({ H: 2 })]]), relu]).map(({ block }) => block),
    [undefined, 1, 2, 1, 1, undefined, undefined]
  )
})

layers('pipe and net make the same model', () => {
  const convolution = conv2d({ out: 8, k: 3 })
  const piped = modelOf('m', pipe(input([1, 3, 8, 8]), convolution, relu, globalAvgPool))
  const listed = modelOf('m', net(input([1, 3, 8, 8]), [convolution, relu, globalAvgPool]))
  assert.equal(flatLayers(piped.layers), flatLayers(listed.layers))
  assert.equal(piped.input, [1, 3, 8, 8])
  assert.is(piped.layers.length, 3)
})

layers('a trace gives every shape', () => {
  const traced = trace([seq('stem', [conv2d({ out: 8, k: 3, s: 2 }), relu]), checkpoint, flatten, linear({ out: 2 })], [2, 3, 9, 7])
  assert.equal(
    E.map((list: readonly { readonly output: readonly number[] }[]) => list.map(({ output }) => output))(traced),
    E.right([
      [2, 8, 4, 3],
      [2, 8, 4, 3],
      [2, 8, 4, 3],
      [2, 96],
      [2, 2]
    ])
  )
})

layers('a trace names the layer that does not fit', () => {
  const sentence = (list: Layers, shape: readonly number[] = [1, 3, 8, 8]) => trace(list, shape)
  assert.equal(
    sentence([seq('features', [relu, conv2d({ out: 1, k: 9 })])]),
    E.left('features.1: conv2d: the kernel 9x9 is larger than its padded input 8x8')
  )
  assert.equal(sentence([named('a', relu), named('a', relu)]), E.left('two layers are named a; names must differ'))
  assert.equal(sentence([relu], [3, 8, 8]), E.left('input: takes images BxCxHxW, not 3x8x8'))
  assert.equal(sentence([relu], [1, 3, 0, 8]), E.left('input: 1x3x0x8 must be whole numbers above 0'))
})

layers('a loss that is appended takes a name that no layer has', () => {
  const lossOf = (...list: readonly AnyLayer[]): unknown => {
    const built = buildGraph({ name: 'm', layers: list } as Model, [1, 3, 8, 8])
    return E.isLeft(built) ? built.left.message : [built.right.nodes.at(-1)!.name, built.right.nodes.at(-1)!.op]
  }
  assert.equal(lossOf(relu), ['loss', 'pixelCrossEntropy'])
  assert.equal(lossOf(globalAvgPool, named('loss', linear({ out: 2 }))), ['loss1', 'softmaxCrossEntropy'])
  assert.equal(lossOf(named('loss1', relu), named('loss', relu)), ['loss2', 'pixelCrossEntropy'])
  assert.equal(lossOf(), ['loss', 'pixelCrossEntropy'])
})

layers('joins are part of no list', () => {
  const alone = (op: 'add' | 'concat'): Layers => [relu, { op, args: {} }]
  assert.equal(trace(alone('add'), [1, 3, 8, 8]), E.left('1: add: joins two branches, not 1'))
  assert.equal(trace(alone('concat'), [1, 3, 8, 8]), E.left('1: concat: joins at least two branches, not 1'))
})

layers('a trace names where branches do not meet, and resizes to where the block around starts', () => {
  const outputs = (list: Layers) =>
    E.map((traced: readonly { readonly output: readonly number[] }[]) => traced.map(({ output }) => output.join('x')))(
      trace(list, [2, 8, 9, 7])
    )
  const back = resize({ mode: 'bilinear', to: 'block' })
  const half = conv2d({ out: 4, k: 1, s: 2 })
  assert.equal(outputs([seq('a', [residual([half])])]), E.left('a.add: the branches differ, main 2x4x5x4 but shortcut 2x8x9x7'))
  assert.equal(outputs([denseBlock([half])]), E.left('concat: the branches differ, 2x8x9x7 and 2x4x5x4'))
  assert.equal(
    outputs([half, denseBlock([half, half, back]), denseBlock([denseBlock([half, back])]), back]),
    E.right(['2x4x5x4', '2x4x3x2', '2x4x2x1', '2x4x5x4', '2x8x5x4', '2x4x3x2', '2x4x5x4', '2x12x5x4', '2x20x5x4', '2x20x9x7'])
  )
})

layers('statistics of what a segment makes itself keep it from being tiled along their dimensions', () => {
  const sentence = (list: Layers) => {
    const traced = trace(list, [2, 8, 16, 16])
    return E.isLeft(traced) ? traced.left : undefined
  }
  const needs = (op: string): string => `${op} needs the statistics of the whole tensor before it, so put a checkpoint before it`
  const [rows, batches] = [tile({ H: 2 }), tile({ B: 2 })]
  const norm = batchNorm()
  for (const legal of [
    [norm, checkpoint, relu, rows],
    [rows, batchNorm({ frozen: true }), relu],
    [convolution, checkpoint, norm, relu, convolution, rows],
    [convolution, batchNorm({ frozen: true }), rows],
    [convolution, groupNorm({ groups: 2 }), relu, batches],
    [convolution, checkpoint, residual([norm, relu, convolution]), rows],
    [convolution, checkpoint, denseBlock([norm, convolution, checkpoint, norm]), rows],
    [convolution, norm]
  ])
    assert.is(sentence(legal), undefined, names(legal).join(', '))
  const ofInput = 'batchNorm needs the statistics of the whole input, so put a checkpoint after it'
  assert.is(sentence([norm, relu, rows]), `2: tile: cannot tile along H; ${ofInput}`)
  assert.is(sentence([rows, norm, relu]), `0: batchNorm: cannot tile along H; ${ofInput}`)
  assert.is(sentence([convolution, norm, relu, rows]), `3: tile: cannot tile along H; ${needs('batchNorm')}`)
  assert.is(sentence([convolution, instanceNorm(), norm, batches]), `3: tile: cannot tile along B; ${needs('batchNorm')}`)
  assert.is(sentence([convolution, instanceNorm(), tile({ C: 2 })]), '2: tile: cannot tile along C; this segment allows B')
  assert.is(sentence([rows, convolution, norm]), `1: batchNorm: cannot tile along H; ${needs('batchNorm')}`)
  assert.is(
    sentence([convolution, checkpoint, rows, residual([convolution, norm])]),
    `2: batchNorm: cannot tile along H; ${needs('batchNorm')}`
  )
  assert.is(sentence([convolution, residual([checkpoint, relu], [norm]), rows]), undefined)
  assert.is(sentence([residual([rows, relu])]), '0: tile: stands inside a block; put it before or after the block')
})

layers('a text says every option', () => {
  const text = ({ op, args }: AnyLayer) => layerText(op as 'relu', args as {})
  assert.equal(
    [
      batchNorm(),
      batchNorm({ eps: 0.001, momentum: 0.03, affine: false, frozen: true }),
      groupNorm({ groups: 32 }),
      instanceNorm({ affine: true }),
      convTranspose2d({ out: 64, k: 2, s: 2, p: [0, 1], outputPadding: 1, d: 1, groups: 4, bias: false }),
      resize({ mode: 'bilinear', size: 64, alignCorners: true }),
      resize({ mode: 'nearest', scale: [2, 1.5] }),
      resize({ mode: 'nearest', to: 'block' }),
      pixelCrossEntropy({ ignore: 0, classWeights: [1, 2.5] })
    ].map(text),
    [
      'batchNorm',
      'batchNorm eps0.001 momentum0.03 no-affine frozen',
      'groupNorm 32',
      'instanceNorm affine',
      'convTranspose2d 64 k2 s2 p0x1 op1 d1 g4 no-bias',
      'resize bilinear 64 align-corners',
      'resize nearest x2x1.5',
      'resize nearest to-block',
      'pixelCrossEntropy ignore0 weights1x2.5'
    ]
  )
})

layers('a budget counts what the segment holds', () => {
  const convolution = conv2d({ out: 64, k: 3, p: 1 })
  const held = (budget: number) =>
    trace([convolution, checkpoint, convolution, relu, convolution, checkpointWithin(budget)], [1, 3, 224, 224])
  assert.ok(E.isRight(held(2 * 12845056)))
  assert.equal(held(2 * 12845056 - 1), E.left('4: this segment holds 25690112 bytes, over the budget of 25690111'))
})

layers('a sum over the pixels may be tiled along them as the last op of its segment, and nowhere else', () => {
  const pixels = tile({ H: 4, W: 4 })
  const scores = linear({ out: 2 })
  const sentence = (list: Layers) => E.swap(trace(list, [2, 3, 64, 64]))
  for (const legal of [
    [convolution, relu, pixels, globalAvgPool],
    [convolution, relu, pixels, globalAvgPool, checkpoint, scores],
    [convolution, relu, globalAvgPool, pixels, checkpoint, scores, tile({ B: 2 })],
    [convolution, relu, pixels, meanSquaredError],
    [convolution, relu, meanSquaredError, pixels]
  ])
    assert.ok(E.isLeft(sentence(legal)), names(legal).join(', '))
  const refused =
    "cannot tile along H W; globalAvgPool sums over the pixels, so it must be the segment's last op (put a checkpoint after it)"
  assert.equal(sentence([convolution, relu, pixels, globalAvgPool, scores]), E.right(`3: linear: ${refused}`))
  assert.equal(sentence([convolution, globalAvgPool, pixels, scores]), E.right(`2: linear: ${refused}`))
  assert.equal(sentence([pixels, globalAvgPool, meanSquaredError]), E.right(`1: meanSquaredError: ${refused}`))
  const onePixel = adaptiveAvgPool2d({ out: [1, 1] })
  assert.ok(E.isLeft(sentence([convolution, pixels, onePixel, checkpoint, relu, adaptiveAvgPool2d({ out: [1, 2] })])))
  assert.equal(
    sentence([pixels, onePixel, relu]),
    E.right(`1: relu: ${refused.replace('globalAvgPool', 'adaptiveAvgPool2d to one pixel')}`)
  )
  assert.equal(sentence([globalAvgPool, scores, pixels]), E.right('2: tile: cannot tile along H W; this segment allows B'))
})

layers('a layer without options is the same with parentheses', () => {
  assert.equal(flatLayers([relu(), checkpoint()]), flatLayers([relu, checkpoint]))
  assert.is(relu(), relu)
})

layers('options that no compiler saw are refused by name', () => {
  const sentence = (list: readonly unknown[]) => E.swap(trace(list as Layers, [2, 3, 64, 32]))
  const untyped = { relu, tile, conv2d } as unknown as Readonly<Record<string, (options?: object) => AnyLayer>>
  assert.equal(sentence([untyped['relu']!({ inplace: true })]), E.right('0: relu has no option inplace; it takes none'))
  assert.equal(sentence([untyped['tile']!({ h: 4 })]), E.right('0: tile has no option h; did you mean H?'))
  assert.equal(sentence([seq('a', [untyped['conv2d']!()])]), E.right('a.0: conv2d: out is missing'))
})

layers.run()
