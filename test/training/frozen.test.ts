import fc from 'fast-check'
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool } from '../../dsl'
import { builtIn } from '../../models'
import {
  referenceModel,
  stage,
  strategyNames,
  type Objective,
  type ParameterGroup,
  type StageRequest,
  type StrategyName
} from '../../staging'
import { assertTensorsClose } from '../properties/random-execution'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { must } from '../must'
import { runSections, update } from './execute'
import { learnable, optimizers, randomTraining } from './random-training'

const optimizer = optimizers[1]!

test('frozen parameters keep every bit, the others learn as if nothing were frozen, and nothing costs more', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, execution, batches } = randomTraining(seed, { dropout: true, batchStatistics: true })
      const { graph, ...one } = execution(2)
      const names = learnable(graph)
      const spared = draw(0, names.length - 1)
      // A prefix of the net, or any of its parameters.
      const prefix = draw(0, 1) === 1
      const frozen = names.filter((_, index) => index !== spared && (prefix ? index < spared : draw(0, 1) === 1))
      const groups = frozen.map((name): ParameterGroup => ({ prefix: name, frozen: true }))
      const actions = update(0.1, ...batches(1, 2))
      const accumulate = { accumulate: draw(1, 2) }
      for (const decisions of [{}, { segments: randomSegments(draw, graph) }, { strategy: 'chen' as const }]) {
        const all = await runSections({ ...one, ...decisions }, { kind: 'train', optimizer, ...accumulate }, actions)
        const some = await runSections({ ...one, ...decisions }, { kind: 'train', optimizer, ...accumulate, groups }, actions)
        const kept = [...all.tensors].filter(([name]) => !frozen.some((one) => name === one || name === `velocity.${one}`))
        const learnt = new Map([...some.tensors].filter(([name]) => !frozen.includes(name)))
        assertTensorsClose(learnt, new Map(kept), 1e-13)
        assert.equal(some.losses, all.losses)
        for (const name of frozen) assert.equal([...some.tensors.get(name)!], [...(one.weights.get(name) as Float64Array)], name)
        // A bias that learns alone takes its weight's gradient along.
        const alone = frozen.map((name) => name.replace('.weight', '.bias')).some((bias) => names.includes(bias) && !frozen.includes(bias))
        assert.ok(alone || some.staged.program.peakBytes <= all.staged.program.peakBytes, 'frozen parameters cost memory')
        assert.ok(some.measuredPeakBytes <= some.staged.program.peakBytes)
      }
    }),
    propertyRuns(100)
  )
})

const request = (strategy: StrategyName, groups: readonly ParameterGroup[], rest: Partial<StageRequest> = {}): StageRequest => ({
  model: builtIn['vgg16']!({ classes: 2, head: 'gap' }),
  input: [1, 3, 96, 96],
  device: referenceModel('float32'),
  strategy,
  objective: { kind: 'train', optimizer, groups },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] },
  ...rest
})

const staged = (wanted: StageRequest) => must(stage(wanted))

const features: readonly ParameterGroup[] = [{ prefix: 'features', frozen: true }]

for (const strategy of strategyNames)
  test(`a frozen net of features takes less memory and time: ${strategy}`, () => {
    const [all, some] = [staged(request(strategy, [])), staged(request(strategy, features))]
    const weights = all.graph.parameters.filter(({ name }) => name.startsWith('features'))
    const states = 4 * weights.reduce((sum, { shape }) => sum + shape.reduce((product, extent) => product * extent, 1), 0)
    assert.ok(all.program.peakBytes - some.program.peakBytes >= states, 'the optimizer keeps state of frozen parameters')
    assert.ok(some.predicted.stepMilliseconds < all.predicted.stepMilliseconds / 2)
    assert.equal(
      some.program.persistentTensors.filter(({ role }) => role === 'velocity').map(({ name }) => name),
      ['velocity.classifier.weight', 'velocity.classifier.bias']
    )
  })

test('where features are frozen, plans are found for budgets that their training does not fit', () => {
  const least = (groups: readonly ParameterGroup[]): number => {
    const refused = stage(request('sft', groups, { budget: { bytes: 1 << 20 } }))
    assert.ok(isLeft(refused))
    return isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0
  }
  const needed = least(features)
  assert.ok(needed < least([]) / 1.9)
  const { program, plan } = staged(request('sft', features, { budget: { bytes: needed } }))
  assert.ok(program.peakBytes <= needed)
  assert.ok(plan.segments.some(({ grid }) => grid.H * grid.W > 1))
})

test('where only running statistics are not frozen there is nothing to train', () => {
  const refused = stage({
    ...request('plain', []),
    model: { name: 'normalised', layers: [conv2d({ out: 4, k: 3 }), batchNorm(), globalAvgPool] },
    objective: { kind: 'train', optimizer, groups: ['0', '1.weight', '1.bias'].map((prefix) => ({ prefix, frozen: true })) }
  })
  assert.match(isLeft(refused) ? refused.left.message : '', /^normalised: every parameter is frozen, so there is nothing to train/)
})

const refusals: readonly (readonly [string, Objective, string])[] = [
  [
    'everything frozen',
    { kind: 'train', optimizer, groups: [{ prefix: '', frozen: true }] },
    'vgg16: every parameter is frozen, so there is nothing to train; leave at least one out of the frozen groups.'
  ],
  [
    'a group of nothing',
    {
      kind: 'train',
      optimizer,
      groups: [
        { prefix: 'features.4', frozen: true },
        { prefix: 'feature', rate: 2 }
      ]
    },
    'vgg16: no layer or parameter is called features.4, as what is frozen asks; the first is features.0.weight, the last classifier.bias.'
  ],
  [
    'the beginning of a name',
    { kind: 'train', optimizer, groups: [{ prefix: 'feature', rate: 2 }] },
    'vgg16: no layer or parameter is called feature, as a parameter group asks: take whole parts of a name, such as features; the first is features.0.weight, the last classifier.bias.'
  ],
  [
    'half a micro-batch',
    { kind: 'train', optimizer, accumulate: 1.5 },
    'vgg16: gradients cannot be accumulated over 1.5 micro-batches; take a whole number above zero.'
  ],
  [
    'a norm of nothing',
    { kind: 'train', optimizer, clipNorm: 0 },
    'vgg16: gradients cannot be clipped to a norm of 0; take one above zero.'
  ],
  [
    'a rate below zero',
    { kind: 'train', optimizer, groups: [{ prefix: 'classifier', rate: -1 }] },
    'vgg16: the parameter group classifier has a rate of -1 and a weight decay of 0.01; take numbers from 0 upwards.'
  ]
]

for (const [name, objective, message] of refusals)
  test(`refused in one sentence: ${name}`, () => {
    const refused = stage({ ...request('plain', []), objective })
    assert.ok(isLeft(refused))
    if (isLeft(refused)) assert.equal(refused.left, { code: 'input', message })
  })

test.run()
