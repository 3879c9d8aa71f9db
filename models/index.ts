import type { Model } from '../dsl'
import { alexnet } from './alexnet'
import { darknet19, darknet19_bn } from './darknet'
import { deeplabv3_resnet101, deeplabv3_resnet50, deeplabv3plus } from './deeplab'
import { densenet121, densenet161, densenet169, densenet201 } from './densenet'
import { fcn_resnet101, fcn_resnet50 } from './fcn'
import type { HeadOptions } from './heads'
import { inception_v3 } from './inception'
import { resnet101, resnet152, resnet18, resnet34, resnet50 } from './resnet'
import { unet, unet_bn } from './unet'
import { vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn } from './vgg'

export * from './alexnet'
export * from './darknet'
export * from './deeplab'
export * from './densenet'
export * from './fcn'
export * from './inception'
export * from './unet'
export * from './vgg'
export { resnet101, resnet152, resnet18, resnet34, resnet50 }
export type { Head, HeadOptions, Network } from './heads'

/** The models that the command line knows by name. */
export const builtIn: Readonly<Record<string, (options: HeadOptions) => Model>> = {
  alexnet,
  darknet19,
  darknet19_bn,
  deeplabv3_resnet50,
  deeplabv3_resnet101,
  deeplabv3plus,
  densenet121,
  densenet161,
  densenet169,
  densenet201,
  fcn_resnet50,
  fcn_resnet101,
  inception_v3,
  resnet18,
  resnet34,
  resnet50,
  resnet101,
  resnet152,
  unet,
  unet_bn,
  vgg11,
  vgg11_bn,
  vgg13,
  vgg13_bn,
  vgg16,
  vgg16_bn,
  vgg19,
  vgg19_bn
}
