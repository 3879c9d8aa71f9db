import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'

/** A small classifier of images of any size. */
export const convolutions = [
  conv2d({ out: 16, k: 3, p: 1 }),
  relu,
  conv2d({ out: 16, k: 3, p: 1 }),
  relu,
  maxPool2d({ k: 2 }),
  conv2d({ out: 32, k: 3, p: 1 }),
  relu,
  globalAvgPool,
  linear({ out: 2 })
]

/** Smaller still: two convolutions of 8 channels around a pooling. */
export const twoConvolutions = model({
  name: 'net',
  layers: [
    conv2d({ out: 8, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 2 }),
    conv2d({ out: 8, k: 3, p: 1 }),
    relu,
    globalAvgPool,
    linear({ out: 2 })
  ]
})
