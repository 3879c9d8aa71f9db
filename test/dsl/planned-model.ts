import { checkpoint, conv2d, dropout, globalAvgPool, linear, maxPool2d, model, named, relu, seq } from '../../dsl'

/** What random plans are made for: marks, names inside names, a pool after its rectifier, and ops that stop tiles. */
export const planned = model({
  name: 'planned',
  input: [2, 3, 16, 16],
  layers: [
    seq('features', [conv2d({ out: 4, k: [3, 1], p: [1, 0, 0, 2], bias: false }), relu, maxPool2d({ k: 2, ceilMode: true }), checkpoint]),
    conv2d({ out: 2, k: 1 }),
    named('head', seq([globalAvgPool, dropout({ rate: 0.5 })])),
    linear({ out: 2 })
  ]
})
