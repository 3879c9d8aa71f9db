/** Whatever a program gives for options: a sentence with the code input, and nothing thrown. */
import { existsSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, dropout, named, parallel, relu, residual, resize, seq } from '../../../dsl'
import {
  type Dataset,
  bench,
  chain,
  compare,
  explain,
  gradients,
  offload,
  place,
  plan,
  planText,
  predict,
  profile,
  readDataset,
  train,
  writeTensorFile
} from '../../../src'
import type { Failure, Outcome } from '../../../src/failure'
import { builtIn } from '../../../models'
import { root } from '../command-line'
import { writeImages } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)

test.before(() => writeImages(at('images')))

const functions: Readonly<Record<string, (options: never) => Outcome<unknown>>> = {
  bench,
  chain,
  compare,
  explain,
  gradients,
  offload,
  place,
  plan,
  predict,
  profile,
  train
}

/** Of any function, with anything: it may neither throw nor reject. */
const failed = (name: string, ...given: readonly unknown[]): Promise<Failure> =>
  failureOf((functions[name] as unknown as (...given: readonly unknown[]) => Outcome<unknown>)(...given))

/** What each function needs, none of which is there. */
const needed: Readonly<Record<string, object>> = {
  bench: { model: small },
  chain: { model: small },
  compare: { model: small, budgets: ['50%'] },
  explain: { model: small },
  gradients: { model: small, weights: at('nowhere'), batch: at('nowhere'), out: at('out') },
  offload: { chain: at('nowhere.json'), memory: '50%' },
  place: { file: at('nowhere.csv') },
  plan: { model: small },
  predict: { model: small, weights: at('nowhere'), image: at('nowhere') },
  profile: { model: small, device: 'reference' },
  train: { model: small, data: at('nowhere') }
}

const input = async (failure: Promise<Failure>, sentence: RegExp): Promise<void> => {
  const { code, message } = await failure
  assert.match(message, sentence)
  assert.is(code, 'input', message)
  assert.not.match(message, /\n/)
}

test('options that are no object, or cannot be read', async () => {
  for (const name of Object.keys(functions)) {
    for (const [given, shown] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [3, '3'],
      ['vgg16', '"vgg16"'],
      [[small], '\\[.*'],
      [() => 3, 'a function']
    ] as const)
      await input(failed(name, given), new RegExp(`^${name} takes its options as one object, not ${shown}$`))
    const trap = Object.defineProperty({ ...needed[name] }, Object.keys(needed[name]!)[0]!, {
      enumerable: true,
      get: () => {
        throw new Error('sprung')
      }
    })
    await input(failed(name, trap), new RegExp(`^the options of ${name} cannot be read: sprung$`))
  }
})

test('an option that a function does not have is named, with the one that was likely meant', async () => {
  for (const name of Object.keys(functions))
    await input(failed(name, { ...needed[name], fastness: 3 }), new RegExp(`^${name} has no option fastness$`))
  for (const [name, option, meant] of [
    ['plan', 'budjet', 'budget'],
    ['plan', 'Budget', 'budget'],
    ['plan', 'exact-kernels', 'exactKernels'],
    ['plan', 'optimiser', 'optimizer'],
    ['train', 'clip_norm', 'clipNorm'],
    ['train', 'learningRate', 'lr'],
    ['train', 'epoch', 'epochs'],
    ['train', 'stepsPerEpoch', 'steps'],
    ['place', 'files', 'file'],
    ['compare', 'budget', 'budgets']
  ] as const)
    await input(failed(name, { ...needed[name], [option]: 1 }), new RegExp(`^${name} has no option ${option}; did you mean ${meant}\\?$`))
})

test('what is missing is named', async () => {
  for (const [name, options] of Object.entries(needed))
    for (const option of Object.keys(options).filter((one) => one !== 'device'))
      await input(failed(name, { ...options, [option]: undefined }), new RegExp(`^${option} is missing(: .*)?$`))
})

test('every option of every function is looked at: none takes what it cannot use', async () => {
  const wrongs: Readonly<Record<string, readonly (readonly [value: unknown, sentence: RegExp])[]>> = {
    model: [
      [null, /^model is null, not a model, or the name or path of one$/],
      [3, /^model is 3, not a model/],
      ['', /^model is "", not a model/],
      [{}, /^model: name is missing$/],
      [[], /^model: it holds no model$/]
    ],
    input: [
      ['1x3x8x8', /^input is "1x3x8x8", not 4 whole numbers above zero/],
      [[1, 3, 8, 2 ** 40], /product is at most 2\^40$/],
      [[1, 3, 8, Number.NaN], /^input is /]
    ],
    classes: [
      ['2', /^classes is "2", not a whole number from 1 to 1048576$/],
      [2 ** 31, /^classes is 2147483648, not/]
    ],
    head: [['linear', /^head is "linear", not one of gap, classic$/]],
    budget: [
      [Number.NaN, /^budget: "NaN" is not a size/],
      [null, /^budget: give a size such as 256MiB/],
      [{}, /^budget is \{\}, not a size/],
      [{ kind: 'bytes', bytes: -1 }, /^budget\.bytes is -1, not a whole number from 1 upwards$/],
      [{ kind: 'bytes', byte: 1 }, /^budget: a size has no field byte; did you mean bytes\?$/]
    ],
    hostBudget: [[true, /^hostBudget: give a size/]],
    hostBandwidth: [
      [0, /^hostBandwidth is 0, not a rate such as 2GB\/s/],
      ['fast', /^hostBandwidth: "fast" is not a rate/]
    ],
    device: [
      [7, /^device is 7, not one of cpu, cuda, reference, or the path of a \*\.json file$/],
      [{}, /^the device: name is missing/]
    ],
    precision: [['half', /^precision is "half", not one of float32/]],
    strategy: [['best', /^strategy is "best", not one of auto, plain/]],
    plan: [
      [7, /^plan is 7, not a plan, or the path of a plan file$/],
      [{}, /^plan: model is missing$/]
    ],
    threads: [[0, /^threads is 0, not a whole number from 1 to 1024$/]],
    exactKernels: [['yes', /^exactKernels is "yes", not true or false$/]],
    measure: [[1, /^measure is 1, not true, false or 'sample'$/]],
    seed: [
      [-1, /^seed is -1, not a whole number from 0 upwards$/],
      [2 ** 53, /^seed is 9007199254740992, not/]
    ],
    placement: [['gtbm', /^placement is "gtbm", not one of static, virtual$/]],
    pageSize: [[[], /^pageSize is \[\], not a size/]],
    optimizer: [['lion', /^optimizer is "lion", not one of sgd, adam, adamw$/]],
    momentum: [[1, /^momentum is 1, not a number from 0 up to, but not including, 1$/]],
    weightDecay: [['0', /^weightDecay is "0", not a number from 0 upwards$/]],
    accumulate: [
      [2 ** 40, /^accumulate is 1099511627776, not a whole number from 1 to 65536$/],
      [1.5, /^accumulate is 1\.5, not/]
    ],
    clipNorm: [[Infinity, /^clipNorm is Infinity, not a number above zero$/]],
    freeze: [
      ['x', /^freeze is "x", not a list of a text$/],
      [[3], /^freeze\[0\] is 3, not a text$/]
    ],
    paramGroup: [
      [['features:constructor=1'], /^paramGroup\[0\]: "features:constructor=1" is not a group of parameters/],
      [['features'], /^paramGroup\[0\]: "features" is not a group of parameters/],
      [[{ prefix: 'a', rat: 1 }], /^paramGroup\[0\]: a group of parameters has no field rat; did you mean rate\?$/]
    ],
    onKernel: [[3, /^onKernel is 3, not a function$/]],
    onSearch: [[3, /^onSearch is 3, not a function$/]],
    signal: [[{}, /^signal is \{\}, not an AbortSignal$/]]
  }
  const ofAll = Object.entries(wrongs).flatMap(([option, cases]) => cases.map(([value, sentence]) => [option, value, sentence] as const))
  const known: Readonly<Record<string, readonly string[]>> = {
    plan: Object.keys(wrongs),
    explain: Object.keys(wrongs),
    profile: Object.keys(wrongs).filter((option) => option !== 'measure'),
    bench: Object.keys(wrongs),
    train: Object.keys(wrongs),
    gradients: ['model', 'input', 'budget', 'device', 'plan', 'signal'],
    predict: ['model', 'budget', 'device', 'plan', 'signal'],
    compare: ['model', 'input', 'hostBudget', 'accumulate', 'freeze', 'onSearch', 'signal'],
    chain: ['model', 'input', 'device', 'freeze', 'hostBandwidth']
  }
  for (const [name, options] of Object.entries(known))
    for (const [option, value, sentence] of ofAll.filter(([option]) => options.includes(option)))
      await input(failed(name, { ...needed[name], [option]: value }), sentence)
})

test('options of one function or two', async () => {
  const data = at('images')
  const examples = [{ path: at('images/dark/0.png'), label: 0, origin: 'here' }]
  const labelled = (label: unknown): object => ({ examples: [...examples, { ...examples[0], label }], classes: 2 })
  const mask = { path: at('m.png'), height: 8, width: 8, counts: new Array(256).fill(0) }
  const cases: readonly (readonly [name: string, options: object, sentence: RegExp])[] = [
    ['train', { data: 3 }, /^data is 3, not a path, or what readDataset gives$/],
    ['train', { data: null }, /^data is null, not a path/],
    ['train', { data: '' }, /^data is "", not a path/],
    ['train', { data: { examples: [], classes: 2 } }, /^data: examples is \[\], not a list of at least 1/],
    ['train', { data: { classes: 2 } }, /^data: examples is missing$/],
    ['train', { data: labelled(0.5) }, /^data: examples\[1\]\.label is 0\.5, not a whole number from 0 to 1048575, or a mask$/],
    ['train', { data: labelled(Number.NaN) }, /^data: examples\[1\]\.label is NaN, not/],
    ['train', { data: labelled(-1) }, /^data: examples\[1\]\.label is -1, not/],
    ['train', { data: labelled('1') }, /^data: examples\[1\]\.label is "1", not/],
    ['train', { data: labelled({ ...mask, counts: [1] }) }, /^data: examples\[1\]\.label\.counts is \[1\], not a list of 256 /],
    ['train', { data: labelled(mask) }, /^data: its examples have labels or masks, not both$/],
    ['train', { data: { ...labelled(1), names: ['a'] } }, /^data: it has 1 names for 2 classes$/],
    ['train', { data, validation: {} }, /^validation: examples is missing$/],
    ['train', { data, validation: 0 }, /^validation is 0, not a path, a share above 0 and below 1, or a dataset$/],
    ['train', { data, steps: 2 ** 53 - 1 }, /^steps is 9007199254740991, not a whole number from 1 to 1000000000$/],
    ['train', { data, epochs: 1e300 }, /^--epochs 1e\+300 are 3e\+300 steps, over the 1000000000 that a training may have: give fewer$/],
    ['train', { data, warmup: 0.5 }, /^warmup is 0\.5, not a whole number from 0/],
    ['train', { data, schedule: { kind: 'step', every: 0, factor: 1 } }, /^schedule\.every is 0, not a whole number from 1 upwards$/],
    ['train', { data, schedule: { kind: 'linear' } }, /^schedule is \{"kind":"linear"\}, not a schedule, or its text$/],
    [
      'train',
      { data, colourJitter: { brightness: 2, contrast: 0, saturation: 0, hue: 0 } },
      /^colourJitter\.brightness is 2, not a number/
    ],
    ['train', { data, classWeights: [1, -1] }, /^classWeights\[1\] is -1, not a number from 0 upwards$/],
    ['train', { data, crop: [8] }, /^crop is \[8\], not 2 whole numbers above zero/],
    [
      'train',
      { data, input: [2 ** 20, 3, 8, 8], crop: [2 ** 20, 2 ** 20] },
      /^the input 1048576x3x1048576x1048576 is larger than anything/
    ],
    ['train', { data, flip: 'yes' }, /^flip is "yes", not true or false$/],
    ['train', { data, resume: 1, state: at('s') }, /^resume is 1, not true or false$/],
    ['train', { data, save: 3 }, /^save is 3, not a path$/],
    ['train', { data, metrics: '' }, /^metrics is "", not a path$/],
    ['train', { data, stateEvery: 0, state: at('s') }, /^stateEvery is 0, not a whole number from 1 upwards$/],
    ['train', { data, bestBy: 'f2', validation: 0.5 }, /^bestBy is "f2", not one of loss, accuracy, auc, iou, dice, kappa, f1, mae, r2$/],
    ['train', { data, onStep: 3 }, /^onStep is 3, not a function$/],
    ['bench', { steps: 1e12 }, /^steps is 1000000000000, not a whole number from 1 to 1000000000$/],
    ['bench', { breakdown: 'all' }, /^breakdown is "all", not true or false$/],
    ['plan', { evaluate: 1 }, /^evaluate is 1, not true or false$/],
    ['plan', { out: 7 }, /^out is 7, not a path$/],
    [
      'plan',
      { model: { name: 'wide', layers: [resize({ mode: 'nearest', scale: 1e7 })] }, input: [1, 3, 64, 64] },
      /^wide on 1x3x64x64: 0: its output 1x3x640000000x640000000 is larger than anything that can be planned\.$/
    ],
    ['predict', { input: [1, 3, 8, 8] }, /^--input: predict takes the whole image as it is; leave it out$/],
    ['predict', { image: Buffer.of(1) }, /^image is .*, not a path$/],
    ['gradients', { batch: [] }, /^batch is \[\], not a path$/],
    ['compare', { budgets: [] }, /^budgets is \[\], not a list of 1 to 1000 items, each a size such as/],
    ['compare', { budgets: new Array(1001).fill('50%') }, /^budgets is .*, not a list of 1 to 1000 /],
    ['compare', { budgets: '50%' }, /^budgets is "50%", not a list/],
    ['compare', { budgets: ['50%', 'much'] }, /^budgets\[1\]: "much" is not a size/],
    ['compare', { strategies: [] }, /^strategies: give a list of strategies, some of auto, plain/],
    ['compare', { strategies: 'plain' }, /^strategies: give a list/],
    ['offload', { chain: 3 }, /^chain is 3, not a chain, or the path of one$/],
    ['offload', { chain: {} }, /^the chain: name is missing/],
    ['offload', { memory: null }, /^memory: give a size/],
    ['offload', { strategy: 'best' }, /^strategy is "best", not one of greedy, dynprog, vdnn$/],
    ['offload', { slots: 1e9 }, /^slots is 1000000000, not a whole number from 1 to 10000$/],
    ['place', { capacity: '1GiB' }, /^capacity is "1GiB", not a whole number from 1 upwards$/],
    ['place', { placement: 'luck' }, /^placement is "luck", not one of static/],
    ['place', { placement: 'virtual', pageSize: '4KiB' }, /^pageSize is "4KiB", not a whole number from 1 upwards$/]
  ]
  for (const [name, options, sentence] of cases) await input(failed(name, { ...needed[name], ...options }), sentence)
})

test('models that are none say where', async () => {
  const anything = (...given: readonly unknown[]): unknown => (conv2d as unknown as (...given: readonly unknown[]) => unknown)(...given)
  let deep: unknown = relu
  for (let depth = 0; depth < 20_000; depth += 1) deep = { op: 'seq', args: { layers: [deep] } }
  const round = { op: 'seq', args: { layers: [relu] as unknown[] } }
  round.args.layers.push(round)
  let doubled: unknown = relu
  for (let depth = 0; depth < 60; depth += 1) doubled = { op: 'seq', args: { layers: [doubled, doubled] } }
  const cases: readonly (readonly [layers: unknown, sentence: RegExp])[] = [
    [[relu, batchNorm], /^model: layers\[1\] is the function batchNorm, not a layer; call it, as in batchNorm\(\)$/],
    [[relu, seq('features', [relu, anything() as never])], /^model: layers\[1\]\.layers\[1\]: conv2d: out is missing$/],
    [
      [{ op: 'dropout', args: 0.5 }],
      /^model: layers\[0\]: the options of dropout are 0\.5: give an object, such as dropout\(\{ rate: 0\.5 \}\)$/
    ],
    [[{ op: 'relu', args: 3 }], /^model: layers\[0\]: the options of relu are 3: leave them out$/],
    [[{ op: 'hardswish', args: {} }], /^model: layers\[0\]: there is no layer "hardswish"$/],
    [
      [named('first', { op: 'batchnorm', args: {} } as never)],
      /^model: layers\[0\]\.layer: there is no layer "batchnorm"; did you mean batchNorm\?$/
    ],
    [[residual([relu, undefined as never])], /^model: layers\[0\]\.main\[1\] is undefined, not a layer$/],
    [[parallel([[], [3 as never]])], /^model: layers\[0\]\.branches\[1\]\[0\] is 3, not a layer$/],
    [[[relu]], /^model: layers\[0\] is a list, not a layer; write seq/],
    [relu, /^model: layers is the layer relu, not a list of layers$/],
    [[named(relu as never, 'act' as never)], /^model: layers\[0\]: its name is the layer relu, not a text$/],
    [[anything({ out: 4, k: 3, stride: 2 })], /^model: layers\[0\]: conv2d has no option stride; did you mean s\?$/],
    [[anything({ out: 4, k: '3' })], /^model: layers\[0\]: conv2d: k is "3", not a number or \[height, width\]$/],
    [[anything({ out: 4, kernel_size: 3 })], /^model: layers\[0\]: conv2d has no option kernel_size; did you mean k\?$/],
    [[dropout({ p: 0.5 } as never)], /^model: layers\[0\]: dropout has no option p; did you mean rate\?$/],
    [[relu({ inplace: true } as never)], /^model: layers\[0\]: relu has no option inplace; it takes none$/],
    [[seq('features', relu as never)], /^model: layers\[0\]\.layers is the layer relu, not a list of layers$/],
    [[parallel([relu, relu] as never)], /^model: layers\[0\]\.branches\[0\] is the layer relu, not a list of layers$/],
    [
      [named('a', conv2d({ out: 4, k: 3 })), named('a', conv2d({ out: 4, k: 3 }))],
      /^m on 1x3x8x8: two layers are named a; names must differ\.$/
    ],
    [[anything({ k: 3 })], /^model: layers\[0\]: conv2d: out is missing$/],
    [[deep], /^model: layers stand inside layers more than 200 deep$/],
    [[round], /^model: layers\[0\]\.layers\[1\] stands inside itself$/],
    [[doubled], /^model: it has more than 10000 layers$/],
    [{ 0: relu }, /^model: layers is .*, not a list of layers$/]
  ]
  for (const [layers, sentence] of cases) await input(failed('plan', { model: { name: 'm', input: [1, 3, 8, 8], layers } }), sentence)
  await input(failed('plan', { model: { ...small, layer: [] } }), /^model: a model has no field layer; did you mean layers\?$/)
  await input(failed('plan', { model: { ...small, name: '' } }), /^model: name is "", not a name$/)
  const sprung = { ...small, layers: [{ op: 'conv2d', args: new Proxy({}, { get: () => assert.unreachable('sprung') }) }] }
  await input(failed('plan', { model: sprung }), /^the options of plan cannot be read: sprung$/)
})

test('a dataset that was read is taken as it is, and so are options that are undefined', async () => {
  const data: Dataset = await valueOf(readDataset(at('images')))
  const { steps } = await valueOf(train({ model: small, data, steps: 1, budget: undefined, onStep: undefined }))
  assert.is(steps, 1)
})

test('readDataset and writeTensorFile', async () => {
  const anyRead = readDataset as (...given: readonly unknown[]) => Outcome<unknown>
  for (const [given, sentence] of [
    [[], /^path is missing$/],
    [[''], /^path is "", not a path$/],
    [[{}], /^path is \{\}, not a path$/],
    [[at('images'), 3], /^option is 3, not a text$/]
  ] as const)
    await input(failureOf(anyRead(...given)), sentence)
  const anyWrite = writeTensorFile as (...given: readonly unknown[]) => Outcome<unknown>
  const tensor = { name: 'a', type: 'F32', shape: [2], data: new Float32Array(2) }
  for (const [tensors, sentence] of [
    [undefined, /^tensors is missing$/],
    ['a', /^tensors: it holds no list of tensors$/],
    [[{ ...tensor, type: 'F16' }], /^tensors: \[0\]: type is "F16", not one of F32, F64, I64$/],
    [[{ ...tensor, shape: [3] }], /a of shape \[3\] and type F32 needs 12 bytes but its data hold 8$/],
    [[{ ...tensor, data: new Float64Array(1) }], /a is F32, but its data are no Float32Array$/],
    [[{ ...tensor, data: [1, 2] }], /data is \[1,2\], not a typed array or a Buffer$/],
    [[{ ...tensor, name: '__metadata__' }], /no tensor may be called __metadata__$/],
    [[tensor, tensor], /^tensors: two have the same name$/]
  ] as const)
    await input(failureOf(anyWrite(at('t.safetensors'), tensors)), sentence)
  await input(failureOf(anyWrite('', [tensor])), /^path is "", not a path$/)
  await input(failureOf(anyWrite(at('t.safetensors'), [tensor], { a: 3 })), /^metadata: a is 3, not a string$/)
  assert.not.ok(existsSync(at('t.safetensors')))
})

test('names with control characters are written so that no terminal obeys them', async () => {
  const wild = 'a\u001b[31m\nb\u202e'
  const tame = 'a\\u001b[31m\\nb\\u202e'
  const { message } = await failureOf(plan({ model: wild }))
  assert.ok(message.startsWith(`there is no model ${tame}: `), message)
  let text = ''
  const named = { ...small, name: wild, layers: [seq(wild, small.layers)] }
  await valueOf(bench({ model: named, steps: 1, onPlan: (planned) => (text = planText(planned)) }))
  assert.ok(text.startsWith(`${tame}, input 2x3x32x32`), text)
  assert.ok(text.includes(`${tame}.0`) && !text.includes('\u001b'), text)
})

test('a byte order mark is no part of a file', async () => {
  const marked = (name: string, value: object): string => {
    writeFileSync(at(name), `\ufeff${JSON.stringify(value)}`)
    return at(name)
  }
  const made = await valueOf(chain({ model: small, device: 'reference' }))
  await valueOf(offload({ chain: marked('chain.json', made.chain), memory: '100%' }))
  const sheet = JSON.parse(readFileSync(join(root, 'devices', 'v100-16gb.json'), 'utf8'))
  await valueOf(plan({ model: small, device: marked('device.json', sheet) as `${string}.json` }))
  writeFileSync(at('buffers.csv'), '\ufeffid,lower,upper,size\na,0,1,8\n')
  assert.is((await valueOf(place({ file: at('buffers.csv') }))).height, 8)
})

test('numbers in files that no device or chain has', async () => {
  const made = await valueOf(chain({ model: small, device: 'reference' }))
  const stages = new Array(20_000).fill(made.chain.stages[0])
  await input(
    failed('offload', { chain: { ...made.chain, stages }, memory: '50%' }),
    /^the chain: it has 20000 stages, where a chain has at most 10000/
  )
  const sheet = JSON.parse(readFileSync(join(root, 'devices', 'v100-16gb.json'), 'utf8'))
  const { linkBytesPerSecond } = sheet
  const cpu = { device: 'cpu', library: 'x', threads: 1e15, linkBytesPerSecond, kernels: [] }
  for (const [device, sentence] of [
    [
      { ...sheet, bytesPerSecond: 5e-324 },
      /^the device: bytesPerSecond: 5e-324 is out of range: no device has less than 1 or more than 1e\+24;/
    ],
    [{ ...sheet, launchSeconds: 1e308 }, /^the device: launchSeconds: 1e\+308 is out of range/],
    [cpu, /^the cpu of this file was measured with 1000000000000000 threads, over the 1024 that a device takes$/]
  ] as const)
    await input(failed('plan', { model: small, device }), sentence)
  writeFileSync(at('three.csv'), 'a,0,2,100\nb,1,4,90\nc,1,3,50\n')
  await input(
    failed('place', { file: at('three.csv'), placement: 'virtual', pageSize: 2 ** 53 - 1 }),
    /^--page-size: in pages of 9007199254740991 bytes the buffers take more than 2\^53 addresses; give a smaller one$/
  )
  await input(failed('plan', { model: small, budget: `${'9'.repeat(400)}%` }), /^budget: "9+%" is not a size/)
})

test('built-in models refuse what JavaScript gives them, in a sentence', () => {
  for (const name of Object.keys(builtIn))
    for (const [options, sentence] of [
      [undefined, 'give its options, such as { classes: 2 }'],
      [{}, 'classes is undefined, not a whole number above 0'],
      [{ classes: '2' }, 'classes is "2", not a whole number above 0'],
      [{ classes: 2, head: 'linear' }, 'head is "linear", not gap or classic'],
      [{ classes: 2, hed: 'gap' }, 'there is no option hed, only classes and head']
    ] as const)
      assert.throws(
        () => builtIn[name]!(options as never),
        (thrown: Error) => thrown instanceof TypeError && thrown.message === `${name}: ${sentence}`
      )
})

test('a callback that throws ends the run with a sentence that names it, and what was learnt is kept', async () => {
  const boom = (): never => {
    throw new Error('boom')
  }
  const files = { save: at('boom.safetensors'), metrics: at('boom.jsonl') }
  let calls = 0
  const onStep = ({ step }: { readonly step: number }): void => {
    calls += 1
    if (step === 1) boom()
  }
  const failure = await failureOf(train({ model: small, data: at('images'), steps: 50, ...files, onStep }))
  assert.is(failure.code, 'input')
  assert.match(
    failure.message,
    /^onStep threw an error \(boom\); interrupted after \d+ of 50 steps; .*boom\.safetensors holds the weights after step/
  )
  assert.is(calls, 2)
  const open = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(join('/proc/self/fd', name))
    } catch {
      return ''
    }
  })
  assert.not.ok(open.includes(files.metrics), 'the metrics file is closed')
  assert.ok(existsSync(files.save) && readFileSync(files.metrics, 'utf8').split('\n').length >= 3)

  const data = at('images')
  const rejected = (): Promise<never> => Promise.reject(new Error('late'))
  const cases: readonly (readonly [outcome: Outcome<unknown>, sentence: RegExp])[] = [
    [train({ model: small, data, steps: 2, onPlan: boom }), /^onPlan threw an error \(boom\); interrupted /],
    [train({ model: small, data, steps: 2, validation: 0.5, onValidation: boom }), /^onValidation threw an error \(boom\)/],
    [train({ model: small, data, steps: 500, onStep: rejected }), /^onStep threw an error \(late\); interrupted /],
    [train({ model: small, data, steps: 2, state: at('state'), resume: true, onNotice: boom }), /^onNotice threw an error \(boom\)/],
    [bench({ model: small, steps: 3, onPlan: boom }), /^onPlan threw an error \(boom\); interrupted /],
    [bench({ model: small, steps: 3, onStep: boom }), /^onStep threw an error \(boom\); interrupted after 1 of 3 steps$/]
  ]
  for (const [outcome, sentence] of cases) await input(failureOf(outcome), sentence)
  await input(
    failureOf(
      bench({
        model: small,
        steps: 1,
        onStep: () => {
          throw Object.create(null)
        }
      })
    ),
    /^onStep threw an error \(something without a text\)$/
  )
})

test('a signal that was aborted before stops what plans, too', async () => {
  const [model, signal] = [small, AbortSignal.abort()] as const
  for (const answer of [plan({ model, signal }), explain({ model, signal }), compare({ model, budgets: ['50%'], signal })])
    assert.is((await failureOf(answer)).code, 'interrupted')
})

test('one signal may stop many runs, and of many at once nothing is warned', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  const controller = new AbortController()
  const { signal } = controller
  const running = Array.from({ length: 12 }, () =>
    train({ model: small, data: at('images'), steps: 100_000, threads: 1, signal, onStep: () => controller.abort() })()
  )
  const answers = await Promise.all(running)
  for (const answer of answers) assert.is(answer._tag === 'Left' && answer.left.code, 'interrupted')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', listen)
  assert.equal(
    warnings.map(({ name }) => name),
    []
  )
})

test.run()
