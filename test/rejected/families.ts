import { flow } from 'fp-ts/function'
import {
  conv2d,
  dropout,
  globalAvgPool,
  groupNorm,
  input,
  linear,
  model,
  modelOf,
  relu,
  residual,
  seq,
  softmaxCrossEntropy,
  tile
} from '../../dsl'

// A model without `input` is checked as far as it fits images of no size.

// expects: 2: linear: takes features BxN, not ?x8x?x?: put flatten or globalAvgPool before it
model({ name: 'open', layers: [conv2d({ out: 8, k: 3 }), relu, linear({ out: 2 })] })

// expects: 3: relu: nothing can follow a loss
model({ name: 'open', layers: [globalAvgPool, linear({ out: 2 }), softmaxCrossEntropy, relu] })

// expects: 0: conv2d: sizes must be whole numbers above 0, and paddings at least 0
model({ name: 'open', layers: [conv2d({ out: 0, k: 3 })] })

// expects: 1: groupNorm: its 48 channels do not divide into 32 groups
model({ name: 'open', layers: [conv2d({ out: 48, k: 3 }), groupNorm({ groups: 32 })] })

// expects: add: the branches differ, main ?x4x?x? but shortcut ?x8x?x?
model({ name: 'open', layers: [conv2d({ out: 8, k: 3 }), residual([conv2d({ out: 4, k: 1 })])] })

// So is one whose sizes are type parameters, as far as it fits them all.

export const family = <const C extends number>(classes: C) =>
  model({
    name: 'family',
    input: [1, 3, 64, 64],
    layers: [
      // expects: 0: conv2d: the kernel 99x99 is larger than its padded input 64x64
      conv2d({ out: 8, k: 99 }),
      globalAvgPool,
      linear({ out: classes })
    ]
  })

export const behind = <const C extends number>(classes: C) =>
  model({
    name: 'behind',
    input: [1, 3, 64, 64],
    // expects: is not assignable to type
    layers: [conv2d({ out: classes, k: 3 }), globalAvgPool, globalAvgPool]
  })

const layers = flow(conv2d({ out: 8, k: 3 }), globalAvgPool, globalAvgPool)
// expects: globalAvgPool: takes an image BxCxHxW, not 1x8
modelOf('flowed', layers(input([1, 3, 8, 8])))

// expects: tile: 7 tiles along H are more than the 6 rows of the output of 0; take at most 6, or a larger input
modelOf('tiled', flow(conv2d({ out: 8, k: 3 }), tile({ H: 7 }))(input([1, 3, 8, 8])))

// From a layer that is not known on nothing is checked, and all before it is.

const unknown = JSON.parse('1')
export const partly = model({
  name: 'partly',
  input: [1, 3, 8, 8],
  layers: [
    relu,
    // expects: 1: conv2d: the kernel 9x9 is larger than its padded input 8x8
    conv2d({ out: 8, k: 9 }),
    unknown,
    globalAvgPool
  ]
})

export const around = model({
  name: 'around',
  input: [1, 3, 8, 8],
  layers: [
    seq('head', [relu, unknown, globalAvgPool]),
    residual([unknown], [relu]),
    // expects: 3: dropout: the rate 1 is not in [0, 1)
    dropout({ rate: 1 })
  ]
})
