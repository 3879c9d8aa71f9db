import { batchNorm, conv2d, convTranspose2d, denseBlock, maxPool2d, named, relu, seq, type Layers } from '../dsl'
import { withOptionCheck, type HeadOptions, type Network } from './heads'

/**
 * Two 3x3 convolutions, each with its rectifier; padded, so that sizes stay where the paper's
 * shrink.
 */
const doubleConv = <const W extends number>(out: W) =>
  [seq('double_conv', [conv2d({ out, k: 3, p: 1 }), relu, conv2d({ out, k: 3, p: 1 }), relu])] as const
const doubleConvBatchNorm = <const W extends number>(out: W) =>
  [
    seq('double_conv', [
      conv2d({ out, k: 3, p: 1, bias: false }),
      batchNorm(),
      relu,
      conv2d({ out, k: 3, p: 1, bias: false }),
      batchNorm(),
      relu
    ])
  ] as const

const down = <const N extends string, const L extends Layers>(name: N, convolutions: L) =>
  seq(name, [seq('maxpool_conv', [maxPool2d({ k: 2 }), seq('1', convolutions)])])
const up = <const N extends string, const W extends number>(name: N, out: W) =>
  seq(name, [named('up', convTranspose2d({ out, k: 2, s: 2 }))])
const decoderConv = <const N extends string, const L extends Layers>(name: N, convolutions: L) => seq(name, [seq('conv', convolutions)])

/** Level by level: what is computed at half the size, brought back, joins what is there. */
const makeLayers = <
  const A extends Layers,
  const B extends Layers,
  const D extends Layers,
  const E extends Layers,
  const G extends Layers,
  const C extends number
>(
  [at64, at128, at256, at512, at1024]: readonly [A, B, D, E, G],
  classes: C
) =>
  [
    seq('inc', at64),
    denseBlock([
      down('down1', at128),
      denseBlock([
        down('down2', at256),
        denseBlock([down('down3', at512), denseBlock([down('down4', at1024), up('up1', 512)]), decoderConv('up1', at512), up('up2', 256)]),
        decoderConv('up2', at256),
        up('up3', 128)
      ]),
      decoderConv('up3', at128),
      up('up4', 64)
    ]),
    decoderConv('up4', at64),
    seq('outc', [named('conv', conv2d({ out: classes, k: 1 }))])
  ] as const

const plainLayers = <const C extends number>(classes: C) =>
  makeLayers([doubleConv(64), doubleConv(128), doubleConv(256), doubleConv(512), doubleConv(1024)], classes)
const batchNormLayers = <const C extends number>(classes: C) =>
  makeLayers(
    [doubleConvBatchNorm(64), doubleConvBatchNorm(128), doubleConvBatchNorm(256), doubleConvBatchNorm(512), doubleConvBatchNorm(1024)],
    classes
  )

/**
 * U-Net (Ronneberger et al., 2015), padded: scores of `classes` for every pixel of images whose
 * height and width are multiples of 16. Layers named as in github.com/milesial/Pytorch-UNet, which
 * normalises (unet_bn) where the paper does not (unet).
 */
export const unet = withOptionCheck(
  'unet',
  <const C extends number>({ classes }: HeadOptions<C>): Network<'unet', ReturnType<typeof plainLayers<C>>> => ({
    name: 'unet',
    layers: plainLayers(classes)
  })
)
/**
 * U-Net (Ronneberger et al., 2015) with batch normalisation: scores of `classes` for every pixel of
 * images whose height and width are multiples of 16. Layers named as in
 * github.com/milesial/Pytorch-UNet.
 */
export const unet_bn = withOptionCheck(
  'unet_bn',
  <const C extends number>({ classes }: HeadOptions<C>): Network<'unet_bn', ReturnType<typeof batchNormLayers<C>>> => ({
    name: 'unet_bn',
    layers: batchNormLayers(classes)
  })
)
