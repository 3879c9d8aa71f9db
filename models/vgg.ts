import { conv2d, maxPool2d, relu, seq, type AnyLayer, type Model } from '../dsl'
import { classicVggHead, gapHead, headed, type Head, type Headed, type HeadOptions } from './heads'

const convolution = <const C extends number>(out: C) => conv2d({ out, k: 3, p: 1 })
const pool = maxPool2d({ k: 2 })

const one = <const C extends number>(out: C) => [convolution(out), relu, pool] as const
const two = <const C extends number>(out: C) => [convolution(out), relu, ...one(out)] as const
const three = <const C extends number>(out: C) => [convolution(out), relu, ...two(out)] as const
const four = <const C extends number>(out: C) => [convolution(out), relu, ...three(out)] as const

const features11 = seq('features', [...one(64), ...one(128), ...two(256), ...two(512), ...two(512)])
const features13 = seq('features', [...two(64), ...two(128), ...two(256), ...two(512), ...two(512)])
const features16 = seq('features', [...two(64), ...two(128), ...three(256), ...three(512), ...three(512)])
const features19 = seq('features', [...two(64), ...two(128), ...four(256), ...four(512), ...four(512)])

type GapHead<C extends number> = ReturnType<typeof gapHead<C>>
type ClassicHead<C extends number> = ReturnType<typeof classicVggHead<C>>

const vgg =
  <F extends AnyLayer>(name: string, features: F) =>
  <const C extends number, const H extends Head = 'gap'>({
    classes,
    head = 'gap' as H
  }: HeadOptions<C, H>): Model<Headed<F, GapHead<C>, ClassicHead<C>, H>> => ({
    name,
    layers: headed(features, head, gapHead(classes), classicVggHead(classes))
  })

/** VGG (Simonyan and Zisserman, 2014) without batch normalisation, layers named as in torchvision. */
export const vgg11 = vgg('vgg11', features11)
export const vgg13 = vgg('vgg13', features13)
export const vgg16 = vgg('vgg16', features16)
export const vgg19 = vgg('vgg19', features19)
