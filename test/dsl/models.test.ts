import * as E from 'fp-ts/Either'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { flatLayers, trace, type Model } from '../../dsl'
import { builtIn, darknet19, vgg11, vgg13, vgg16, vgg19, type Head } from '../../models'

/** Weights and biases, as PyTorch counts them. */
const parameters = (model: Model, shape: readonly number[]): number => {
  const traced = trace(model.layers, shape)
  if (E.isLeft(traced)) throw new Error(traced.left)
  return traced.right.reduce(
    ({ total, channels }, layer) => ({
      total:
        total +
        (layer.op === 'conv2d'
          ? layer.args.out * (channels * (layer.args.k as number) ** 2 + 1)
          : layer.op === 'linear'
            ? layer.args.out * (channels + 1)
            : 0),
      channels: layer.output[1]!
    }),
    { total: 0, channels: shape[1]! }
  ).total
}

const named = (model: Model, ops: readonly string[]): readonly string[] =>
  flatLayers(model.layers).flatMap(({ name, op }) => (ops.includes(op) ? [name] : []))

const models = suite('models')

models('parameters are as many as torchvision has', () => {
  const image = [1, 3, 224, 224]
  const options = { classes: 1000, head: 'classic' } as const
  assert.is(parameters(vgg11(options), image), 132863336)
  assert.is(parameters(vgg13(options), image), 133047848)
  assert.is(parameters(vgg16(options), image), 138357544)
  assert.is(parameters(vgg19(options), image), 143667240)
})

models('layers are named as in torchvision', () => {
  const convolutions = {
    vgg11: [0, 3, 6, 8, 11, 13, 16, 18],
    vgg13: [0, 2, 5, 7, 10, 12, 15, 17, 20, 22],
    vgg16: [0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28],
    vgg19: [0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34]
  }
  for (const [name, places] of Object.entries(convolutions)) {
    const features = places.map((place) => `features.${place}`)
    assert.equal(named(builtIn[name]!({ classes: 10, head: 'classic' }), ['conv2d', 'linear']), [
      ...features,
      'classifier.0',
      'classifier.3',
      'classifier.6'
    ])
    assert.equal(named(builtIn[name]!({ classes: 10, head: 'gap' }), ['conv2d', 'linear']), [...features, 'classifier'])
  }
})

models('dropout stands where torchvision has it', () =>
  assert.equal(named(vgg16({ classes: 10, head: 'classic' }), ['dropout']), ['classifier.2', 'classifier.5'])
)

models('darknet19 has 18 biased convolutions before its head, five pools and slope 0.1', () => {
  const model = darknet19({ classes: 1000 })
  assert.is(named(model, ['conv2d']).length, 18)
  assert.is(named(model, ['maxPool2d']).length, 5)
  assert.is(parameters(model, [1, 3, 256, 256]), 20835176)
  assert.equal([...new Set(flatLayers(model.layers).flatMap(({ op, args }) => (op === 'leakyRelu' ? [args] : [])))], [{ slope: 0.1 }])
  assert.is(parameters(darknet19({ classes: 1000, head: 'classic' }), [1, 3, 256, 256]), 20835176)
})

models('every built-in model takes both heads', () => {
  for (const [name, make] of Object.entries(builtIn))
    for (const head of ['gap', 'classic'] satisfies readonly Head[]) {
      const traced = trace(make({ classes: 7, head }).layers, [2, 3, 224, 224])
      assert.ok(E.isRight(traced), name)
      assert.equal(traced.right.at(-1)!.output, [2, 7])
    }
})

models('the classic head of VGG needs 224 x 224', () =>
  assert.equal(
    trace(vgg16({ classes: 10, head: 'classic' }).layers, [1, 3, 512, 512]),
    E.left('classifier.0: linear: takes 25088 features, not 131072')
  )
)

models.run()
