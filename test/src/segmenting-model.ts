import { adaptiveAvgPool2d, batchNorm, conv2d, maxPool2d, model, named, relu, residual, resize, seq } from '../../dsl'

/**
 * Three classes for every pixel, by layers of every kind that segmentation has, at any size from
 * 4x4 on.
 */
export default model({
  name: 'segmenting',
  input: [2, 3, 24, 16],
  layers: [
    named('norm', batchNorm()),
    seq('stem', [conv2d({ out: 8, k: 3, s: 2, p: 1, bias: false }), batchNorm(), relu, maxPool2d({ k: 3, s: 2, p: 1 })]),
    residual(
      [named('wide', conv2d({ out: 8, k: 3, p: 2, d: 2 })), named('bn', batchNorm()), named('relu', relu)],
      [
        named('pool', adaptiveAvgPool2d({ out: 1 })),
        named('back', conv2d({ out: 8, k: 1, bias: false })),
        named('poolBn', batchNorm()),
        named('spread', resize({ mode: 'bilinear', to: 'block' }))
      ]
    ),
    named('head', conv2d({ out: 3, k: 1 })),
    named('whole', resize({ mode: 'bilinear', to: 'block' }))
  ]
})
