import { adaptiveAvgPool2d, batchNorm, conv2d, dropout, parallel, relu, resize, seq } from '../dsl'

const atrous = <const N extends string, const D extends number>(name: N, d: D) =>
  seq(name, [conv2d({ out: 256, k: 3, p: d, d, bias: false }), batchNorm(), relu])

/**
 * Atrous spatial pyramid pooling (Chen et al., "Rethinking atrous convolution for semantic image
 * segmentation", 2017) to 256 channels, layers named as in torchvision. The branch of the whole
 * image normalises one value per channel and image: training takes two images.
 */
export const aspp = <
  const N extends string,
  const A extends number,
  const B extends number,
  const C extends number,
  const D extends number
>(
  name: N,
  dilations: readonly [A, B, C],
  rate: D
) =>
  seq(name, [
    seq('convs', [
      parallel([
        [seq('0', [conv2d({ out: 256, k: 1, bias: false }), batchNorm(), relu])],
        [atrous('1', dilations[0])],
        [atrous('2', dilations[1])],
        [atrous('3', dilations[2])],
        [
          seq('4', [
            adaptiveAvgPool2d({ out: 1 }),
            conv2d({ out: 256, k: 1, bias: false }),
            batchNorm(),
            relu,
            resize({ mode: 'bilinear', to: 'block' })
          ])
        ]
      ])
    ]),
    seq('project', [conv2d({ out: 256, k: 1, bias: false }), batchNorm(), relu, dropout({ rate })])
  ])
