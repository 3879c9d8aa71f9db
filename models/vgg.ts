import { batchNorm, conv2d, maxPool2d, relu, seq, type AnyLayer } from '../dsl'
import { withOptionCheck, classicVggHead, gapHead, withHead, type Head, type WithHead, type HeadOptions, type Network } from './heads'
import { repeat } from './repeat'

const pool = maxPool2d({ k: 2 })

/** `count` convolutions and a pool. */
const stage = <const C extends number, const N extends number>(out: C, count: N) =>
  [...repeat([conv2d({ out, k: 3, p: 1 }), relu], count), pool] as const
const stageBatchNorm = <const C extends number, const N extends number>(out: C, count: N) =>
  [...repeat([conv2d({ out, k: 3, p: 1 }), batchNorm(), relu], count), pool] as const

const features11 = seq('features', [...stage(64, 1), ...stage(128, 1), ...stage(256, 2), ...stage(512, 2), ...stage(512, 2)])
const features13 = seq('features', [...stage(64, 2), ...stage(128, 2), ...stage(256, 2), ...stage(512, 2), ...stage(512, 2)])
const features16 = seq('features', [...stage(64, 2), ...stage(128, 2), ...stage(256, 3), ...stage(512, 3), ...stage(512, 3)])
const features19 = seq('features', [...stage(64, 2), ...stage(128, 2), ...stage(256, 4), ...stage(512, 4), ...stage(512, 4)])

const features11bn = seq('features', [
  ...stageBatchNorm(64, 1),
  ...stageBatchNorm(128, 1),
  ...stageBatchNorm(256, 2),
  ...stageBatchNorm(512, 2),
  ...stageBatchNorm(512, 2)
])
const features13bn = seq('features', [
  ...stageBatchNorm(64, 2),
  ...stageBatchNorm(128, 2),
  ...stageBatchNorm(256, 2),
  ...stageBatchNorm(512, 2),
  ...stageBatchNorm(512, 2)
])
const features16bn = seq('features', [
  ...stageBatchNorm(64, 2),
  ...stageBatchNorm(128, 2),
  ...stageBatchNorm(256, 3),
  ...stageBatchNorm(512, 3),
  ...stageBatchNorm(512, 3)
])
const features19bn = seq('features', [
  ...stageBatchNorm(64, 2),
  ...stageBatchNorm(128, 2),
  ...stageBatchNorm(256, 4),
  ...stageBatchNorm(512, 4),
  ...stageBatchNorm(512, 4)
])

type GapHead<C extends number> = ReturnType<typeof gapHead<C>>
type ClassicHead<C extends number> = ReturnType<typeof classicVggHead<C>>

const vgg = <const N extends string, F extends AnyLayer>(name: N, features: F) =>
  withOptionCheck(
    name,
    <const C extends number, const H extends Head = 'gap'>({
      classes,
      head = 'gap' as H
    }: HeadOptions<C, H>): Network<N, WithHead<readonly [F], GapHead<C>, ClassicHead<C>, H>> => ({
      name,
      layers: withHead([features], head, gapHead(classes), classicVggHead(classes))
    })
  )

/**
 * VGG (Simonyan and Zisserman, 2014) without batch normalisation, layers named as in torchvision.
 */
export const vgg11 = vgg('vgg11', features11)
/** VGG-13 (Simonyan and Zisserman, 2014), layers named as in torchvision. */
export const vgg13 = vgg('vgg13', features13)
/** VGG-16 (Simonyan and Zisserman, 2014), layers named as in torchvision. */
export const vgg16 = vgg('vgg16', features16)
/** VGG-19 (Simonyan and Zisserman, 2014), layers named as in torchvision. */
export const vgg19 = vgg('vgg19', features19)

/**
 * VGG with batch normalisation after every convolution (in torchvision vgg11_bn to vgg19_bn),
 * layers named as there.
 */
export const vgg11_bn = vgg('vgg11_bn', features11bn)
/** VGG-13 with batch normalisation after every convolution, layers named as in torchvision. */
export const vgg13_bn = vgg('vgg13_bn', features13bn)
/** VGG-16 with batch normalisation after every convolution, layers named as in torchvision. */
export const vgg16_bn = vgg('vgg16_bn', features16bn)
/** VGG-19 with batch normalisation after every convolution, layers named as in torchvision. */
export const vgg19_bn = vgg('vgg19_bn', features19bn)
