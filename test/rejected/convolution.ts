import { pipe } from 'fp-ts/function'
import { checkpoint, conv2d, flatten, input, named, net, relu, seq } from '../../dsl'

const small = input([1, 3, 3, 3])
const large = input([8, 6, 224, 224])

// expects: conv2d: the kernel 7x7 is larger than its padded input 3x3
net(small, [relu, conv2d({ out: 8, k: 7 }), relu])

// expects: conv2d: the kernel 1x6 is larger than its padded input 3x5
pipe(small, relu, conv2d({ out: 8, k: [1, 6], p: [0, 0, 2, 0] }))

// expects: conv2d: the dilated kernel 229x3 is larger than its padded input 226x226
pipe(large, conv2d({ out: 8, k: 3, d: [114, 1], p: 1 }), relu, relu)

// expects: conv2d: its 6 input channels do not divide into 4 groups
net(large, [conv2d({ out: 8, k: 3, groups: 4 })])

// expects: conv2d: its 8 output channels do not divide into 3 groups
net(large, [conv2d({ out: 8, k: 3, groups: 3 })])

// expects: conv2d: takes an image BxCxHxW, not 8x301056
net(large, [flatten, conv2d({ out: 8, k: 3 })])

// expects: conv2d: sizes must be whole numbers above 0, and paddings at least 0
net(large, [conv2d({ out: 0, k: 3 })])

// expects: conv2d: sizes must be whole numbers above 0, and paddings at least 0
net(large, [conv2d({ out: 8, k: 3, s: 1.5 })])

// expects: conv2d: sizes must be whole numbers above 0, and paddings at least 0
net(large, [conv2d({ out: 8, k: 3, p: [1, -1] })])

// expects: conv2d has no option padding; did you mean p?
conv2d({ out: 8, k: 3, padding: 1 })

// expects: features.wide: conv2d: the kernel 255x255 is larger than its padded input 224x224
net(large, [relu, seq('features', [relu, checkpoint, named('wide', conv2d({ out: 3, k: 255 }))]), relu])

// expects: features.1.0: conv2d: the kernel 255x255 is larger than its padded input 224x224
pipe(large, seq('features', [relu, checkpoint, seq([conv2d({ out: 3, k: 255 })])]))
