import { pipe } from 'fp-ts/function'
import {
  batchNorm,
  checkpoint,
  conv2d,
  denseBlock,
  globalAvgPool,
  groupNorm,
  input,
  instanceNorm,
  meanSquaredError,
  net,
  relu,
  residual,
  tile
} from '../../dsl'

const x = input([1, 512, 7, 7])
const alone = input([1, 512, 1, 1])
const convolution = conv2d({ out: 512, k: 3, p: 1 })

// expects: batchNorm: one value per channel, 1x512x1x1, has no variance; give it more pixels or images, or freeze it
net(alone, [relu, batchNorm()])

// expects: instanceNorm: one value per channel, 1x512x1x1, has no variance; give it more pixels
net(alone, [instanceNorm()])

// expects: groupNorm: one value per group, 1x512x1x1, has no variance; give it more pixels
pipe(alone, groupNorm({ groups: 512 }))

// expects: batchNorm: one value per channel, 1x512, has no variance; give it more pixels or images, or freeze it
net(x, [globalAvgPool, batchNorm()])

// expects: batchNorm: takes an image BxCxHxW or features BxC, not a scalar
net(x, [globalAvgPool, meanSquaredError, batchNorm()])

// expects: groupNorm: takes an image BxCxHxW, not 1x512
net(x, [globalAvgPool, groupNorm({ groups: 512 })])

// expects: groupNorm: its 512 channels do not divide into 30 groups
net(x, [groupNorm({ groups: 30 })])

// expects: groupNorm: groups must be a whole number above 0
net(x, [groupNorm({ groups: 0 })])

// expects: batchNorm: the momentum 1.5 is not in [0, 1]
net(x, [batchNorm({ momentum: 1.5 })])

// expects: instanceNorm: eps must be above 0, not 0
net(x, [instanceNorm({ eps: 0 })])

// expects: batchNorm has no option training; it takes eps, momentum, affine, frozen
batchNorm({ training: false })

// expects: tile: cannot tile along H; batchNorm needs the statistics of the whole tensor before it, so put a checkpoint before it
net(x, [convolution, batchNorm(), relu, tile({ H: 2 })])

// expects: tile: cannot tile along H W; instanceNorm needs the statistics of the whole tensor before it, so put a checkpoint before it
pipe(x, convolution, instanceNorm(), tile({ B: 2, H: 2, W: 2 }))

// expects: groupNorm: cannot tile along W; groupNorm needs the statistics of the whole tensor before it, so put a checkpoint before it
net(x, [tile({ B: 2, W: 2 }), convolution, groupNorm({ groups: 32 })])

// expects: batchNorm: cannot tile along B; batchNorm needs the statistics of the whole tensor before it, so put a checkpoint before it
net(x, [convolution, checkpoint, tile({ B: 2 }), residual([batchNorm(), relu, convolution, batchNorm()])])

// expects: tile: cannot tile along H; batchNorm needs the statistics of the whole tensor before it, so put a checkpoint before it
net(x, [convolution, denseBlock([batchNorm(), relu]), tile({ H: 2 })])

// expects: tile: cannot tile along H; batchNorm needs the statistics of the whole input, so put a checkpoint after it
net(x, [batchNorm(), relu, tile({ H: 2 })])

// expects: instanceNorm: cannot tile along W; instanceNorm needs the statistics of the whole input, so put a checkpoint after it
net(x, [tile({ B: 2, W: 2 }), residual([instanceNorm()])])

// expects: tile: cannot tile along C; this segment allows nothing
net(x, [convolution, batchNorm(), tile({ C: 2 })])
