import { pipe } from 'fp-ts/function'
import { conv2d, denseBlock, input, model, modelOf, named, net, relu, residual, seq } from '../../dsl'

const x = input([1, 3, 8, 8])

// expects: two layers are named conv1; names must differ
net(x, [named('conv1', conv2d({ out: 3, k: 1 })), relu, named('conv1', relu)])

export const twice = model({
  name: 'twice',
  input: [1, 3, 8, 8],
  layers: [
    seq('layer1', [relu]),
    // expects: two layers are named layer1.0; names must differ
    seq('layer1', [relu]),
    relu
  ]
})

// expects: two layers are named layer1.block.a; names must differ
net(x, [relu, seq('layer1', [seq('block', [named('a', relu), residual([named('a', relu)])])])])

// expects: two layers are named 1; names must differ
net(x, [named('1', relu), relu])

// expects: two layers are named block.a; names must differ
net(x, [named('block', denseBlock([named('a', relu), relu, named('a', relu)]))])

// expects: two layers are named add; names must differ
net(x, [named('add', relu), residual([relu])])

// expects: two layers are named add; names must differ
net(x, [named('add', relu), residual([named('a', relu)])])

// expects: two layers are named a.0; names must differ
net(x, [seq('a', [relu]), named('a.0', relu)])

// expects: two layers are named layer1.a.b; names must differ
net(x, [seq('layer1', [named('a.b', relu)]), seq('layer1.a', [named('b', relu)])])

// expects: two layers are named a; names must differ
modelOf('piped', pipe(x, named('a', relu), named('a', relu)))

// Names in lists of their own, and parts of one, may be the same.
export const accepted = [
  net(x, [seq('a', [named('x', relu)]), seq('b', [named('x', relu)]), named('x', relu)]),
  net(x, [seq('a', [named('x', relu)]), seq('a', [named('y', relu)])]),
  net(x, [named('1', relu), named('0', relu), seq('2', [relu])]),
  net(x, [named('3', relu), relu, relu]),
  net(x, [named('a.b', relu), seq('a', [named('c', relu), relu])]),
  net(x, [residual([named('a', relu)]), residual([named('b', relu)])])
]
