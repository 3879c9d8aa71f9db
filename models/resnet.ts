import { batchNorm, conv2d, maxPool2d, named, relu, residual, seq, type Layers } from '../dsl'
import { withOptionCheck, fcHead, type HeadOptions, type Network } from './heads'
import { repeat, stack } from './repeat'

const basicBranch = <const W extends number, const S extends number>(width: W, s: S) =>
  [
    named('conv1', conv2d({ out: width, k: 3, s, p: 1, bias: false })),
    named('bn1', batchNorm()),
    named('relu1', relu),
    named('conv2', conv2d({ out: width, k: 3, p: 1, bias: false })),
    named('bn2', batchNorm())
  ] as const

/**
 * The stride stands in the 3x3 convolution as in torchvision ("ResNet v1.5"), not in the first as
 * in the paper.
 */
const bottleneckBranch = <const W extends number, const O extends number, const S extends number, const D extends number>(
  width: W,
  out: O,
  s: S,
  d: D
) =>
  [
    named('conv1', conv2d({ out: width, k: 1, bias: false })),
    named('bn1', batchNorm()),
    named('relu1', relu),
    named('conv2', conv2d({ out: width, k: 3, s, p: d, d, bias: false })),
    named('bn2', batchNorm()),
    named('relu2', relu),
    named('conv3', conv2d({ out, k: 1, bias: false })),
    named('bn3', batchNorm())
  ] as const

const projection = <const O extends number, const S extends number>(out: O, s: S) =>
  [seq('downsample', [conv2d({ out, k: 1, s, bias: false }), batchNorm()])] as const

/**
 * torchvision has one rectifier a block, used several times; here they are relu1, relu2 and, after
 * the sum, relu.
 */
const identityBlock = <const M extends Layers>(main: M) => seq([residual(main), named('relu', relu)])
const projectionBlock = <const M extends Layers, const S extends Layers>(main: M, shortcut: S) =>
  seq([residual(main, shortcut), named('relu', relu)])

/**
 * torchvision's "layerN" of `count` bottlenecks: the first has the stride, and the dilation of the
 * layer before. Every option is given: within a list the compiler takes what is left out for any
 * number, not for its default.
 */
export const bottlenecks = <
  const Name extends string,
  const W extends number,
  const O extends number,
  const N extends number,
  const S extends number,
  const First extends number,
  const D extends number
>(
  name: Name,
  {
    width,
    out,
    count,
    s,
    d: [first, d]
  }: {
    readonly width: W
    readonly out: O
    readonly count: N
    readonly s: S
    readonly d: readonly [first: First, others: D]
  }
) =>
  seq(
    name,
    stack(
      projectionBlock(bottleneckBranch(width, out, s, first), projection(out, s)),
      identityBlock(bottleneckBranch(width, out, 1, d)),
      count
    )
  )

const basicLayer = <const Name extends string, const W extends number, const N extends number>(name: Name, width: W, count: N) =>
  seq(name, stack(projectionBlock(basicBranch(width, 2), projection(width, 2)), identityBlock(basicBranch(width, 1)), count))

/** The layers before layer1. */
export const stem = [
  named('conv1', conv2d({ out: 64, k: 7, s: 2, p: 3, bias: false })),
  named('bn1', batchNorm()),
  named('relu', relu),
  named('maxpool', maxPool2d({ k: 3, s: 2, p: 1 }))
] as const

/** `blocks`: of layer1 to layer4. */
const basicFeatures = <const A extends number, const B extends number, const C extends number, const D extends number>(
  blocks: readonly [A, B, C, D]
) =>
  [
    ...stem,
    seq('layer1', repeat([identityBlock(basicBranch(64, 1))], blocks[0])),
    basicLayer('layer2', 128, blocks[1]),
    basicLayer('layer3', 256, blocks[2]),
    basicLayer('layer4', 512, blocks[3])
  ] as const

const bottleneckFeatures = <const A extends number, const B extends number, const C extends number, const D extends number>(
  blocks: readonly [A, B, C, D]
) =>
  [
    ...stem,
    bottlenecks('layer1', { width: 64, out: 256, s: 1, d: [1, 1], count: blocks[0] }),
    bottlenecks('layer2', { width: 128, out: 512, s: 2, d: [1, 1], count: blocks[1] }),
    bottlenecks('layer3', { width: 256, out: 1024, s: 2, d: [1, 1], count: blocks[2] }),
    bottlenecks('layer4', { width: 512, out: 2048, s: 2, d: [1, 1], count: blocks[3] })
  ] as const

type FcHead<C extends number> = ReturnType<typeof fcHead<C>>

const resnet = <const N extends string, F extends Layers>(name: N, features: F) =>
  withOptionCheck(name, <const C extends number>({ classes }: HeadOptions<C>): Network<N, readonly [...F, ...FcHead<C>]> => ({
    name,
    layers: [...features, ...fcHead(classes)]
  }))

/** ResNet (He et al., 2015), layers named as in torchvision, where its two heads are one. */
export const resnet18 = resnet('resnet18', basicFeatures([2, 2, 2, 2]))
/** ResNet-34 (He et al., 2015), layers named as in torchvision. */
export const resnet34 = resnet('resnet34', basicFeatures([3, 4, 6, 3]))
/** ResNet-50 (He et al., 2015), layers named as in torchvision. */
export const resnet50 = resnet('resnet50', bottleneckFeatures([3, 4, 6, 3]))
/** ResNet-101 (He et al., 2015), layers named as in torchvision. */
export const resnet101 = resnet('resnet101', bottleneckFeatures([3, 4, 23, 3]))
/** ResNet-152 (He et al., 2015), layers named as in torchvision. */
export const resnet152 = resnet('resnet152', bottleneckFeatures([3, 8, 36, 3]))
