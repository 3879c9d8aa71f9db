import { batchNorm, conv2d, named, parallel, relu, resize, seq } from '../dsl'
import { aspp } from './aspp'
import { dilatedBackbone } from './dilated-backbone'
import { withOptionCheck, type HeadOptions, type Network } from './heads'
import { bottlenecks, stem } from './resnet'

/** Resizes to the input's height and width, or the block's. */
const whole = resize({ mode: 'bilinear', to: 'block' })

const deeplabv3Layers = <const B extends number, const C extends number>(layer3: B, classes: C) =>
  [
    dilatedBackbone(layer3),
    seq('classifier', [
      aspp('0', [12, 24, 36], 0.5),
      conv2d({ out: 256, k: 3, p: 1, bias: false }),
      batchNorm(),
      relu,
      conv2d({ out: classes, k: 1 })
    ]),
    named('resize', whole)
  ] as const

/** `layer3`: the blocks of the ResNet's third layer. */
const deeplabv3 = <const N extends string, const B extends number>(name: N, layer3: B) =>
  withOptionCheck(name, <const C extends number>({ classes }: HeadOptions<C>): Network<N, ReturnType<typeof deeplabv3Layers<B, C>>> => ({
    name,
    layers: deeplabv3Layers(layer3, classes)
  }))

/**
 * DeepLabV3 (Chen et al., "Rethinking atrous convolution for semantic image segmentation", 2017):
 * scores of `classes` for every pixel. Layers named as in torchvision with aux_loss=False.
 */
export const deeplabv3_resnet50 = deeplabv3('deeplabv3_resnet50', 6)
/**
 * DeepLabv3 (Chen et al., 2017) on ResNet-101: scores of `classes` for every pixel. Layers named as
 * in torchvision with aux_loss=False.
 */
export const deeplabv3_resnet101 = deeplabv3('deeplabv3_resnet101', 23)

const plusLayers = <const C extends number>(classes: C) =>
  [
    seq('backbone', [...stem, bottlenecks('layer1', { width: 64, out: 256, s: 1, d: [1, 1], count: 3 })]),
    parallel([
      [seq('classifier', [seq('project', [conv2d({ out: 48, k: 1, bias: false }), batchNorm(), relu])])],
      [
        seq('backbone', [
          bottlenecks('layer2', { width: 128, out: 512, s: 2, d: [1, 1], count: 4 }),
          bottlenecks('layer3', { width: 256, out: 1024, s: 2, d: [1, 1], count: 6 }),
          bottlenecks('layer4', { width: 512, out: 2048, s: 1, d: [1, 2], count: 3 })
        ]),
        seq('classifier', [aspp('aspp', [6, 12, 18], 0.1), named('resize', whole)])
      ]
    ]),
    seq('classifier', [
      seq('classifier', [
        conv2d({ out: 256, k: 3, p: 1, bias: false }),
        batchNorm(),
        relu,
        conv2d({ out: 256, k: 3, p: 1, bias: false }),
        batchNorm(),
        relu,
        conv2d({ out: classes, k: 1 })
      ])
    ]),
    named('resize', whole)
  ] as const

/**
 * DeepLabv3+ (Chen et al., "Encoder-decoder with atrous separable convolution for semantic image
 * segmentation", 2018) with a ResNet-50 of output stride 16, and the decoder that the paper found
 * best: layer1's output in 48 channels, two 3x3 convolutions of 256, not separable. Layers named as
 * in github.com/VainF/DeepLabV3Plus-Pytorch (which has one 3x3 convolution in the decoder):
 * backbone as in torchvision, classifier.project, classifier.aspp, classifier.classifier.
 */
export const deeplabv3plus = withOptionCheck(
  'deeplabv3plus',
  <const C extends number>({ classes }: HeadOptions<C>): Network<'deeplabv3plus', ReturnType<typeof plusLayers<C>>> => ({
    name: 'deeplabv3plus',
    layers: plusLayers(classes)
  })
)
