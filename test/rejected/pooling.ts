import { avgPool2d, globalAvgPool, input, maxPool2d, net } from '../../dsl'

const x = input([1, 3, 5, 9])

// expects: maxPool2d: the kernel 6x6 is larger than its padded input 5x9
net(x, [maxPool2d({ k: 6, s: 1, ceilMode: true })])

// expects: maxPool2d: the dilated kernel 7x3 is larger than its padded input 5x9
net(x, [maxPool2d({ k: 3, d: [3, 1] })])

// expects: avgPool2d: a padding is more than half of the kernel 3x3
net(x, [avgPool2d({ k: 3, p: [1, 2] })])

// expects: avgPool2d: takes an image BxCxHxW, not 1x3
net(x, [globalAvgPool, avgPool2d({ k: 1 })])

// expects: globalAvgPool: takes an image BxCxHxW, not 1x3
net(x, [globalAvgPool, globalAvgPool])
