import { batchNorm, conv2d, dropout, named, relu, resize, seq } from '../dsl'
import { dilatedBackbone } from './dilated-backbone'
import { withOptionCheck, type HeadOptions, type Network } from './heads'

const fcnLayers = <const B extends number, const C extends number>(layer3: B, classes: C) =>
  [
    dilatedBackbone(layer3),
    seq('classifier', [
      conv2d({ out: 512, k: 3, p: 1, bias: false }),
      batchNorm(),
      relu,
      dropout({ rate: 0.1 }),
      conv2d({ out: classes, k: 1 })
    ]),
    named('resize', resize({ mode: 'bilinear', to: 'block' }))
  ] as const

/** `layer3`: the blocks of the ResNet's third layer. */
const fcn = <const N extends string, const B extends number>(name: N, layer3: B) =>
  withOptionCheck(name, <const C extends number>({ classes }: HeadOptions<C>): Network<N, ReturnType<typeof fcnLayers<B, C>>> => ({
    name,
    layers: fcnLayers(layer3, classes)
  }))

/**
 * FCN (Long et al., "Fully convolutional networks for semantic segmentation", 2015) on a dilated
 * ResNet-50, as torchvision has it: without the paper's skips. Scores of `classes` for every pixel.
 * Layers named as in torchvision with aux_loss=False.
 */
export const fcn_resnet50 = fcn('fcn_resnet50', 6)
/**
 * FCN (Long et al., 2015) on a dilated ResNet-101, as torchvision has it: without the paper's
 * skips. Scores of `classes` for every pixel. Layers named as in torchvision with aux_loss=False.
 */
export const fcn_resnet101 = fcn('fcn_resnet101', 23)
