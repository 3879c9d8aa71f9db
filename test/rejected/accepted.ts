import { pipe } from 'fp-ts/function'
import {
  adaptiveAvgPool2d,
  avgPool2d,
  batchNorm,
  checkpoint,
  checkpointWithin,
  conv2d,
  convTranspose2d,
  dense,
  dropout,
  flatten,
  gelu,
  globalAvgPool,
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
  net,
  parallel,
  pixelCrossEntropy,
  relu,
  residual,
  resize,
  seq,
  sigmoid,
  silu,
  softmaxCrossEntropy,
  tanh,
  tile,
  type HeldBytes,
  type Layers,
  type ShapeOf
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

const lossTiledAfter = pipe(input([2, 3, 64, 64]), relu, meanSquaredError, tile({ B: 2, H: 4, W: 4 }), checkpoint)
holds<Same<ShapeOf<typeof lossTiledAfter>, readonly []>>()

const branching = net(input([2, 3, 65, 48]), [
  seq('encoder', [conv2d({ out: 8, k: 3, s: 2, p: 1, bias: false }), batchNorm(), silu]),
  checkpoint,
  residual([batchNorm({ momentum: 0.01 }), gelu, conv2d({ out: 8, k: 3, p: 12, d: 12, groups: 8 })], [seq('downsample', [tanh])]),
  tile({ H: 2 }),
  checkpoint,
  dense([groupNorm({ groups: 4, eps: 1e-6 }), relu, conv2d({ out: 4, k: 1 })]),
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
    dense([batchNorm({ frozen: height > 9 }), ...layers]),
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

export const values = [
  fromFile,
  modelOf('piped', piped),
  model({ name: 'open', layers: [conv2d({ out: 8, k: 3 }), relu, checkpoint, globalAvgPool] }),
  model({ name: 'fixed', input: [1, 3, 32, 32], layers: [conv2d({ out: 8, k: 3 }), relu, checkpoint, globalAvgPool] })
]
