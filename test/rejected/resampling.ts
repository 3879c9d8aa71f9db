import { adaptiveAvgPool2d, convTranspose2d, globalAvgPool, input, net, relu, resize, sigmoid } from '../../dsl'

const x = input([1, 6, 5, 7])

// expects: resize: takes one of size, scale and to
net(x, [resize({ mode: 'bilinear' })])

// expects: resize: takes one of size, scale and to
net(x, [resize({ mode: 'bilinear', size: 8, to: 'block' })])

// expects: resize: alignCorners is for bilinear only
net(x, [resize({ mode: 'nearest', scale: 2, alignCorners: true })])

// expects: resize: sizes must be whole numbers above 0
net(x, [resize({ mode: 'nearest', size: [8, 0] })])

// expects: resize: scales must be above 0
net(x, [resize({ mode: 'nearest', scale: -2 })])

// expects: resize: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, resize({ mode: 'bilinear', scale: 2 })])

// expects: Type '"bicubic"' is not assignable
resize({ mode: 'bicubic', scale: 2 })

// expects: adaptiveAvgPool2d: sizes must be whole numbers above 0
net(x, [adaptiveAvgPool2d({ out: 0 })])

// expects: adaptiveAvgPool2d: takes an image BxCxHxW, not 1x6
net(x, [globalAvgPool, sigmoid, adaptiveAvgPool2d({ out: 7 })])

// expects: convTranspose2d: its 6 input channels do not divide into 4 groups
net(x, [relu, convTranspose2d({ out: 8, k: 2, groups: 4 })])

// expects: convTranspose2d: sizes must be whole numbers above 0, and paddings at least 0
net(x, [convTranspose2d({ out: 8, k: 2, s: 0 })])

// expects: convTranspose2d: the output padding 2x1 is not below the stride 2x2 or the dilation
net(x, [convTranspose2d({ out: 8, k: 2, s: 2, outputPadding: [2, 1] })])

// expects: convTranspose2d: the output padding 2x0 adds a border that no window reaches: keep it below stride and padding together, 2x1
net(x, [convTranspose2d({ out: 8, k: 2, d: 3, p: [1, 0], outputPadding: [2, 0] })])

// expects: convTranspose2d: the padding 4x4 takes away all of its 6x8
net(x, [convTranspose2d({ out: 8, k: 2, p: 4 })])
