import { seq } from '../dsl'
import { bottlenecks, stem } from './resnet'

/**
 * The bottleneck ResNet of output stride 8 of torchvision's networks for segmentation, whose layer3
 * has `layer3` blocks: layer3 and layer4 are dilated by 2 and 4 in place of their strides.
 */
export const dilatedBackbone = <const N extends number>(layer3: N) =>
  seq('backbone', [
    ...stem,
    bottlenecks('layer1', { width: 64, out: 256, s: 1, d: [1, 1], count: 3 }),
    bottlenecks('layer2', { width: 128, out: 512, s: 2, d: [1, 1], count: 4 }),
    bottlenecks('layer3', { width: 256, out: 1024, s: 1, d: [1, 2], count: layer3 }),
    bottlenecks('layer4', { width: 512, out: 2048, s: 1, d: [2, 4], count: 3 })
  ])
