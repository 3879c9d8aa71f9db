import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { checkpointWithin, type Layers, type Model, type Shape } from '../../dsl'
import { flatLayers, trace } from '../../dsl/internal'
import { builtIn, darknet19, vgg16, type Head } from '../../models'
import { buildGraph } from '../../staging'
import { isTrainable, type Parameter } from '../../staging/graph/graph'
import { must } from '../must'
import { compile, exportedTypes, type Compilation } from './compile'

/** Weights, biases and running statistics of a model for two images of 224 x 224. */
const stateOf = (model: Model): readonly Parameter[] => must(buildGraph(model, [2, 3, 224, 224])).parameters

const elements = ({ shape }: Parameter): number => shape.reduce((product, extent) => product * extent, 1)
const learnable = (model: Model): number =>
  stateOf(model)
    .filter(isTrainable)
    .reduce((total, parameter) => total + elements(parameter), 0)

const named = (model: Model, ops: readonly string[]): readonly string[] =>
  flatLayers(model.layers).flatMap(({ name, op }) => (ops.includes(op) ? [name] : []))

/** Networks that score every pixel; the others score images. */
const scoresPixels = (name: string): boolean => /^(deeplab|fcn|unet)/.test(name)

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
      state.filter(isTrainable).reduce((total, parameter) => total + elements(parameter), 0),
      expected.parameters
    )
    assert.is(state.length, expected.tensors)
    assert.is(createHash('sha256').update(lines.join('')).digest('hex'), expected.sha256, lines.join(''))
  })

models('with global average pooling only the linear layers differ', () => {
  for (const name of Object.keys(golden).filter((one) => !scoresPixels(one))) {
    const [gap, classic] = (['gap', 'classic'] satisfies readonly Head[]).map((head) => stateOf(builtIn[name]!({ classes: 10, head })))
    const features = classic!.filter((parameter) => !/^(classifier|fc)\./.test(parameter.name))
    assert.equal(gap!.slice(0, -2), features, name)
    assert.equal(
      gap!.slice(-2).map((parameter) => parameter.name),
      /^(resnet|inception)/.test(name) ? ['fc.weight', 'fc.bias'] : ['classifier.weight', 'classifier.bias'],
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
  assert.equal(dropouts('fcn_resnet50'), ['classifier.3'])
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
      assert.equal(traced.right.at(-1)!.output, scoresPixels(name) ? [2, 7, 224, 224] : [2, 7])
    }
})

models('features take images whose sides do not divide', () => {
  for (const [name, make] of Object.entries(builtIn)) {
    const traced = trace(make({ classes: 3, head: 'gap' }).layers, [2, 3, 197, 211])
    const output = E.isLeft(traced) ? traced.left : traced.right.at(-1)!.output
    if (name.startsWith('unet')) assert.is(output, 'concat1: the branches differ, 2x256x49x52 and 2x256x48x52')
    else assert.equal(output, scoresPixels(name) ? [2, 3, 197, 211] : [2, 3])
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

/**
 * The types that a text exports. A busy machine only adds time, so a slow run has a second chance.
 */
const checked = (text: string, instantiations: number, seconds: number): ReadonlyMap<string, string> => {
  const once = (): Compilation => compile([], { 'test/dsl/typed-models.ts': text }, {}, false)
  const first = once()
  assert.equal(first.mistakes, [])
  assert.ok(first.instantiations < instantiations, `${first.instantiations} instantiations`)
  if (first.seconds >= seconds) {
    const second = once()
    assert.ok(second.seconds < seconds, `${first.seconds} s, then ${second.seconds} s`)
  }
  return exportedTypes(first.program, 'test/dsl/typed-models.ts')
}

/** What a segment of the whole model writes, in the words of the mark that refuses it. */
const heldBytes = (layers: Layers, input: Shape): string =>
  pipe(
    trace([...layers, checkpointWithin(1)], input),
    E.match(
      (sentence) => /holds (\d+) bytes/.exec(sentence)?.[1] ?? sentence,
      () => 'fits one byte'
    )
  )

types('all models together: the shape of their scores, under 30 s', () => {
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
    1_764_000,
    30
  )
  for (const name of names) assert.is(found.get(name), `readonly [2, 5${scoresPixels(name) ? ', 224, 224' : ''}]`, name)
})

for (const [name, ceiling] of [
  ['resnet152', 380_000],
  ['densenet121', 510_000],
  ['inception_v3', 330_000],
  ['deeplabv3_resnet101', 310_000],
  ['deeplabv3plus', 361_000],
  ['unet_bn', 190_000],
  ['vgg19_bn', 80_000]
] as const)
  types(`${name} with byte sums`, () => {
    const found = checked(
      `
      import { input, net, type HeldBytes } from '../../dsl'
      import { ${name} } from '../../models'
      const scores = net(input([2, 3, 8192, 8192]), ${name}({ classes: 1000 }).layers)
      export type Bytes = HeldBytes<typeof scores>`,
      ceiling,
      10
    )
    assert.is(found.get('Bytes'), heldBytes(builtIn[name]!({ classes: 1000 }).layers, [2, 3, 8192, 8192]))
  })

types('a size of run time makes number', () => {
  const found = checked(
    `
    import { input, net, type ShapeOf } from '../../dsl'
    import { densenet121, resnet50 } from '../../models'
    const images = input([2, 3, Number(process.argv[2]), 224])
    const scores = [net(images, resnet50({ classes: Number(process.argv[3]) }).layers), net(images, densenet121({ classes: 5 }).layers)] as const
    export type ResNet = ShapeOf<(typeof scores)[0]>
    export type DenseNet = ShapeOf<(typeof scores)[1]>`,
    264_000,
    10
  )
  assert.equal([found.get('ResNet'), found.get('DenseNet')], ['readonly [2, number]', 'readonly [2, 5]'])
})

types.run()
