import { conv2d, globalAvgPool, input, linear, model, relu, softmaxCrossEntropy } from '../../dsl'

// expects: input: takes images BxCxHxW, not 3x512x512
input([3, 512, 512])

// expects: input: 1x3x0x512 must be whole numbers above 0
input([1, 3, 0, 512])

// expects: input: takes images BxCxHxW, not 1x3
model({ name: 'flat', input: [1, 3], layers: [relu] })

export const grouped = model({
  name: 'grouped',
  input: [1, 3, 32, 32],
  layers: [
    relu,
    // expects: conv2d: its 3 input channels do not divide into 2 groups
    conv2d({ out: 6, k: 3, groups: 2 }),
    globalAvgPool,
    linear({ out: 2 }),
    softmaxCrossEntropy
  ]
})
