import { pipe } from 'fp-ts/function'
import {
  checkpoint,
  conv2d,
  convTranspose2d,
  denseBlock,
  globalAvgPool,
  input,
  maxPool2d,
  meanSquaredError,
  named,
  net,
  parallel,
  relu,
  residual,
  resize,
  seq,
  tile,
  type AnyLayer
} from '../../dsl'

const x = input([8, 64, 56, 56])
const wide = conv2d({ out: 256, k: 3, p: 1 })
const half = maxPool2d({ k: 2 })
const upsample = (learned: boolean) => (learned ? convTranspose2d({ out: 64, k: 2, s: 2 }) : resize({ mode: 'bilinear', scale: 2 }))

// expects: add: the branches differ, main 8x256x56x56 but shortcut 8x64x56x56
net(x, [relu, residual([wide, relu])])

// expects: add: the branches differ, main 8x256x28x28 but shortcut 8x256x56x56
pipe(x, residual([half, wide], [wide]), relu)

// expects: add: the branches differ, main 8x64x112x112 but shortcut 8x64x56x56
net(x, [residual([upsample(true)])])

// expects: concat: the branches differ, 8x64x56x56 and 8x64x28x28
net(x, [denseBlock([half])])

// expects: concat: the branches differ, 8x256x56x56 and 8x64x28x28
net(x, [parallel([[wide], [], [relu, half]])])

// expects: concat: the branches differ, 8x64x56x56 and 8x64
net(x, [denseBlock([globalAvgPool])])

// expects: concat: joins at least two branches, not 0
net(x, [parallel([])])

// expects: concat: joins at least two branches, not 1
pipe(x, parallel([[relu]]))

// expects: add: joins two branches, not 1
net(x, [relu, { op: 'add', args: {} } as const satisfies AnyLayer])

// expects: concat: joins at least two branches, not 1
net(x, [relu, { op: 'concat', args: {} } as const satisfies AnyLayer])

// expects: add: nothing can follow a loss
net(x, [residual([meanSquaredError], [meanSquaredError])])

// expects: tile: stands inside a block; put it before or after the block
net(x, [residual([relu, seq([tile({ H: 2 })])])])

// expects: relu: cannot tile along H; globalAvgPool sums over the pixels, so it must be the segment's last op (put a checkpoint after it)
net(x, [tile({ H: 2 }), parallel([[globalAvgPool], [relu, checkpoint, globalAvgPool]])])

// expects: layer1.conv1: conv2d: the kernel 99x99 is larger than its padded input 56x56
net(x, [seq('layer1', [residual([relu, named('conv1', conv2d({ out: 64, k: 99 }))])])])

// expects: layer1.5: conv2d: the kernel 99x99 is larger than its padded input 56x56
net(x, [seq('layer1', [relu, residual([relu, relu], [relu]), parallel([[relu], []]), conv2d({ out: 64, k: 99 })])])
