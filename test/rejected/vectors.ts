import { conv2d, dropout, flatten, globalAvgPool, input, leakyRelu, linear, net } from '../../dsl'
import { vgg16 } from '../../models'

const x = input([1, 3, 8, 8])

// expects: linear: takes 25088 features, not 192
net(x, [flatten, linear({ in: 25088, out: 4096 })])

// expects: linear: takes features BxN, not 1x3x8x8: put flatten or globalAvgPool before it
net(x, [linear({ out: 10 })])

// expects: linear: sizes must be whole numbers above 0
net(x, [globalAvgPool, linear({ out: -2 })])

// expects: flatten: takes an image BxCxHxW, not 1x192
net(x, [flatten, flatten])

// expects: dropout: the rate 1.5 is not in [0, 1)
net(x, [dropout({ rate: 1.5 })])

// expects: leakyRelu: the slope -0.1 is below 0
net(x, [leakyRelu({ slope: -0.1 })])

// expects: leakyRelu has no option alpha; did you mean slope?
leakyRelu({ alpha: 0.1 })

// expects: classifier.0: linear: takes 25088 features, not 131072
net(input([1, 3, 512, 512]), vgg16({ classes: 1000, head: 'classic' }).layers)

// expects: conv2d: takes an image BxCxHxW, not 1x3
net(x, [globalAvgPool, conv2d({ out: 8, k: 1 })])
