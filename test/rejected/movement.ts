import { channelShuffle, globalAvgPool, globalMaxPool, input, narrow, net, pad, pixelShuffle, pixelUnshuffle, relu } from '../../dsl'

const x = input([1, 6, 5, 8])

// expects: pixelShuffle: the factor must be a whole number above 0
net(x, [pixelShuffle({ factor: 1.5 })])

// expects: pixelShuffle: its 6 channels are no multiple of 4, the factor's square
net(x, [relu, pixelShuffle({ factor: 2 })])

// expects: pixelShuffle: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, pixelShuffle({ factor: 2 })])

// expects: pixelUnshuffle: the factor must be a whole number above 0
net(x, [pixelUnshuffle({ factor: 0 })])

// expects: pixelUnshuffle: the factor 2 does not divide 5x8
net(x, [relu, pixelUnshuffle({ factor: 2 })])

// expects: pixelUnshuffle: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, pixelUnshuffle({ factor: 2 })])

// expects: channelShuffle: groups must be a whole number above 0
net(x, [channelShuffle({ groups: 1.5 })])

// expects: channelShuffle: its 6 channels do not divide into 4 groups
net(x, [relu, channelShuffle({ groups: 4 })])

// expects: channelShuffle: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, channelShuffle({ groups: 2 })])

// expects: narrow: the start must be a whole number, at least 0
net(x, [narrow({ start: -1, length: 2 })])

// expects: narrow: the length must be a whole number above 0
net(x, [narrow({ start: 0, length: 0 })])

// expects: narrow: 4 channels from 3 on are more than its 6
net(x, [relu, narrow({ start: 3, length: 4 })])

// expects: narrow: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, narrow({ start: 0, length: 2 })])

// expects: pad: paddings must be whole numbers, at least 0
net(x, [pad({ p: [1, -1] })])

// expects: pad: a padding that reflects must be less than the image's 5x8
net(x, [relu, pad({ p: [0, 5, 0, 0], mode: 'reflect' })])

// expects: pad: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, pad({ p: 1 })])

// expects: Type '"circular"' is not assignable
pad({ p: 1, mode: 'circular' })

// expects: globalMaxPool: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, globalMaxPool])
