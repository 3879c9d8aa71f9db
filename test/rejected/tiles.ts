import { pipe } from 'fp-ts/function'
import {
  checkpoint,
  conv2d,
  dropout,
  flatten,
  globalAvgPool,
  input,
  linear,
  meanSquaredError,
  named,
  net,
  relu,
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

// expects: in head.scores: dropout: cannot tile along W; globalAvgPool sums over the pixels, so it must be the segment's last op
net(x, [convolution, tile({ W: 2 }), seq('head', [globalAvgPool, named('scores', dropout({ rate: 0.5 }))])])

// expects: softmaxCrossEntropy: cannot tile along H; globalAvgPool sums over the pixels, so it must be the segment's last op
net(x, [convolution, checkpoint, convolution, tile({ H: 4 }), globalAvgPool, softmaxCrossEntropy])

// expects: meanSquaredError: cannot tile along H; globalAvgPool sums over the pixels, so it must be the segment's last op
net(x, [tile({ H: 4 }), globalAvgPool, meanSquaredError])

// expects: tile: cannot tile along W; this segment allows B
net(x, [globalAvgPool, checkpoint, linear({ out: 2 }), meanSquaredError, tile({ B: 2, W: 2 })])

// expects: flatten: cannot tile along H W; flatten allows B
pipe(x, tile({ H: 2, W: 2 }), convolution, flatten, linear({ out: 2 }), softmaxCrossEntropy)

// expects: tile: cannot tile along H; this segment allows B
net(x, [convolution, globalAvgPool, checkpoint, linear({ out: 2 }), tile({ H: 2 })])

// expects: tile: counts must be whole numbers above 0
net(x, [convolution, tile({ H: 0, W: 2 })])

// expects: 'D' does not exist
tile({ D: 2 })
