import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { flatLayers, trace, type Model } from '../../dsl'
import { builtIn, darknet19, vgg16, type Head } from '../../models'
import { buildGraph, isLearnable, type Parameter } from '../../staging'
import { compile, exportedTypes } from './compile'

/** Weights, biases and running statistics of a model for two images of 224 x 224. */
const stateOf = (model: Model): readonly Parameter[] => {
  const graph = buildGraph(model, [2, 3, 224, 224])
  if (E.isLeft(graph)) throw new Error(graph.left.message)
  return graph.right.parameters
}

const elements = ({ shape }: Parameter): number => shape.reduce((product, extent) => product * extent, 1)
const learnable = (model: Model): number =>
  stateOf(model)
    .filter(isLearnable)
    .reduce((total, parameter) => total + elements(parameter), 0)

const named = (model: Model, ops: readonly string[]): readonly string[] =>
  flatLayers(model.layers).flatMap(({ name, op }) => (ops.includes(op) ? [name] : []))

const models = suite('models')

/** state_dicts.py says what it holds. */
const golden = JSON.parse(readFileSync(join(__dirname, 'state_dicts.json'), 'utf8')) as Readonly<
  Record<string, { readonly parameters: number; readonly tensors: number; readonly sha256: string }>
>

models('all but one are known to state_dicts.py', () =>
  assert.equal(
    Object.keys(builtIn).filter((name) => !(name in golden)),
    ['darknet19']
  )
)

for (const [name, expected] of Object.entries(golden))
  models(`${name} holds tensors of torchvision's names and shapes`, () => {
    const state = stateOf(builtIn[name]!({ classes: 1000, head: 'classic' }))
    const lines = state.map((parameter) => `${parameter.name} ${parameter.shape.join('x')}\n`).sort()
    assert.is(
      state.filter(isLearnable).reduce((total, parameter) => total + elements(parameter), 0),
      expected.parameters
    )
    assert.is(state.length, expected.tensors)
    assert.is(createHash('sha256').update(lines.join('')).digest('hex'), expected.sha256, lines.join(''))
  })

models('with global average pooling only the linear layers differ', () => {
  const linear = ['classifier.weight', 'classifier.bias']
  for (const name of Object.keys(golden).filter((one) => !/^(deeplab|unet)/.test(one))) {
    const [gap, classic] = (['gap', 'classic'] satisfies readonly Head[]).map((head) => stateOf(builtIn[name]!({ classes: 10, head })))
    const features = classic!.filter((parameter) => !/^(classifier|fc)\./.test(parameter.name))
    assert.equal(gap!.slice(0, -2), features, name)
    assert.equal(
      gap!.slice(-2).map((parameter) => parameter.name),
      linear,
      name
    )
  }
})

models('dropout stands where torchvision has it', () => {
  const dropouts = (name: string): readonly string[] => named(builtIn[name]!({ classes: 10, head: 'classic' }), ['dropout'])
  assert.equal(dropouts('vgg16'), ['classifier.2', 'classifier.5'])
  assert.equal(dropouts('alexnet'), ['classifier.0', 'classifier.3'])
  assert.equal(dropouts('inception_v3'), ['dropout'])
  assert.equal(dropouts('deeplabv3_resnet50'), ['classifier.0.project.3'])
  assert.equal(dropouts('densenet121'), [])
})

models('darknet19 has 18 biased convolutions before its head, five pools and slope 0.1', () => {
  const model = darknet19({ classes: 1000 })
  assert.is(named(model, ['conv2d']).length, 18)
  assert.is(named(model, ['maxPool2d']).length, 5)
  assert.is(learnable(model), 20835176)
  assert.equal([...new Set(flatLayers(model.layers).flatMap(({ op, args }) => (op === 'leakyRelu' ? [args] : [])))], [{ slope: 0.1 }])
  assert.is(learnable(darknet19({ classes: 1000, head: 'classic' })), 20835176)
})

models('every built-in model takes both heads, and scores images or pixels', () => {
  for (const [name, make] of Object.entries(builtIn))
    for (const head of ['gap', 'classic'] satisfies readonly Head[]) {
      const traced = trace(make({ classes: 7, head }).layers, [2, 3, 224, 224])
      assert.ok(E.isRight(traced), name)
      assert.equal(traced.right.at(-1)!.output, /^(deeplab|unet)/.test(name) ? [2, 7, 224, 224] : [2, 7])
    }
})

models('features take images whose sides do not divide', () => {
  for (const [name, make] of Object.entries(builtIn)) {
    const traced = trace(make({ classes: 3, head: 'gap' }).layers, [2, 3, 197, 211])
    const output = E.isLeft(traced) ? traced.left : traced.right.at(-1)!.output
    if (name.startsWith('unet')) assert.is(output, 'concat: concat: the branches differ, 2x512x24x26 and 2x512x24x26')
    else assert.equal(output, name.startsWith('deeplab') ? [2, 3, 197, 211] : [2, 3])
  }
})

models('the classic heads of VGG and AlexNet need 224 x 224', () => {
  const refused = (name: string) => trace(builtIn[name]!({ classes: 10, head: 'classic' }).layers, [1, 3, 512, 512])
  assert.equal(refused('vgg16'), E.left('classifier.0: linear: takes 25088 features, not 131072'))
  assert.equal(refused('vgg16_bn'), E.left('classifier.0: linear: takes 25088 features, not 131072'))
  assert.equal(refused('alexnet'), E.left('classifier.1: linear: takes 9216 features, not 57600'))
  assert.ok(E.isRight(trace(vgg16({ classes: 10, head: 'gap' }).layers, [1, 3, 512, 512])))
})

models.run()

const types = suite('types of models')

/** A busy machine only adds time, so the best of some runs counts. */
const checked = (text: string, instantiations: number, seconds: number): ReadonlyMap<string, string> => {
  const runs = [1, 2].map(() => compile([], { 'test/dsl/typed-models.ts': text }))
  const { mistakes, instantiations: found, program } = runs[0]!
  assert.equal(mistakes, [])
  assert.ok(found < instantiations, `${found} instantiations`)
  const fastest = Math.min(...runs.map((run) => run.seconds))
  assert.ok(fastest < seconds, `${fastest} s`)
  return exportedTypes(program, 'test/dsl/typed-models.ts')
}

types('all models together: the shape of their scores, under 10 s', () => {
  const names = Object.keys(builtIn)
  const found = checked(
    `
    import { input, net, type ShapeOf } from '../../dsl'
    import { ${names.join(', ')} } from '../../models'
    const images = input([2, 3, 224, 224])
    ${names
      .map(
        (name) => `
    const scores_${name} = net(images, ${name}({ classes: 5 }).layers)
    export type ${name} = ShapeOf<typeof scores_${name}>`
      )
      .join('')}`,
    900_000,
    10
  )
  for (const name of names) assert.is(found.get(name), `readonly [2, 5${/^(deeplab|unet)/.test(name) ? ', 224, 224' : ''}]`, name)
})

types('ResNet-152 with byte sums', () => {
  const found = checked(
    `
    import { checkpointWithin, input, net, type HeldBytes } from '../../dsl'
    import { resnet152 } from '../../models'
    const scores = net(input([1, 3, 8192, 8192]), resnet152({ classes: 1000, head: 'classic' }).layers)
    export type Held = HeldBytes<typeof scores>
    export const kept = net(scores, [checkpointWithin(1e15)])`,
    900_000,
    10
  )
  const traced = trace(builtIn['resnet152']!({ classes: 1000, head: 'classic' }).layers, [1, 3, 8192, 8192])
  assert.ok(E.isRight(traced))
  console.log(found.get('Held'))
})

types.run()
