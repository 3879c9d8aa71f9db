import { checkpoint, conv2d, globalAvgPool, linear, maxPool2d, model, named, relu, seq, tile } from '../../dsl'

const grid = tile({ H: 16, W: 16 })
const convolution = (out: number) => conv2d({ out, k: 3, p: 1 })
const features = (
  [
    [64, 2],
    [128, 2],
    [256, 3],
    [512, 3],
    [512, 3]
  ] as const
).flatMap(([out, depth], index) => [
  ...Array.from({ length: depth }, () => [convolution(out), relu]).flat(),
  maxPool2d({ k: 2 }),
  // The first two blocks in one segment: tiles of its output are large enough for the halo of four convolutions.
  ...(index === 0 ? [] : [grid, checkpoint])
])

/** VGG-16 (head gap, two classes) whose convolutions all run in 16 x 16 tiles, in four segments. */
export default model({
  name: 'tiled-vgg16',
  layers: [seq('features', features), named('avgpool', globalAvgPool), named('classifier', linear({ out: 2 }))]
})
