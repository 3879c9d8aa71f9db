import { flow, pipe } from 'fp-ts/function'
import {
  adaptiveAvgPool2d,
  avgPool2d,
  batchNorm,
  channelShuffle,
  checkpoint,
  checkpointWithin,
  conv2d,
  convTranspose2d,
  denseBlock,
  dropout,
  elu,
  flatten,
  gated,
  gelu,
  globalAvgPool,
  globalMaxPool,
  groupNorm,
  input,
  instanceNorm,
  leakyRelu,
  linear,
  maxPool2d,
  meanSquaredError,
  model,
  modelOf,
  named,
  narrow,
  net,
  pad,
  parallel,
  pixelCrossEntropy,
  pixelShuffle,
  pixelUnshuffle,
  prelu,
  relu,
  residual,
  resize,
  seq,
  sigmoid,
  silu,
  softmaxCrossEntropy,
  tanh,
  tile,
  type AnyLayer,
  type AnyTensor,
  type HeldBytes,
  type Layers,
  type ShapeOf,
  type Tensor
} from '../../dsl'
import { builtIn, darknet19, vgg11, vgg16, vgg19 } from '../../models'

/** Compiles only where A and B are the same type. */
type Same<A, B> = [A, B] extends [B, A] ? true : never
const holds = <T extends true>(): T | undefined => undefined

const whole = net(input([1, 3, 20480, 20480]), vgg19({ classes: 2, head: 'gap' }).layers)
holds<Same<ShapeOf<typeof whole>, readonly [1, 2]>>()
holds<Same<HeldBytes<typeof whole>, 547776104456>>()

const classic = net(input([4, 3, 224, 224]), vgg16({ classes: 1000, head: 'classic' }).layers)
holds<Same<ShapeOf<typeof classic>, readonly [4, 1000]>>()

const headless = net(input([1, 3, 64, 64]), vgg11({ classes: 3 }).layers)
holds<Same<ShapeOf<typeof headless>, readonly [1, 3]>>()

const darknet = pipe(net(input([2, 3, 448, 320]), darknet19({ classes: 5 }).layers), softmaxCrossEntropy)
holds<Same<ShapeOf<typeof darknet>, readonly []>>()

const piped = pipe(
  input([1, 4, 97, 130]),
  conv2d({ out: 8, k: [1, 7], s: [1, 2], p: [0, 0, 2, 4], d: [3, 1], groups: 4, bias: false }),
  relu,
  maxPool2d({ k: 3, s: 2, p: 1, ceilMode: true }),
  avgPool2d({ k: [2, 3], ceilMode: true, countIncludePad: false }),
  leakyRelu(),
  leakyRelu({ slope: 0.1 }),
  dropout({ rate: 0.25 })
)
holds<Same<ShapeOf<typeof piped>, readonly [1, 8, 25, 11]>>()

const tiled = net(input([2, 3, 64, 64]), [
  seq('stem', [conv2d({ out: 8, k: 3 }), relu, tile({ H: 4, W: 2 })]),
  named('mean', globalAvgPool),
  checkpointWithin(246080),
  tile({ B: 2, H: 1 }),
  linear({ in: 8, out: 2 }),
  softmaxCrossEntropy
])
holds<Same<HeldBytes<typeof tiled>, 20>>()

const reduced = pipe(input([1, 3, 8, 8]), tile({ H: 2, W: 2 }), conv2d({ out: 4, k: 3, p: 1 }), meanSquaredError)
holds<Same<ShapeOf<typeof reduced>, readonly []>>()

const summed = net(input([2, 3, 64, 64]), [
  conv2d({ out: 8, k: 3, p: 1 }),
  relu,
  tile({ H: 4, W: 4 }),
  globalAvgPool,
  checkpoint,
  linear({ out: 2 })
])
holds<Same<ShapeOf<typeof summed>, readonly [2, 2]>>()

const tiledAfter = net(input([2, 3, 64, 64]), [
  seq([relu, globalAvgPool]),
  tile({ H: 4, W: 4 }),
  checkpoint,
  linear({ out: 2 }),
  tile({ B: 2 })
])
holds<Same<ShapeOf<typeof tiledAfter>, readonly [2, 2]>>()

const normalisedFeatures = net(input([4, 8, 9, 9]), [
  groupNorm({ groups: 8 }),
  adaptiveAvgPool2d({ out: 1 }),
  groupNorm({ groups: 8 }),
  globalAvgPool,
  batchNorm(),
  relu,
  linear({ out: 2 }),
  batchNorm({ frozen: true })
])
holds<Same<ShapeOf<typeof normalisedFeatures>, readonly [4, 2]>>()

const lossTiledAfter = pipe(input([2, 3, 64, 64]), relu, meanSquaredError, tile({ B: 2, H: 4, W: 4 }), checkpoint)
holds<Same<ShapeOf<typeof lossTiledAfter>, readonly []>>()

const branching = net(input([2, 3, 65, 48]), [
  seq('encoder', [conv2d({ out: 8, k: 3, s: 2, p: 1, bias: false }), batchNorm(), silu]),
  checkpoint,
  residual([batchNorm({ momentum: 0.01 }), gelu, conv2d({ out: 8, k: 3, p: 12, d: 12, groups: 8 })], [seq('downsample', [tanh])]),
  tile({ H: 2 }),
  checkpoint,
  denseBlock([groupNorm({ groups: 4, eps: 1e-6 }), relu, conv2d({ out: 4, k: 1 }), adaptiveAvgPool2d({ out: [33, 24] })]),
  tile({ B: 2, H: 4, W: 4 }),
  checkpoint,
  parallel([
    [adaptiveAvgPool2d({ out: 1 }), named('scores', conv2d({ out: 2, k: 1 })), sigmoid, resize({ mode: 'bilinear', to: 'block' })],
    [instanceNorm(), checkpointWithin(1000000)],
    []
  ]),
  convTranspose2d({ out: 5, k: 2, s: 2, outputPadding: 1 }),
  resize({ mode: 'nearest', to: 'block' })
])
holds<Same<ShapeOf<typeof branching>, readonly [2, 5, 65, 48]>>()
const pixels = pipe(
  branching,
  resize({ mode: 'bilinear', scale: [2, 0.5] }),
  pixelCrossEntropy({ ignore: 0, classWeights: [1, 2, 3, 4, 5] })
)
holds<Same<ShapeOf<typeof pixels>, readonly []>>()

const rearranged = net(input([2, 3, 30, 41]), [
  pad({ p: [0, 2, 4, 3] }),
  pad({ p: [31, 0], mode: 'reflect' }),
  pad({ p: 1, mode: 'replicate' }),
  pixelUnshuffle({ factor: 2 }),
  tile({ H: 3, W: 2 }),
  channelShuffle({ groups: 4 }),
  pixelShuffle({ factor: 2 })
])
const halves = net(input([2, 24, 30, 41]), [
  parallel([[narrow({ start: 0, length: 10 })], [narrow({ start: 10, length: 14 }), conv2d({ out: 12, k: 3, p: 1 })]]),
  channelShuffle({ groups: 2 }),
  tile({ H: 3, W: 2 }),
  narrow({ start: 21, length: 1 })
])
holds<Same<ShapeOf<typeof halves>, readonly [2, 1, 30, 41]>>()
holds<Same<ShapeOf<typeof rearranged>, readonly [2, 3, 96, 50]>>()
const largest = pipe(rearranged, tile({ H: 7 }), checkpoint, relu, globalMaxPool, tile({ H: 96, W: 50 }), checkpoint, linear({ out: 4 }))
holds<Same<ShapeOf<typeof largest>, readonly [2, 4]>>()

const fromFile = (batch: number, height: number, width: number, classes: number, layers: Layers, kernel: number) => {
  const y = net(input([batch, 3, height, width]), [
    conv2d({ out: 8, k: kernel, p: 1 }),
    maxPool2d({ k: 2 }),
    checkpointWithin(1),
    flatten,
    linear({ out: classes })
  ])
  holds<Same<ShapeOf<typeof y>, readonly [number, number]>>()
  const joined = net(input([batch, 3, height, 64]), [
    denseBlock([batchNorm({ frozen: height > 9 }), ...layers]),
    residual([conv2d({ out: classes, k: 1 })]),
    parallel([[conv2d({ out: 4, k: 1 })], [conv2d({ out: classes, k: 1 })]])
  ])
  holds<Same<ShapeOf<typeof joined>, readonly number[]>>()
  return [
    y,
    joined,
    parallel([layers, layers]),
    net(y, [parallel([layers, layers]), residual(layers)]),
    net(y, layers),
    builtIn['vgg11']!({ classes, head: 'gap' }),
    vgg11({ classes, head: 'gap' })
  ] as const
}

/** Families of models: what is checked is what every size agrees with. */
const family = <const C extends number>(classes: C) =>
  model({ name: 'family', input: [1, 3, 64, 64], layers: [conv2d({ out: 8, k: 3 }), relu, globalAvgPool, linear({ out: classes })] })
const seven = family(7)
holds<Same<(typeof seven)['layers'][3]['args'], { readonly out: 7 }>>()
const openFamily = <const W extends number, const K extends number, const B extends boolean>(width: W, k: K, bias: B) =>
  model({
    name: 'open',
    layers: [
      conv2d({ out: width, k, s: k, p: [k, 1], d: [1, k], groups: k, bias }),
      batchNorm({ eps: k, momentum: k, frozen: bias }),
      residual([conv2d({ out: width, k: 3, p: 1 })]),
      denseBlock([convTranspose2d({ out: width, k: 3, p: 1 })]),
      maxPool2d({ k, ceilMode: bias }),
      resize({ mode: 'bilinear', scale: k }),
      resize({ mode: 'nearest', size: [k, 8] }),
      adaptiveAvgPool2d({ out: k }),
      pixelShuffle({ factor: k }),
      pixelUnshuffle({ factor: k }),
      channelShuffle({ groups: k }),
      narrow({ start: k, length: k }),
      pad({ p: [k, 1], mode: 'reflect' }),
      checkpointWithin(k),
      tile({ H: k }),
      dropout({ rate: k }),
      leakyRelu({ slope: k }),
      flatten,
      checkpoint,
      linear({ out: 3, in: k })
    ]
  })
const named2 = <const N extends string, const S extends number, const L extends Layers>(name: N, size: S, layers: L) =>
  model({
    name,
    input: [1, 3, size, size],
    layers: [named(name, conv2d({ out: 8, k: 3, p: 1 })), seq('rest', layers), residual(layers), relu]
  })
const pipedFamily = <const C extends number>(classes: C) =>
  pipe(input([1, 3, 8, 8]), conv2d({ out: classes, k: 3 }), relu, maxPool2d({ k: 2 }))

/** Functions over tensors, loops, and what fp-ts composes. */
const withRelu = (x: AnyTensor) => pipe(x, conv2d({ out: 4, k: 3 }), relu)
const normalised = (x: Tensor<readonly [number, 3, number, number]>) =>
  pipe(x, conv2d({ out: 4, k: 3 }), batchNorm(), relu, checkpoint, tile({ H: 2 }), residual([relu]))
const anyChannels = <const C extends number>(x: Tensor<readonly [1, C, 8, 8]>) => net(x, [conv2d({ out: 4, k: 3 }), relu])
holds<Same<ShapeOf<ReturnType<typeof normalised>>, readonly [number, 4, number, number]>>()
const grown = (widths: readonly number[]): AnyTensor => {
  let x: AnyTensor = input([1, 3, 8, 8])
  for (const out of widths) x = conv2d({ out, k: 3, p: 1 })(x)
  let y: Tensor = input([1, 3, 8, 8])
  for (const out of widths) y = conv2d({ out, k: 3, p: 1 })(y)
  return widths.length > 3 ? x : y
}
const flowed = flow(conv2d({ out: 8, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }))(input([1, 3, 8, 8]))
holds<Same<ShapeOf<typeof flowed>, readonly [1, 8, 4, 4]>>()

/** From a layer that is not known on nothing is checked. */
const unknown = JSON.parse('1')
const withUnknown = model({
  name: 'unknown',
  input: [1, 3, 8, 8],
  layers: [relu, unknown, seq('in', [unknown]), residual([unknown]), relu]
})
const anyLayer = (one: AnyLayer, three: readonly [AnyLayer, AnyLayer, AnyLayer]) => [
  model({
    name: 'any',
    input: [1, 3, 8, 8],
    layers: [relu, one, named('x', one), named('y', seq([one])), residual([one], [one]), ...three]
  }),
  net(input([1, 3, 8, 8]), [one, globalAvgPool]),
  pipe(input([1, 3, 8, 8]), seq([one]), named('x', one), denseBlock([relu, one]), relu),
  modelOf('any', pipe(input([1, 3, 8, 8]), seq(three)))
]
const repeated = (count: number) => model({ name: 'repeated', input: [1, 3, 8, 8], layers: Array.from({ length: count }, () => relu) })

/** A size that is one of several is any; of a layer that is one of several each is looked at. */
const ofKernel = (out: number, k: 1 | 3 | 5) => conv2d({ out, k, p: k === 1 ? 0 : k === 3 ? 1 : 2 })
const ofStride = (out: number, s: 1 | 2) =>
  residual([conv2d({ out, k: 3, s, p: 1 }), batchNorm(), relu, conv2d({ out, k: 3, p: 1 })], [conv2d({ out, k: 1, s }), batchNorm()])
const upsample = (learned: boolean) => (learned ? convTranspose2d({ out: 8, k: 2, s: 2 }) : resize({ mode: 'bilinear', scale: 2 }))
const normalise = (grouped: boolean) => (grouped ? groupNorm({ groups: 4 }) : batchNorm())
const upsampled = net(input([1, 8, 32, 32]), [upsample(true)])
holds<Same<ShapeOf<typeof upsampled>, readonly [1, 8, 64, 64]>>()
const strided = net(input([1, 3, 32, 32]), [conv2d({ out: 8, k: 3, s: 1 as 1 | 2, p: 1 })])
holds<Same<ShapeOf<typeof strided>, readonly [1, 8, number, number]>>()
const [channels, groups, factor, several] = [24 as 24 | 64, 3 as 3 | 4, 2 as 2 | 3, 64 as 64 | 32]
const ofFactor = net(input([1, 36, several, 64]), [pixelShuffle({ factor }), convTranspose2d({ out: 8, k: [factor, 2], s: [factor, 2] })])
holds<Same<ShapeOf<typeof ofFactor>, readonly [1, 8, number, number]>>()
const oneOfSeveral = (flag: boolean) => [
  model({
    name: 'options',
    input: [1, 3, several, 64],
    layers: [
      conv2d({ out: channels, k: 3, p: 1 }),
      conv2d({ out: channels, k: 3, p: [1, 1, flag ? 0 : 1, 1], groups }),
      groupNorm({ groups }),
      dropout({ rate: flag ? 0.5 : 0 }),
      convTranspose2d({ out: 36, k: 3, s: flag ? 1 : 2, outputPadding: flag ? 0 : 1 }),
      pixelShuffle({ factor }),
      flatten,
      linear({ in: flag ? 100 : 200, out: 2 })
    ]
  }),
  model({ name: 'kernels', input: [1, 3, 64, 64], layers: [ofKernel(8, 3), relu, ofKernel(8, 5), relu, ofKernel(8, 1)] }),
  model({
    name: 'strides',
    input: [1, 3, 64, 64],
    layers: [ofStride(8, 1), ofStride(8, 2), ofStride(16, 1), ofStride(16, 2), ofStride(32, 1), ofStride(32, 2), globalAvgPool]
  }),
  model({ name: 'layers', input: [1, 8, 32, 32], layers: [normalise(flag), relu, residual([maxPool2d({ k: 2 }), upsample(flag)])] }),
  model({ name: 'inline', input: [1, 8, 32, 32], layers: [flag ? groupNorm({ groups: 4 }) : batchNorm(), relu] }),
  model({
    name: 'lists',
    input: [1, 3, 64, 64],
    layers: [
      seq(flag ? [conv2d({ out: 4, k: 1 }), relu, conv2d({ out: 3, k: 2, s: 2 })] : [maxPool2d({ k: 2 })]),
      residual([relu], [conv2d({ out: 3, k: 1 })])
    ]
  })
]

/** Options that may be left out may be undefined, whatever exactOptionalPropertyTypes says. */
const maybe = (size?: number, bias?: boolean, alpha?: number) =>
  model({
    name: 'maybe',
    input: [1, 4, several, 64],
    layers: [
      conv2d({ out: 8, k: 3, s: size, p: size, groups: size, bias }),
      resize({ mode: 'bilinear', size, scale: size === undefined ? 2 : undefined, alignCorners: bias }),
      elu({ alpha }),
      prelu({ perChannel: bias }),
      resize({ mode: 'nearest', scale: 2, size: undefined, to: undefined }),
      resize({ mode: 'nearest', to: 'block' }),
      avgPool2d({ k: 3 }),
      tile({ B: size })
    ]
  })
const twice = net(input([1, 4, 8, 8]), [resize({ mode: 'nearest', scale: 2, size: undefined })])
holds<Same<ShapeOf<typeof twice>, readonly [1, 4, 16, 16]>>()

/** A gate of which one side is known, and the other may be 1. */
const gatedByColumn = (columns: number) =>
  model({ name: 'gated', input: [1, 8, 64, 64], layers: [gated([], [adaptiveAvgPool2d({ out: [1, columns] }), sigmoid])] })

/** Without options a layer is the same with parentheses. */
const parentheses = pipe(input([1, 3, 8, 8]), relu(), globalAvgPool(), checkpoint())
holds<Same<ShapeOf<typeof parentheses>, readonly [1, 3]>>()

const made = modelOf('made', piped)
holds<Same<(typeof made)['name'], 'made'>>()

export const values = [
  openFamily,
  named2,
  pipedFamily,
  withRelu(input([1, 3, 8, 8])),
  normalised(input([1, 3, 8, 8])),
  anyChannels(input([1, 3, 8, 8])),
  grown,
  withUnknown,
  anyLayer,
  repeated,
  oneOfSeveral,
  gatedByColumn,
  maybe,
  modelOf('flowed', flowed),
  made,
  fromFile,
  modelOf('piped', piped),
  normalisedFeatures,
  model({ name: 'open', layers: [conv2d({ out: 8, k: 3 }), relu, checkpoint, globalAvgPool] }),
  model({ name: 'fixed', input: [1, 3, 32, 32], layers: [conv2d({ out: 8, k: 3 }), relu, checkpoint, globalAvgPool] })
]
