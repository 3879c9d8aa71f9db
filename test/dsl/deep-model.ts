import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, named, relu, residual, seq } from '../../dsl'

/** What the cost of types is measured on: as many layers, blocks and names as ResNet-152 has. */
const main = <const W extends number, const S extends number>(width: W, s: S) =>
  [
    named('conv1', conv2d({ out: width, k: 1, bias: false })),
    named('bn1', batchNorm()),
    relu,
    named('conv2', conv2d({ out: width, k: 3, s, p: 1, bias: false })),
    named('bn2', batchNorm()),
    relu
  ] as const
const end = <const C extends number>(out: C) => [named('conv3', conv2d({ out, k: 1, bias: false })), named('bn3', batchNorm())] as const

const block = <const W extends number, const C extends number>(width: W, out: C) =>
  seq([residual([...main(width, 1), ...end(out)]), named('relu', relu)])
const down = <const W extends number, const C extends number, const S extends number>(width: W, out: C, s: S) =>
  seq([
    residual([...main(width, s), ...end(out)], [seq('downsample', [conv2d({ out, k: 1, s, bias: false }), batchNorm()])]),
    named('relu', relu)
  ])

const [b1, b2, b3, b4] = [block(64, 256), block(128, 512), block(256, 1024), block(512, 2048)] as const
const fiveOfB3 = [b3, b3, b3, b3, b3] as const

export const deepLayers = [
  named('conv1', conv2d({ out: 64, k: 7, s: 2, p: 3, bias: false })),
  named('bn1', batchNorm()),
  named('relu', relu),
  named('maxpool', maxPool2d({ k: 3, s: 2, p: 1 })),
  seq('layer1', [down(64, 256, 1), b1, b1]),
  seq('layer2', [down(128, 512, 2), b2, b2, b2, b2, b2, b2, b2]),
  seq('layer3', [down(256, 1024, 2), ...fiveOfB3, ...fiveOfB3, ...fiveOfB3, ...fiveOfB3, ...fiveOfB3, ...fiveOfB3, ...fiveOfB3]),
  seq('layer4', [down(512, 2048, 2), b4, b4]),
  named('avgpool', globalAvgPool),
  named('fc', linear({ out: 1000 }))
] as const
