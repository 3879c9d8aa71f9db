import { avgPool2d, batchNorm, conv2d, denseBlock, maxPool2d, named, relu, seq, type Layers } from '../dsl'
import { withOptionCheck, gapHead, type HeadOptions, type Network } from './heads'

const denseLayer = <const N extends number, const B extends number, const G extends number>(number: N, bottleneck: B, growth: G) =>
  seq(`denselayer${number}`, [
    denseBlock([
      named('norm1', batchNorm()),
      named('relu1', relu),
      named('conv1', conv2d({ out: bottleneck, k: 1, bias: false })),
      named('norm2', batchNorm()),
      named('relu2', relu),
      named('conv2', conv2d({ out: growth, k: 3, p: 1, bias: false }))
    ])
  ])

/** denselayer1 to denselayerN. */
type DenseLayers<N extends number, B extends number, G extends number> = number extends N
  ? Layers
  : NumberedLayers<N, B, G> extends infer All extends Layers
    ? All
    : never
type NumberedLayers<
  N extends number,
  B extends number,
  G extends number,
  All extends readonly unknown[] = readonly []
> = All['length'] extends N
  ? All
  : NumberedLayers<N, B, G, readonly [...All, ReturnType<typeof denseLayer<[...All, unknown]['length'] & number, B, G>>]>

const denseLayers = <const N extends number, const B extends number, const G extends number>(count: N, bottleneck: B, growth: G) =>
  Array.from({ length: count }, (_, index) => denseLayer(index + 1, bottleneck, growth)) as Layers as DenseLayers<N, B, G>

const transition = <const Name extends string, const O extends number>(name: Name, out: O) =>
  seq(name, [
    named('norm', batchNorm()),
    named('relu', relu),
    named('conv', conv2d({ out, k: 1, bias: false })),
    named('pool', avgPool2d({ k: 2 }))
  ])

/**
 * `counts`: dense layers of each block; `halves`: channels after each transition, half of those
 * before it.
 */
const densenetFeatures = <
  const I extends number,
  const G extends number,
  const W extends number,
  const A extends number,
  const B extends number,
  const C extends number,
  const D extends number,
  const X extends number,
  const Y extends number,
  const Z extends number
>(
  [initial, growth, bottleneck]: readonly [I, G, W],
  counts: readonly [A, B, C, D],
  halves: readonly [X, Y, Z]
) =>
  [
    seq('features', [
      named('conv0', conv2d({ out: initial, k: 7, s: 2, p: 3, bias: false })),
      named('norm0', batchNorm()),
      named('relu0', relu),
      named('pool0', maxPool2d({ k: 3, s: 2, p: 1 })),
      seq('denseblock1', denseLayers(counts[0], bottleneck, growth)),
      transition('transition1', halves[0]),
      seq('denseblock2', denseLayers(counts[1], bottleneck, growth)),
      transition('transition2', halves[1]),
      seq('denseblock3', denseLayers(counts[2], bottleneck, growth)),
      transition('transition3', halves[2]),
      seq('denseblock4', denseLayers(counts[3], bottleneck, growth)),
      named('norm5', batchNorm())
    ]),
    named('relu', relu)
  ] as const

type GapHead<C extends number> = ReturnType<typeof gapHead<C>>

const densenet = <const N extends string, F extends Layers>(name: N, features: F) =>
  withOptionCheck(name, <const C extends number>({ classes }: HeadOptions<C>): Network<N, readonly [...F, ...GapHead<C>]> => ({
    name,
    layers: [...features, ...gapHead(classes)]
  }))

const features121 = densenetFeatures([64, 32, 128], [6, 12, 24, 16], [128, 256, 512])
const features161 = densenetFeatures([96, 48, 192], [6, 12, 36, 24], [192, 384, 1056])
const features169 = densenetFeatures([64, 32, 128], [6, 12, 32, 32], [128, 256, 640])
const features201 = densenetFeatures([64, 32, 128], [6, 12, 48, 32], [128, 256, 896])

/**
 * DenseNet-BC (Huang et al., 2016), layers named as in torchvision, where its two heads are one.
 */
export const densenet121 = densenet('densenet121', features121)
/** DenseNet-161 (DenseNet-BC of Huang et al., 2016), layers named as in torchvision. */
export const densenet161 = densenet('densenet161', features161)
/** DenseNet-169 (DenseNet-BC of Huang et al., 2016), layers named as in torchvision. */
export const densenet169 = densenet('densenet169', features169)
/** DenseNet-201 (DenseNet-BC of Huang et al., 2016), layers named as in torchvision. */
export const densenet201 = densenet('densenet201', features201)
