import { batchNorm, conv2d, dropout, named, relu, resize, seq } from '../dsl'
import { dilatedBackbone } from './dilated-backbone'
import { withOptionCheck, type HeadOptions, type Network } from './heads'

const fcn = <const B extends number, const C extends number>(layer3: B, classes: C) =>
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

/**
 * FCN (Long et al., "Fully convolutional networks for semantic segmentation", 2015) on a dilated
 * ResNet-50, as torchvision has it: without the paper's skips. Scores of `classes` for every pixel.
 * Layers named as in torchvision with aux_loss=False.
 */
export const fcn_resnet50 = withOptionCheck(
  'fcn_resnet50',
  <const C extends number>({ classes }: HeadOptions<C>): Network<'fcn_resnet50', ReturnType<typeof fcn<6, C>>> => ({
    name: 'fcn_resnet50',
    layers: fcn(6, classes)
  })
)
/**
 * FCN (Long et al., 2015) on a dilated ResNet-101, as torchvision has it: without the paper's
 * skips. Scores of `classes` for every pixel. Layers named as in torchvision with aux_loss=False.
 */
export const fcn_resnet101 = withOptionCheck(
  'fcn_resnet101',
  <const C extends number>({ classes }: HeadOptions<C>): Network<'fcn_resnet101', ReturnType<typeof fcn<23, C>>> => ({
    name: 'fcn_resnet101',
    layers: fcn(23, classes)
  })
)
