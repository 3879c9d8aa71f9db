/**
 * ResNets and Inception had their linear layer under another name: weights, states and plans of
 * then still load, and one line says so. Small networks stand for them, under their name.
 */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model, named, relu, seq } from '../../../dsl'
import { resnet50 } from '../../../models'
import { type TrainOptions, plan, train, writeTensorFile } from '../../../src'
import { openTensorFile } from '../../../src/weights/safetensors'
import { writeImages } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const network = (layer: string, name = 'resnet50') =>
  model({
    name,
    input: [2, 3, 16, 16],
    layers: [named('conv1', conv2d({ out: 4, k: 3, p: 1 })), relu, named('avgpool', globalAvgPool), named(layer, linear({ out: 2 }))]
  })

const training = (options: Partial<TrainOptions>): TrainOptions => ({
  ...{ model: network('fc'), data: at('images'), steps: 4, device: 'reference', threads: 1 },
  ...options
})
const rate = (prefix: string) => ({ paramGroup: [`${prefix}:rate=2`] })

test.before(() => writeImages(at('images')))

test('the ResNets of today have the name of torchvision', () =>
  assert.equal(
    resnet50({ classes: 2 })
      .layers.flatMap(({ op, args }) => (op === 'named' ? [(args as { name: string }).name] : []))
      .slice(-2),
    ['avgpool', 'fc']
  ))

test('a training goes on from a state of then, to the numbers that it would have reached', async () => {
  const then = { model: network('classifier'), optimizer: 'adam', state: at('state'), ...rate('classifier') } as const
  await valueOf(train(training({ ...then, steps: 2, save: at('then') })))
  const notices: string[] = []
  const now = {
    optimizer: 'adam',
    state: at('state'),
    resume: true,
    ...rate('fc'),
    onNotice: (said: string) => void notices.push(said)
  } as const
  const resumed = await valueOf(train(training({ ...now, save: at('now') })))
  assert.is(notices[0], `${at('state')} has earlier names of layers; states from here on have today's`)
  const whole = await valueOf(train(training({ ...then, state: at('other'), save: at('whole') })))
  assert.equal(resumed.loss, whole.loss)
  const [found, expected] = [await weightsOf(at('now')), await weightsOf(at('whole'))]
  assert.equal([...found.keys()].slice(-2), ['fc.weight', 'fc.bias'])
  assert.equal([...found.values()], [...expected.values()])
  notices.length = 0
  await valueOf(train(training({ ...now, steps: 5 })))
  assert.not.ok(
    notices.some((notice) => notice.includes('earlier')),
    notices.join()
  )
})

test('a state of another network is still refused', async () => {
  const options = { state: at('unlike'), steps: 1 }
  await valueOf(train(training({ ...options, model: network('classifier', 'own') })))
  const { message } = await failureOf(train(training({ ...options, model: network('fc', 'own'), resume: true })))
  assert.match(message, /the hash of the layers and the loss was \w+ in the training that it holds and is \w+ now/)
})

test('weights of then are read under the names of now', async () => {
  const notices: string[] = []
  const options = { weights: at('then'), save: at('read'), steps: 1, lr: 1e-300, onNotice: (said: string) => void notices.push(said) }
  const { weights } = await valueOf(train(training(options)))
  assert.is(weights!.loaded.length, 4)
  assert.equal((await weightsOf(at('read'))).get('fc.weight'), (await weightsOf(at('then'))).get('classifier.weight'))
  assert.equal(notices, [`${at('then')}: has earlier names of resnet50: classifier.weight (now fc.weight), classifier.bias (now fc.bias)`])
  const { message } = await failureOf(train(training({ ...options, model: network('fc', 'own') })))
  assert.match(
    message,
    /lacks fc\.weight \[2, 4\], which own needs \(it has classifier\.weight of this shape, which own has not\): give --new-head/
  )
})

test("weights of a DenseNet are read from torchvision's file, whose names have more dots", async () => {
  const layer = <const N extends number>(number: N) =>
    seq(`denselayer${number}`, [
      named('norm1', batchNorm()),
      relu,
      named('conv1', conv2d({ out: 4, k: 3, p: 1 })),
      named('norm2', batchNorm())
    ])
  const dense = model({
    name: 'densenet121',
    input: [2, 3, 16, 16],
    layers: [seq('features', [layer(1), layer(2)]), globalAvgPool, named('classifier', linear({ out: 2 }))]
  })
  const options = { model: dense, steps: 1, lr: 1e-300 }
  await valueOf(train(training({ ...options, save: at('dense') })))
  const published = (name: string): string => name.replace(/(norm|conv)(\d)/, '$1.$2')
  const [expected, { tensors }] = [await weightsOf(at('dense')), await valueOf(openTensorFile(at('dense')))]
  await valueOf(
    writeTensorFile(
      at('published'),
      [...expected].map(([name, data]) => ({ name: published(name), type: 'F64', shape: tensors.get(name)!.shape, data }))
    )
  )
  const notices: string[] = []
  const { weights } = await valueOf(
    train(training({ ...options, weights: at('published'), save: at('read'), onNotice: (said: string) => void notices.push(said) }))
  )
  assert.is(weights!.loaded.length, expected.size)
  assert.is(
    notices[0],
    `${at('published')}: has earlier names of densenet121: ${['weight', 'bias', 'running_mean']
      .map((part) => `features.denselayer1.norm.1.${part} (now features.denselayer1.norm1.${part})`)
      .join(', ')}, and 17 more`
  )
})

test('a plan of then is a plan of now', async () => {
  const common = { device: 'reference', threads: 1 } as const
  await valueOf(plan({ ...common, model: network('classifier'), strategy: 'plain', out: at('plan.json') }))
  const { strategy } = await valueOf(plan({ ...common, model: network('fc'), plan: at('plan.json') }))
  assert.is(strategy, 'plain')
  const { message } = await failureOf(plan({ ...common, model: network('head'), plan: at('plan.json') }))
  assert.match(message, /have other names than when the plan was made/)
})

test.run()
