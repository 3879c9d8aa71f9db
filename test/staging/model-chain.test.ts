import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { avgPool2d, dropout, flatten, leakyRelu, linear, maxPool2d, model, relu, type AnyLayer } from '../../dsl'
import { vgg11 } from '../../models'
import {
  buildChain,
  buildRequestGraph,
  computeMilliseconds,
  peakBytes,
  referenceModel,
  stage,
  type ModelChain,
  type StageRequest
} from '../../staging'
import { must } from '../must'
import { convolutions } from './convolutions'

const requestOf = (layers: readonly AnyLayer[], input: readonly number[]): StageRequest => ({
  model: model({ name: 'net', layers }),
  input,
  device: referenceModel('float32'),
  strategy: 'plain',
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
})

const made = (request: StageRequest): ModelChain => buildChain(must(buildRequestGraph(request)), request)

const nets: readonly (readonly [name: string, request: StageRequest])[] = [
  ['convolutions', requestOf(convolutions, [2, 3, 96, 64])],
  [
    'a flat head',
    requestOf(
      [maxPool2d({ k: 2 }), leakyRelu({}), flatten, linear({ out: 50 }), relu, dropout({ rate: 0.5 }), linear({ out: 4 })],
      [3, 3, 16, 16]
    )
  ],
  ['average pools', requestOf([...convolutions.slice(0, 2), avgPool2d({ k: 2 }), ...convolutions.slice(2)], [1, 3, 64, 64])],
  ['vgg11', { ...requestOf([], [1, 3, 224, 224]), model: vgg11({ classes: 10, head: 'classic' }) }]
]

for (const [name, request] of nets)
  test(`${name}: the chain takes the time and the memory of plain`, () => {
    const { chain, residentBytes } = made(request)
    const { plainPeakBytes, stepMilliseconds } = must(stage(request)).predicted
    // Plain zeroes the loss first, which is no stage's.
    const zero = request.device.milliseconds({ kind: 'zero', bytes: 16 })
    const difference = stepMilliseconds - zero - computeMilliseconds(chain)
    assert.ok(Math.abs(difference) < 1e-5, `${difference} ms`)
    // A chain holds x_i until B_i has ended, and both gradients beside, where plain frees what is
    // read no more.
    const whole = peakBytes(chain) + residentBytes
    assert.ok(whole > 0.98 * plainPeakBytes && whole < 1.3 * plainPeakBytes, `${whole} and ${plainPeakBytes}`)
  })

test('a stage is an op with what works in place after it; indices go with the output of their pool', () => {
  const { chain } = made(nets[0]![1])
  assert.equal(
    chain.stages.map(({ name }) => name),
    ['0', '2', '4', '5', '7', '8', 'loss']
  )
  const image = 2 * 96 * 64 * 4
  assert.equal(
    chain.stages.map(({ x }) => x),
    [3 * image, 16 * image, 16 * image, 8 * image, 8 * image, 2 * 32 * 4, 2 * 2 * 4]
  )
  assert.equal([chain.stages[0]!.y, chain.output], [0, { x: 0, y: 0 }])
  assert.ok(chain.stages.every(({ u_F, u_B }) => u_F > 0 && u_B > 0))
  assert.is(chain.beta, 5e9)
})

test('what is frozen has no gradient and takes no backward', () => {
  const [, request] = nets[0]!
  const { chain } = made({
    ...request,
    objective: {
      kind: 'train',
      optimizer: { kind: 'adam', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 },
      groups: [{ prefix: '0', frozen: true }]
    }
  })
  assert.equal([chain.stages[0]!.u_B, chain.stages[1]!.y], [0, 0])
  assert.ok(chain.stages[1]!.u_B > 0 && chain.stages[2]!.y > 0)
})

test('a layer that refuses its input is named', () => {
  const refused = buildRequestGraph(requestOf(convolutions, [1, 3, 1, 1]))
  assert.ok(isLeft(refused) && /maxPool2d: the kernel 2x2 is larger/.test(refused.left.message))
})

test.run()
