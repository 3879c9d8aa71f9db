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
  meanSquaredError,
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

layers('a sum over the pixels may be tiled along them as the last op of its segment, and nowhere else', () => {
  const convolution = conv2d({ out: 8, k: 3, p: 1 })
  const pixels = tile({ H: 4, W: 4 })
  const scores = linear({ out: 2 })
  const sentence = (list: Layers) => E.swap(trace(list, [2, 3, 64, 64]))
  for (const legal of [
    [convolution, relu, pixels, globalAvgPool],
    [convolution, relu, pixels, globalAvgPool, checkpoint, scores],
    [convolution, relu, globalAvgPool, pixels, checkpoint, scores, tile({ B: 2 })],
    [convolution, relu, pixels, meanSquaredError],
    [convolution, relu, meanSquaredError, pixels]
  ])
    assert.ok(E.isLeft(sentence(legal)), names(legal).join(', '))
  const refused =
    "cannot tile along H W; globalAvgPool sums over the pixels, so it must be the segment's last op (put a checkpoint after it)"
  assert.equal(sentence([convolution, relu, pixels, globalAvgPool, scores]), E.right(`3: linear: ${refused}`))
  assert.equal(sentence([convolution, globalAvgPool, pixels, scores]), E.right(`2: linear: ${refused}`))
  assert.equal(sentence([pixels, globalAvgPool, meanSquaredError]), E.right(`1: meanSquaredError: ${refused}`))
  assert.equal(sentence([globalAvgPool, scores, pixels]), E.right('tile: cannot tile along H W; this segment allows B'))
})

layers.run()
