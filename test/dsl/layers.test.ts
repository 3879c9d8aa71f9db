import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  checkpoint,
  checkpointWithin,
  conv2d,
  flatLayers,
  flatten,
  globalAvgPool,
  input,
  linear,
  modelOf,
  named,
  net,
  relu,
  seq,
  tile,
  trace,
  type Layers
} from '../../dsl'

const names = (layers: Layers) => flatLayers(layers).map(({ op, name }) => `${op} ${name}`)

const layers = suite('layers as data')

layers('a layer is its op and its arguments', () => {
  const convolution = conv2d({ out: 8, k: [1, 7], p: [0, 3] })
  assert.is(convolution.op, 'conv2d')
  assert.equal(convolution.args, { out: 8, k: [1, 7], p: [0, 3] })
})

layers('names count places, marks take none, given names replace places', () => {
  assert.equal(names([conv2d({ out: 8, k: 3 }), checkpoint, relu, tile({ H: 2 }), named('mean', globalAvgPool), linear({ out: 2 })]), [
    'conv2d 0',
    'checkpoint 1',
    'relu 1',
    'tile 2',
    'globalAvgPool mean',
    'linear 3'
  ])
  assert.equal(
    names([seq('features', [conv2d({ out: 8, k: 3 }), seq([relu, named('inner', relu)])]), seq([relu]), named('head', seq([flatten]))]),
    ['conv2d features.0', 'relu features.1.0', 'relu features.1.inner', 'relu 1.0', 'flatten head.0']
  )
})

layers('pipe and net make the same model', () => {
  const convolution = conv2d({ out: 8, k: 3 })
  const piped = modelOf('m', pipe(input([1, 3, 8, 8]), convolution, relu, globalAvgPool))
  const listed = modelOf('m', net(input([1, 3, 8, 8]), [convolution, relu, globalAvgPool]))
  assert.equal(flatLayers(piped.layers), flatLayers(listed.layers))
  assert.equal(piped.input, [1, 3, 8, 8])
  assert.is(piped.layers.length, 3)
})

layers('a trace gives every shape', () => {
  const traced = trace([seq('stem', [conv2d({ out: 8, k: 3, s: 2 }), relu]), checkpoint, flatten, linear({ out: 2 })], [2, 3, 9, 7])
  assert.equal(
    E.map((list: readonly { readonly output: readonly number[] }[]) => list.map(({ output }) => output))(traced),
    E.right([
      [2, 8, 4, 3],
      [2, 8, 4, 3],
      [2, 8, 4, 3],
      [2, 96],
      [2, 2]
    ])
  )
})

layers('a trace names the layer that does not fit', () => {
  const sentence = (list: Layers, shape: readonly number[] = [1, 3, 8, 8]) => trace(list, shape)
  assert.equal(
    sentence([seq('features', [relu, conv2d({ out: 1, k: 9 })])]),
    E.left('features.1: conv2d: the kernel 9x9 is larger than its padded input 8x8')
  )
  assert.equal(sentence([named('a', relu), named('a', relu)]), E.left('two layers are named a; names must differ'))
  assert.equal(sentence([relu], [3, 8, 8]), E.left('input: takes images BxCxHxW, not 3x8x8'))
  assert.equal(sentence([relu], [1, 3, 0, 8]), E.left('input: 1x3x0x8 must be whole numbers above 0'))
})

layers('a budget counts what the segment holds', () => {
  const convolution = conv2d({ out: 64, k: 3, p: 1 })
  const held = (budget: number) =>
    trace([convolution, checkpoint, convolution, relu, convolution, checkpointWithin(budget)], [1, 3, 224, 224])
  assert.ok(E.isRight(held(2 * 12845056)))
  assert.equal(held(2 * 12845056 - 1), E.left('this segment holds 25690112 bytes, over the budget of 25690111'))
})

layers.run()
