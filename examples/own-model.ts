import { checkpoint, conv2d, dropout, globalAvgPool, linear, maxPool2d, model, named, relu, seq, tile } from 'tilefold/dsl'

const block = <const C extends number>(out: C) =>
  seq([conv2d({ out, k: 3, p: 1 }), relu, conv2d({ out, k: 3, p: 1 }), relu, maxPool2d({ k: 2 })])

export default model({
  name: 'own',
  input: [1, 3, 2048, 2048],
  layers: [
    seq('features', [block(32), tile({ H: 4, W: 4 }), checkpoint, block(64), block(128)]),
    globalAvgPool,
    dropout({ rate: 0.2 }),
    named('classifier', linear({ out: 2 }))
  ]
})
