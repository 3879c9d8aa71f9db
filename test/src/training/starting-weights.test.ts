/** Weights that a training starts from: of other classes, with parameters drawn anew. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, flatten, globalAvgPool, linear, model, named, relu, seq } from '../../../dsl'
import { type StartingWeights, type TrainOptions, gradients, predict, train, writeTensorFile } from '../../../src'
import type { TensorData } from '../../../src/weights/safetensors'
import { compiledCommand } from '../compiled-command'
import { writeImages } from '../example-images'
import { filledTensor } from '../filled-tensor'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { weightsOf } from '../weights-of'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

const network = (name: string, classes: number, extra = false) =>
  model({
    name,
    input: [2, 3, 16, 16],
    layers: [
      seq('features', [
        conv2d({ out: 4, k: 3, p: 1 }),
        relu,
        conv2d({ out: 4, k: 3, p: 1 }),
        ...(extra ? [relu, conv2d({ out: 4, k: 1 })] : [])
      ]),
      named('avgpool', globalAvgPool),
      named('fc', linear({ out: classes }))
    ]
  })

const tensor = (name: string, shape: readonly number[]): TensorData => filledTensor(name, shape, 0.25)
const features = [0, 2].flatMap((index) => [
  tensor(`features.${index}.weight`, [4, index === 0 ? 3 : 4, 3, 3]),
  tensor(`features.${index}.bias`, [4])
])
const ofClasses = (classes: number): readonly TensorData[] => [...features, tensor('fc.weight', [classes, 4]), tensor('fc.bias', [classes])]

const training = (options: Partial<TrainOptions>): TrainOptions => ({
  ...{ model: network('net', 2), data: at('images'), steps: 1, lr: 1e-300, device: 'reference', threads: 1 },
  ...options
})
const sentence = async (options: Partial<TrainOptions>): Promise<string> => (await failureOf(train(training(options)))).message

/** Equal, but for what a step at the smallest learning rate makes of zeros. */
const assertClose = (found: Float64Array, expected: Float64Array): void => {
  assert.is(found.length, expected.length)
  assert.ok(
    found.every((value, index) => Math.abs(value - expected[index]!) < 1e-200),
    `${found} is not ${expected}`
  )
}

test.before(async () => {
  await writeImages(at('images'))
  await valueOf(writeTensorFile(at('ten'), ofClasses(10)))
  await valueOf(writeTensorFile(at('two'), ofClasses(2)))
  await valueOf(writeTensorFile(at('other-head'), [...features, tensor('head.0.weight', [8, 4]), tensor('head.2.weight', [10, 8])]))
  await valueOf(writeTensorFile(at('deeper'), [...ofClasses(2), tensor('features.4.weight', [4, 4, 1, 1]), tensor('features.4.bias', [4])]))
})

test('a new head is drawn as a training without weights draws it; all else is read', async () => {
  let told: StartingWeights | undefined
  const files = { weights: at('ten'), save: at('new-head'), onWeights: (weights: StartingWeights) => void (told = weights) }
  const { weights } = await valueOf(train(training({ ...files, newHead: true })))
  await valueOf(train(training({ save: at('drawn') })))
  const [saved, drawn, read] = [await weightsOf(at('new-head')), await weightsOf(at('drawn')), await weightsOf(at('ten'))]
  for (const [name, values] of saved) assertClose(values, (name.startsWith('fc.') ? drawn : read).get(name)!)
  assert.equal(weights, told)
  assert.equal(weights, {
    path: at('ten'),
    loaded: features.map(({ name, shape }) => ({ name, shape })),
    drawn: [
      { name: 'fc.weight', shape: [2, 4], stored: [10, 4] },
      { name: 'fc.bias', shape: [2], stored: [10] }
    ],
    leftOver: []
  })
})

test('a reset draws parameters by whole parts of their names, and leaves out what only the file has', async () => {
  const { weights } = await valueOf(train(training({ weights: at('ten'), reset: ['fc', 'features.2.bias'], save: at('reset') })))
  assert.equal(
    weights!.drawn.map(({ name }) => name),
    ['features.2.bias', 'fc.weight', 'fc.bias']
  )
  assertClose((await weightsOf(at('reset'))).get('features.2.bias')!, new Float64Array(4))
  const deeper = await valueOf(train(training({ weights: at('deeper'), reset: ['features.4'] })))
  assert.equal([deeper.weights!.loaded.length, deeper.weights!.drawn.length], [6, 0])
  assert.equal(
    deeper.weights!.leftOver.map(({ name }) => name),
    ['features.4.weight', 'features.4.bias']
  )
})

test('heads of other names are left over with a new head; a deeper network is still another network', async () => {
  const { weights } = await valueOf(train(training({ weights: at('other-head'), newHead: true })))
  assert.equal(weights!.leftOver, [
    { name: 'head.0.weight', shape: [8, 4] },
    { name: 'head.2.weight', shape: [10, 8] }
  ])
  assert.is(
    await sentence({ weights: at('deeper'), newHead: true }),
    `${at('deeper')}: holds features.4.weight, which net has not: give the weights of net, or --reset features.4 to leave that out`
  )
})

test('a state of a training is no weights, and the sentence says how it becomes some', async () => {
  const state = at('states')
  await valueOf(train(training({ state })))
  const path = join(state, 'step-1.safetensors')
  const expected = `${path}: is a state of a training, not weights: train with its folder as --state, --resume and --save writes those`
  assert.is(await sentence({ weights: path }), `--weights ${expected}`)
  await valueOf(train(training({ state, resume: true, save: at('of-state') })))
  await valueOf(train(training({ weights: at('of-state') })))
})

test('what does not fit names the option that draws it anew', async () => {
  const ofTen = `${at('ten')}: fc.weight is [10, 4] where net needs [2, 4]`
  assert.is(await sentence({ weights: at('ten') }), `${ofTen}: give --new-head to draw the last layer anew`)
  assert.is(
    await sentence({ weights: at('two'), model: network('net', 2, true) }),
    `${at('two')}: lacks features.4.weight [4, 4, 1, 1], which net needs: give the weights of net, or --reset features.4 to draw features.4 anew`
  )
  assert.is(
    await sentence({ weights: at('two'), reset: ['classifier'] }),
    `${at('two')}: --reset classifier names nothing in it or in net, whose first parameter is features.0.weight, the last fc.bias`
  )
  await valueOf(writeTensorFile(at('of-another'), [tensor('encoder.0.weight', [4, 3, 3, 3])]))
  assert.is(
    await sentence({ weights: at('of-another') }),
    `${at('of-another')}: holds encoder.0.weight and no parameter of net, whose first is features.0.weight: give the weights of net`
  )
  await valueOf(writeTensorFile(at('features'), features))
  assert.is(
    await sentence({ weights: at('features'), reset: ['features'] }),
    `${at('features')}: lacks fc.weight [2, 4], which net needs: give --new-head to draw the last layer anew`
  )
  await valueOf(writeTensorFile(at('renamed'), [...features, tensor('head.weight', [2, 4]), tensor('head.bias', [2])]))
  assert.is(
    await sentence({ weights: at('renamed') }),
    `${at('renamed')}: lacks fc.weight [2, 4], which net needs (it has head.weight of this shape, which net has not): give --new-head to draw the last layer anew`
  )
  const labels: TensorData = { name: 'fc.weight', type: 'I64', shape: [2, 4], data: new BigInt64Array(8) }
  await valueOf(writeTensorFile(at('integers'), [...features, labels, tensor('fc.bias', [2])]))
  assert.is(await sentence({ weights: at('integers') }), `${at('integers')}: fc.weight is I64; weights are F32, F64, F16 or BF16`)
  assert.is(await sentence({ newHead: true }), '--new-head needs --weights: give both')
  assert.is(await sentence({ reset: ['fc'] }), '--reset needs --weights: give both')
  const { message } = await failureOf(
    predict({ model: network('net', 2), weights: at('ten'), image: join(at('images'), 'dark', '0.png'), device: 'reference', threads: 1 })
  )
  assert.is(message, `${ofTen}: give a model of 10 classes (of a built-in one by --classes), or weights of 2`)
})

// Compared with all that it begins with, it would take hours.
test('a name that is all dots is refused at once', async () => {
  await valueOf(writeTensorFile(at('dots'), [tensor('a.'.repeat(2e6), [1])]))
  assert.match(await sentence({ weights: at('dots') }), /^.*dots: holds a\.a\.a\..* and no parameter of net, /)
})

test('where a linear layer reads another number of values, as behind flatten those of another size, prediction says so', async () => {
  const flat = model({ name: 'flat', layers: [conv2d({ out: 2, k: 1 }), flatten, linear({ out: 2 })] })
  await valueOf(
    writeTensorFile(at('flat'), [
      tensor('0.weight', [2, 3, 1, 1]),
      tensor('0.bias', [2]),
      tensor('2.weight', [2, 8]),
      tensor('2.bias', [2])
    ])
  )
  const { message } = await failureOf(
    predict({ model: flat, weights: at('flat'), image: join(at('images'), 'dark', '0.png'), device: 'reference', threads: 1 })
  )
  assert.match(
    message,
    /: 2\.weight is \[2, 8\] where flat needs \[2, (\d+)\]: the layers before it make \1 numbers of an image, not 8; where flatten is one of them, give an image of the size of the training, or take a model that pools$/
  )
  const pooled = model({ name: 'pooled', layers: [conv2d({ out: 2, k: 1 }), globalAvgPool, linear({ out: 2 })] })
  const other = await failureOf(
    predict({ model: pooled, weights: at('flat'), image: join(at('images'), 'dark', '0.png'), device: 'reference', threads: 1 })
  )
  assert.match(
    other.message,
    /: 2\.weight is \[2, 8\] where pooled needs \[2, 2\]: the layers before it make 2 numbers of an image, not 8; /
  )
})

for (const [by, wrapper] of [
  ['DataParallel', 'module.'],
  ['torch.compile and Lightning', 'model._orig_mod.']
] as const)
  test(`gradients too say that names are taken without what they all begin with: by ${by}`, async () => {
    await valueOf(
      writeTensorFile(
        at('wrapped'),
        ofClasses(2).map((one) => ({ ...one, name: `${wrapper}${one.name}` }))
      )
    )
    const target: TensorData = { name: 'target', type: 'I64', shape: [2], data: BigInt64Array.of(0n, 1n) }
    await valueOf(writeTensorFile(at('batch'), [tensor('input', [2, 3, 16, 16]), target]))
    const said: string[] = []
    const files = { weights: at('wrapped'), batch: at('batch'), out: at('gradients') }
    await valueOf(
      gradients({ model: network('net', 2), device: 'reference', threads: 1, ...files, onNotice: (sentence) => said.push(sentence) })
    )
    assert.equal(said, [`${at('wrapped')}: the names of its tensors are taken without "${wrapper}", with which they all begin`])
  })

test('safetensors are not written over the file of torch.save that they come from', async () => {
  await valueOf(writeTensorFile(at('two.pth'), ofClasses(2)))
  assert.match(await sentence({ weights: at('two.pth'), save: at('two.pth') }), /^--save .*two\.pth would be written over --weights/)
})

test('the command shows what it starts from in a table, on standard error beside JSON', async () => {
  const { runInTurn: run, smallModel } = compiledCommand()
  const names = ['0.weight', '0.bias', '4.weight', '4.bias']
  const shapes = [[4, 3, 3, 3], [4], [9, 4], [9]]
  await valueOf(writeTensorFile(at('nine'), [...names.map((name, index) => tensor(name, shapes[index]!)), tensor('aux.weight', [9])]))
  const args = ['train', smallModel, '--data', at('images'), '--steps', '1', '--weights', at('nine'), '--new-head']
  const table = (text: string): readonly (readonly string[])[] =>
    text.split('\n').flatMap((line) =>
      /^│ (read|drawn|left)/.test(line)
        ? [
            line
              .split('│')
              .slice(1, -1)
              .map((cell) => cell.trim())
          ]
        : []
    )
  const expected = [
    ['read', '2', '112', '0'],
    ['drawn anew', '2', '10', '4'],
    ['left over in the file', '1', '9', 'aux']
  ]
  const ended = await run(args)
  assert.equal(table(ended.stdout), expected, ended.stderr)
  const json = await run([...args, '--json'])
  assert.equal(table(json.stderr), expected)
  assert.equal(JSON.parse(json.stdout).weights.drawn[0], { name: '4.weight', shape: [2, 4], stored: [9, 4] })
})

test.run()
