import { pipe } from 'fp-ts/function'
import {
  adaptiveAvgPool2d,
  checkpoint,
  conv2d,
  dropout,
  flatten,
  gated,
  globalAvgPool,
  input,
  linear,
  meanSquaredError,
  model,
  named,
  net,
  relu,
  resize,
  seq,
  softmaxCrossEntropy,
  tile
} from '../../dsl'

const x = input([2, 3, 64, 64])
const convolution = conv2d({ out: 8, k: 3, p: 1 })

// expects: tile: cannot tile along C; this segment allows B H W
pipe(x, convolution, tile({ C: 4 }))

// expects: tile: cannot tile along C; this segment allows B H W
net(x, [convolution, tile({ C: 4, H: 4 }), relu])

// expects: tile: cannot tile along H W; this segment allows B
net(x, [globalAvgPool, linear({ out: 2 }), tile({ B: 2, H: 4, W: 4 })])

// expects: linear: cannot tile along H W; globalAvgPool sums over the pixels, so it must be the segment's last op (put a checkpoint after it)
net(x, [convolution, relu, tile({ H: 4, W: 4 }), globalAvgPool, linear({ out: 2 })])

// expects: linear: cannot tile along H; globalAvgPool sums over the pixels, so it must be the segment's last op (put a checkpoint after it)
pipe(x, convolution, globalAvgPool, tile({ B: 2, H: 4 }), linear({ out: 2 }))

// expects: head.scores: dropout: cannot tile along W; globalAvgPool sums over the pixels, so it must be the segment's last op
net(x, [convolution, tile({ W: 2 }), seq('head', [globalAvgPool, named('scores', dropout({ rate: 0.5 }))])])

// expects: softmaxCrossEntropy: cannot tile along H; globalAvgPool sums over the pixels, so it must be the segment's last op
net(x, [convolution, checkpoint, convolution, tile({ H: 4 }), globalAvgPool, softmaxCrossEntropy])

// expects: meanSquaredError: cannot tile along H; globalAvgPool sums over the pixels, so it must be the segment's last op
net(x, [tile({ H: 4 }), globalAvgPool, meanSquaredError])

// expects: conv2d: cannot tile along H; adaptiveAvgPool2d to one pixel sums over the pixels, so it must be the segment's last op (put a checkpoint after it)
net(x, [convolution, tile({ H: 2 }), gated([], [adaptiveAvgPool2d({ out: 1 }), conv2d({ out: 8, k: 1 })])])

// expects: tile: cannot tile along W; this segment allows B
net(x, [adaptiveAvgPool2d({ out: [1, 1] }), resize({ mode: 'nearest', to: 'block' }), tile({ B: 2, W: 2 })])

// expects: tile: cannot tile along W; this segment allows B
net(x, [globalAvgPool, checkpoint, linear({ out: 2 }), meanSquaredError, tile({ B: 2, W: 2 })])

// expects: flatten: cannot tile along H W; flatten allows B
pipe(x, tile({ H: 2, W: 2 }), convolution, flatten, linear({ out: 2 }), softmaxCrossEntropy)

// expects: tile: cannot tile along H; this segment allows B
net(x, [convolution, globalAvgPool, checkpoint, linear({ out: 2 }), tile({ H: 2 })])

// expects: tile: counts must be whole numbers above 0
net(x, [convolution, tile({ H: 0, W: 2 })])

// expects: tile has no option D; it takes B, H, W
tile({ D: 2 })

export const fine = model({
  name: 'fine',
  input: [2, 3, 64, 32],
  layers: [
    convolution,
    // expects: tile: 512 tiles along H are more than the 64 rows of the output of 1; take at most 64, or a larger input
    tile({ H: 512 }),
    relu
  ]
})

export const sums = model({
  name: 'sums',
  input: [2, 3, 64, 32],
  layers: [
    relu,
    checkpoint,
    // expects: tile: 33 tiles along W are more than the 32 columns of the input of mean; take at most 32, or a larger input
    tile({ H: 64, W: 33 }),
    convolution,
    named('mean', globalAvgPool),
    checkpoint,
    linear({ out: 2 })
  ]
})

export const onePixel = model({
  name: 'one pixel',
  input: [2, 3, 64, 32],
  layers: [
    convolution,
    // expects: tile: 65 tiles along H are more than the 64 rows of the input of 1; take at most 64, or a larger input
    tile({ H: 65 }),
    adaptiveAvgPool2d({ out: 1 }),
    checkpoint,
    convolution
  ]
})

export const batches = model({
  name: 'batches',
  input: [2, 3, 64, 32],
  // expects: tile: 8 tiles along B are more than the 2 images of the output of features.1; take at most 2, or a larger input
  layers: [seq('features', [convolution, tile({ B: 8 }), relu, checkpoint]), globalAvgPool]
})

// expects: tile: 65 tiles along H are more than the 64 rows of the output of the segment's last layer; take at most 64, or a larger input
pipe(x, convolution, tile({ H: 65 }), checkpoint)

// As many tiles as rows are right, and what is resized behind the mark may have more.
export const accepted = [
  model({ name: 'rows', input: [2, 3, 64, 32], layers: [convolution, tile({ B: 2, H: 64, W: 32 }), globalAvgPool] }),
  model({
    name: 'grown',
    input: [2, 3, 64, 32],
    layers: [conv2d({ out: 8, k: 1, s: 2 }), tile({ H: 64 }), resize({ mode: 'nearest', scale: 2 })]
  }),
  model({ name: 'later', input: [2, 3, 64, 32], layers: [tile({ H: 99 }), relu, tile({ H: 2 })] })
]
