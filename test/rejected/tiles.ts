import { pipe } from 'fp-ts/function'
import { checkpoint, conv2d, flatten, globalAvgPool, input, linear, net, relu, softmaxCrossEntropy, tile } from '../../dsl'

const x = input([2, 3, 64, 64])
const convolution = conv2d({ out: 8, k: 3, p: 1 })

// expects: tile: cannot tile along C; this segment allows B H W
pipe(x, convolution, tile({ C: 4 }))

// expects: tile: cannot tile along C; this segment allows B H W
net(x, [convolution, tile({ C: 4, H: 4 }), relu])

// expects: tile: cannot tile along H W; this segment allows B
net(x, [globalAvgPool, linear({ out: 2 }), tile({ B: 2, H: 4, W: 4 })])

// expects: linear: cannot tile along H; linear allows B
net(x, [convolution, tile({ H: 4 }), globalAvgPool, linear({ out: 2 })])

// expects: flatten: cannot tile along H W; flatten allows B
pipe(x, tile({ H: 2, W: 2 }), convolution, flatten, linear({ out: 2 }), softmaxCrossEntropy)

// expects: tile: cannot tile along H; this segment allows B
net(x, [convolution, globalAvgPool, checkpoint, linear({ out: 2 }), tile({ H: 2 })])

// expects: tile: counts must be whole numbers above 0
net(x, [convolution, tile({ H: 0, W: 2 })])

// expects: 'D' does not exist
tile({ D: 2 })
