import { checkpoint, conv2d, globalAvgPool, linear, maxPool2d, model, named, relu, seq, tile } from '../../dsl'

const convolution = (out: number) => conv2d({ out, k: 3, p: 1 })
/** Tiles along height, and as many along width, of the segments that end with the second to the fifth block. */
type Counts = readonly [number, number, number, number]

const features = (counts: Counts) =>
  (
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
    ...(index === 0 ? [] : [tile({ H: counts[index - 1]!, W: counts[index - 1]! }), checkpoint])
  ])

/** VGG-16 (head gap, two classes) whose convolutions run in tiles, in four segments. */
export const tiledVgg16 = (counts: Counts) =>
  model({
    name: 'tiled-vgg16',
    layers: [seq('features', features(counts)), named('avgpool', globalAvgPool), named('classifier', linear({ out: 2 }))]
  })

/** All in 16 x 16 tiles: for images from 512 x 512 on, whose last block has as many rows. */
export default tiledVgg16([16, 16, 16, 16])
