/**
 * Whatever is wrong with what a user gives: one sentence on standard error, the same in JSON, and
 * the promised exit status.
 */
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { deviceModel } from '../../../native'
import { type TensorData, writeTensors } from '../../../src/weights/safetensors'
import { type Ended, overriding, root, tilefold } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { writeColours } from '../example-images'
import { filledTensor } from '../filled-tensor'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { run, runsInTurn, smallModel } = compiledCommand()
const at = (name: string): string => join(folder, name)

const parameters = [
  filledTensor('0.weight', [4, 3, 3, 3]),
  filledTensor('0.bias', [4]),
  filledTensor('4.weight', [2, 4]),
  filledTensor('4.bias', [2])
]

test.before(async () => {
  const noise = Uint8Array.from({ length: 48 * 48 * 3 }, (_, index) => (index * 7919) % 251)
  await writeColours(at('whole.png'), noise, { height: 48, width: 48 })
  const bytes = readFileSync(at('whole.png'))
  writeFileSync(at('cut.png'), bytes.subarray(0, bytes.length / 2))
  writeFileSync(at('text.png'), 'this is no image')
  writeFileSync(at('good.csv'), 'path,label\nwhole.png,0\nwhole.png,1\n')
  writeFileSync(at('named.csv'), 'path,label\nwhole.png,a\nwhole.png,b\n')
  writeFileSync(at('cut.csv'), 'path,label\ncut.png,0\n')
  writeFileSync(at('text.csv'), 'path,label\ntext.png,1\n')
  writeFileSync(at('label.csv'), 'path,label\nwhole.png,0\nwhole.png,2\n')
  writeFileSync(at('absent.csv'), 'path,label\nnowhere.png,0\n')
  writeFileSync(at('huge-label.csv'), 'path,label\nwhole.png,99999999999\n')
  writeFileSync(at('empty.safetensors'), '')
  await valueOf(writeTensors(at('missing.safetensors'), parameters.slice(0, 3)))
  await valueOf(writeTensors(at('extra.safetensors'), [...parameters, filledTensor('5.weight', [1])]))
  await valueOf(writeTensors(at('misshapen.safetensors'), [filledTensor('0.weight', [4, 3, 5, 5]), ...parameters.slice(1)]))
  const { data, ...first } = filledTensor('0.weight', [4, 3, 3, 3])
  await valueOf(
    writeTensors(at('integer.safetensors'), [
      { ...first, type: 'I64', data: new BigInt64Array(data.byteLength / 4) },
      ...parameters.slice(1)
    ])
  )
  await valueOf(writeTensors(at('weights.safetensors'), parameters))
  const input = filledTensor('input', [2, 3, 32, 32])
  const target = (...labels: readonly number[]): TensorData => ({
    name: 'target',
    type: 'I64',
    shape: [labels.length],
    data: BigInt64Array.from(labels, BigInt)
  })
  const fractions: TensorData = { name: 'target', type: 'F32', shape: [2], data: Float32Array.of(0, 0.5) }
  await valueOf(writeTensors(at('no-target.safetensors'), [input]))
  await valueOf(writeTensors(at('wrong-target.safetensors'), [input, target(0, 2)]))
  await valueOf(writeTensors(at('short-target.safetensors'), [input, target(0)]))
  await valueOf(writeTensors(at('wide-target.safetensors'), [input, target(0, 2 ** 32)]))
  await valueOf(writeTensors(at('float-target.safetensors'), [input, fractions]))
  const dsl = JSON.stringify(join(root, 'dsl'))
  writeFileSync(
    at('ill-typed.ts'),
    `import { globalAvgPool, linear, model } from ${dsl}\nexport default model({ name: 'm', layers: [globalAvgPool, linear({ out: 'two' })] })\n`
  )
  writeFileSync(
    at('bad-layer.ts'),
    `import { conv2d, flatten, linear, model } from ${dsl}\nexport default model({ name: 'm', input: [1, 3, 8, 8], layers: [\n  conv2d({ out: 4, k: 9 }),\n  flatten, linear({ out: 2 })] })\n`
  )
  writeFileSync(
    at('unused.ts'),
    `import { conv2d, flatten, globalAvgPool, linear, model, tile } from ${dsl}\nexport default model({ name: 'm', input: [1, 3, 8, 8], layers: [\n  tile({ H: 2 }),\n  flatten, linear({ out: 2 })] })\n`
  )
  writeFileSync(at('no-layers.js'), "exports.default = { name: 'm', input: [1, 3, 8, 8], layers: [{ op: 'conv3d', args: {} }] }\n")
  writeFileSync(at('no-model.ts'), 'export default 3\n')
  writeFileSync(at('throws.ts'), "throw new Error('not today')\n")
  writeFileSync(at('reads.ts'), "require('node:fs').readFileSync('not-there.json')\n")
  writeFileSync(at('unfinished.mjs'), 'export default {\n  name: }\n')
  writeFileSync(at('module.js'), `import { relu } from ${dsl.replace(/"$/, '/index.ts"')}\nexport default { name: 'm', layers: [relu] }\n`)
  writeFileSync(at('ends.js'), 'process.exit(0)\n')
  writeFileSync(at('waits.mjs'), 'await new Promise(() => {})\nexport default {}\n')
  writeFileSync(at('ends-soon.js'), `setImmediate(() => process.exit(0))\nmodule.exports = require(${JSON.stringify(smallModel)})\n`)
})

const train = (data: string, ...more: readonly string[]): readonly string[] =>
  overriding(['train', smallModel, '--data', at(data), '--steps', '1'], more)
const predict = (...more: readonly string[]): readonly string[] => [
  ...['predict', smallModel, '--weights', at('weights'), '--image', at('whole.png')],
  ...more
]
const gradients = (weights: string, batch: string): readonly string[] => [
  'gradients',
  smallModel,
  '--weights',
  at(weights),
  '--batch',
  at(batch),
  '--out',
  at('out.safetensors')
]

const cases: readonly (readonly [name: string, args: readonly string[], status: number, sentence: RegExp])[] = [
  ['an unknown command', ['fly'], 2, /^unknown command 'fly'/],
  ['an unknown option', ['plan', 'vgg16', '--fast'], 2, /^unknown option '--fast'/],
  ['an unknown model', ['plan', 'vgg99', '--input', '1x3x64x64'], 2, /^there is no model vgg99: give .*vgg16/],
  ['a model file that is absent', ['plan', at('nowhere.ts')], 2, /^there is no model .*nowhere\.ts/],
  ['a model that does not type-check', ['plan', at('ill-typed.ts')], 2, /ill-typed\.ts:2:\d+: .*string.*number/],
  [
    'a model with a layer that the DSL refuses',
    ['plan', at('bad-layer.ts')],
    2,
    /bad-layer\.ts:3:\d+: 0: conv2d: the kernel 9x9 is larger than its padded input 8x8/
  ],
  [
    'a model with a mistake and unused imports',
    ['plan', at('unused.ts')],
    2,
    /unused\.ts:4:\d+: 0: flatten: cannot tile along H; flatten allows B/
  ],
  ['a module whose layers are none', ['plan', at('no-layers.js')], 2, /^the default export of .*no-layers\.js is not a model/],
  ['a module that exports no model', ['plan', at('no-model.ts')], 2, /^the default export of .*no-model\.ts is not a model/],
  [
    'a module that reads a file that is absent',
    ['plan', at('reads.ts')],
    2,
    /^the module .*reads\.ts cannot be loaded: not-there\.json: no such file or directory\.$/m
  ],
  ['a module that throws', ['plan', at('throws.ts')], 2, /^the module .*throws\.ts cannot be loaded: not today/],
  ['an ECMAScript module in JavaScript, which is loaded', ['plan', at('module.js')], 2, /^m has no input of its own: give --input/],
  [
    'an ECMAScript module that cannot be read',
    ['plan', at('unfinished.mjs')],
    2,
    /^the module \S*unfinished\.mjs cannot be loaded: \S*unfinished\.mjs:2:\d+: Unexpected token\.$/m
  ],
  ['a module that ends the process', ['plan', at('ends.js')], 2, /^the process was ended before the command was done: a model .* is code/],
  [
    'a module that ends it later',
    ['plan', at('ends-soon.js')],
    2,
    /^the process was ended before the command was done: a model .* is code/
  ],
  [
    'a module that waits for nothing',
    ['plan', at('waits.mjs')],
    2,
    /^the command can never be done: a model .* waits for what nothing brings/
  ],
  ['no input', ['plan', 'vgg16'], 2, /^vgg16 has no input of its own: give --input/],
  ['an input of three extents', ['plan', 'vgg16', '--input', '3x64x64'], 2, /^--input: "3x64x64" is not 4 whole numbers/],
  ['an input that is too large', ['plan', 'vgg16', '--input', '1x3x9999999x9999999'], 2, /^--input: "1x3x9999999x9999999" is larger than/],
  [
    'an input that is too small',
    ['plan', 'vgg16', '--input', '1x3x7x7'],
    2,
    /features\.\d+: maxPool2d: the kernel 2x2 is larger than its padded input 1x1/
  ],
  ['a budget that is no size', ['plan', 'vgg16', '--budget', '1TB'], 2, /^--budget: "1TB" is not a size/],
  [
    'an option that is given twice',
    ['plan', smallModel, '--budget', '1MiB', '--strategy', 'plain', '--budget', '2MiB'],
    2,
    /^--budget: it is given twice, as "1MiB" and as "2MiB": give it once\.$/
  ],
  [
    'an option in place of a value',
    ['plan', smallModel, '--out', '--strategy', 'plain'],
    2,
    /^--out: "--strategy" looks like an option: give/
  ],
  ['an empty value', ['plan', smallModel, '--out', ''], 2, /^--out: its value is empty: give one, or leave the option out\.$/],
  ['an empty size', ['plan', smallModel, '--budget', ''], 2, /^--budget: "" is not a size/],
  ['an empty model', ['plan', ''], 2, /^model is "", not a model, or the name or path of one\.$/],
  ['arguments after two hyphens', ['plan', '--', smallModel, '--budget', '1MiB'], 2, /^too many arguments for 'plan'/],
  [
    'more micro-batches than make sense',
    train('good.csv', '--accumulate', '100000000'),
    2,
    /^--accumulate: "100000000" is not .* 1 to 65536\.$/
  ],
  ['more steps than make sense', train('good.csv', '--steps', '9007199254740991'), 2, /^--steps: .* from 1 to 1000000000\.$/],
  ['a seed beyond exact numbers', train('good.csv', '--seed', '9007199254740993'), 2, /^--seed: "9007199254740993" is not a whole number/],
  ['a name with control characters', ['plan', 'v\u001b[2J\ngg\u202e'], 2, /^there is no model v\\u001b\[2J\\ngg\\u202e: give alexnet/],
  ['a budget of 1 MiB', ['plan', 'vgg16', '--input', '1x3x64x64', '--budget', '1MiB'], 3, /does not fit the budget of 1048576 bytes/],
  ['an unknown device', ['plan', 'vgg16', '--device', 'abacus'], 2, /^--device: Allowed choices are cpu, cuda, reference/],
  ['too many threads', ['plan', smallModel, '--threads', '2000'], 2, /^--threads: "2000" is not a whole number from 1 to 1024/],
  [
    'float64 on the cpu',
    ['plan', smallModel, '--precision', 'float64'],
    2,
    /the cpu device computes in float32 or bf16; take --device reference/
  ],
  ['tf32 on the cpu', ['plan', smallModel, '--precision', 'tf32'], 2, /the cpu device computes in float32 or bf16; take --device cuda/],
  [
    'float64 on a GPU',
    ['plan', smallModel, '--device', 'cuda', '--precision', 'float64'],
    2,
    /the cuda device computes in float32 or tf32 or bf16; take --device reference/
  ],
  [
    'gradients in float64 on the cpu',
    [...gradients('weights.safetensors', 'no-target.safetensors'), '--precision', 'float64'],
    2,
    /^--precision float64: the cpu device computes in float32 or bf16/
  ],
  ['a profile with a prefix that no parameter has', ['profile', smallModel, '--freeze', 'head'], 2, /no layer or parameter is called head/],
  ['momentum with adam', ['plan', smallModel, '--optimizer', 'adam', '--momentum', '0.9'], 2, /^optimizer: momentum belongs to sgd/],
  ['no data', ['train', 'vgg16'], 2, /^required option '--data <path>' not specified/],
  ['data that are absent', train('nowhere.csv'), 2, /^--data .*nowhere\.csv does not exist/],
  ['an image that is absent', train('absent.csv'), 2, /absent\.csv line 2: the image .*nowhere\.png does not exist/],
  [
    'more names than the model has classes',
    train('named.csv', '--class-names', 'a,b,c'),
    2,
    /^--class-names names 3 classes, but the model has 2/
  ],
  ['a cut image', train('cut.csv'), 2, /^the image .*cut\.png cannot be read: /],
  ['an image that is none', train('text.csv'), 2, /^the image .*text\.png cannot be read: /],
  ['a label out of range', train('label.csv'), 2, /label\.csv line 3: the label 2 is out of range: the model's classes are 0 to 1/],
  ['a label that no device counts to', train('huge-label.csv'), 2, /huge-label\.csv line 2: the label 99999999999 is over the largest/],
  ['an image in place of a CSV file', train('whole.png'), 2, /^the data file .*whole\.png cannot be read: it is not text; give a CSV/],
  ['a best file without validation', train('good.csv', '--best', at('best')), 2, /^--best needs --validation: give both/],
  ['early stopping without validation', train('good.csv', '--early-stop', '2'), 2, /^--early-stop needs --validation: give both/],
  ['--resume without --state', train('good.csv', '--resume'), 2, /^--resume needs --state: give both/],
  ['validation images that are absent', train('good.csv', '--validation', at('nowhere')), 2, /^--validation .*nowhere does not exist/],
  [
    'a validation share of all images',
    train('good.csv', '--validation', '1'),
    2,
    /^--validation 1 does not exist, and a share of the images lies above 0 and below 1/
  ],
  ['a validation share of nothing', train('cut.csv', '--validation', '0.5'), 2, /^--validation 0\.5 of 1 images leaves none/],
  [
    'class weights for other classes',
    train('good.csv', '--class-weights', '1,2,3'),
    2,
    /^--class-weights gives 3 weights but the model has 2/
  ],
  ['class weights that are none', train('good.csv', '--class-weights', 'fair'), 2, /^--class-weights: "fair" is not class weights/],
  ['a colour jitter of two numbers', train('good.csv', '--colour-jitter', '1,1'), 2, /^--colour-jitter: "1,1" is not brightness,contrast/],
  ['a group without a rate', train('good.csv', '--param-group', 'features'), 2, /^--param-group: "features" is not a group of parameters/],
  ['a prefix that no parameter has', train('good.csv', '--freeze', 'head'), 2, /head/],
  ['a clip norm of zero', train('good.csv', '--clip-norm', '0'), 2, /^--clip-norm: "0" is not a number above zero/],
  ['a deviation of zero', train('good.csv', '--mean', '0,0,0', '--deviation', '1,0,1'), 2, /^--deviation: "0" is not a number above zero/],
  ['an MLflow server of no address', train('good.csv', '--mlflow', 'here'), 2, /^--mlflow: "here" is not an address that begins with/],
  [
    'metrics over a file of something else',
    train('good.csv', '--metrics', at('label.csv')),
    2,
    /label\.csv: cannot be written \(it holds something/
  ],
  ['a class without a heat map', predict('--class', '1'), 2, /^--class needs --heatmap: give both/],
  ['a format twice', predict('--formats', 'tif,tif'), 2, /^--formats: "tif" stands there twice/],
  ['formats of one image', predict('--formats', 'png'), 2, /^--formats needs --data: give both/],
  ['measuring all and nothing', predict('--measure', '--no-measure'), 2, /^--measure and --no-measure contradict each other: give one/],
  ['steps and epochs', train('good.csv', '--epochs', '2'), 2, /^--steps and --epochs both say how long to train/],
  ['weights that are absent', train('good.csv', '--weights', at('nowhere')), 2, /nowhere: cannot be read/],
  ['weights that are empty', train('good.csv', '--weights', at('empty.safetensors')), 2, /empty\.safetensors: holds 0 bytes/],
  [
    'weights that lack a tensor',
    train('good.csv', '--weights', at('missing.safetensors')),
    2,
    /missing\.safetensors: lacks 4\.bias \[2\], which small needs/
  ],
  [
    'weights with one too many',
    train('good.csv', '--weights', at('extra.safetensors')),
    2,
    /extra\.safetensors: holds 5\.weight, which small has not/
  ],
  [
    'misshapen weights',
    train('good.csv', '--weights', at('misshapen.safetensors')),
    2,
    /0\.weight is \[4, 3, 5, 5\] where small needs \[4, 3, 3, 3\]/
  ],
  ['integer weights', train('good.csv', '--weights', at('integer.safetensors')), 2, /0\.weight is I64; weights are F32/],
  [
    'a folder that is absent to save into',
    train('good.csv', '--save', at('nowhere/w.safetensors')),
    2,
    /nowhere\/w\.safetensors: cannot be written \(no such file or directory\)/
  ],
  ['a folder in place of a file to save', train('good.csv', '--save', folder), 2, /: cannot be written \(it is a folder\)/],
  ['a device in place of a file to save', train('good.csv', '--save', '/dev/null'), 2, /^\/dev\/null: cannot be written/],
  [
    'a loss that is not finite',
    train('good.csv', '--steps', '9', '--lr', '1e30'),
    4,
    /^the loss is .* at step \d: it diverges at a learning rate of 1e\+30; lower --lr/
  ],
  [
    'a loss of numbers where images have classes',
    train('good.csv', '--loss', 'mean-squared-error'),
    2,
    /^the loss of \w+ compares numbers, and the images have a class each: leave that loss out/
  ],
  ['a budget that training does not fit', train('good.csv', '--budget', '1KiB'), 3, /does not fit the budget of 1024 bytes/],
  ['a batch without target', gradients('weights.safetensors', 'no-target.safetensors'), 2, /no-target\.safetensors: has no tensor target/],
  ['a target out of range', gradients('weights.safetensors', 'wrong-target.safetensors'), 2, /the label 2 is out of range/],
  ['a target beyond int32', gradients('weights.safetensors', 'wide-target.safetensors'), 2, /the label 4294967296 is out of range/],
  ['a target that is no label', gradients('weights.safetensors', 'float-target.safetensors'), 2, /the label 0\.5 is not a whole number/],
  [
    'a target of another length',
    gradients('weights.safetensors', 'short-target.safetensors'),
    2,
    /target is \[1\] where the model needs \[2\]/
  ]
]

/** Each in a process of its own: they end it, or stand for one kind of failure each. */
const byThemselves: readonly string[] = [
  'an unknown command',
  'a model that does not type-check',
  'a module that throws',
  'a module that ends the process',
  'a module that ends it later',
  'a module that waits for nothing',
  'an option that is given twice',
  'a budget of 1 MiB',
  'a cut image',
  'weights that are empty',
  'a loss that is not finite',
  'a batch without target'
]

/** Of all others, in the order of the cases. */
let inTurn: ReadonlyMap<string, Ended>

test.before(async () => {
  const others = cases.filter(([name]) => !byThemselves.includes(name))
  assert.is(others.length, cases.length - byThemselves.length)
  const ended = await runsInTurn(others.map(([, args]) => [...args, '--json']))
  inTurn = new Map(others.map(([name], place) => [name, ended[place]!]))
})

for (const [name, args, status, sentence] of cases) {
  test(name, async () => {
    const ended = byThemselves.includes(name) ? await run([...args, '--json']) : inTurn.get(name)!
    const said = ended.stderr.trimEnd().split('\n').at(-1)!
    assert.match(said, sentence)
    assert.is(ended.status, status, ended.stderr)
    const json = JSON.parse(ended.stdout)
    assert.is(json.error.message, said)
    assert.is(json.error.code, { 2: 'input', 3: 'budget', 4: 'loss' }[status])
    if (status === 3) assert.ok(json.feasible === false && json.smallestFeasibleBudgetBytes > 1024 && json.reason === said)
  })
}

for (const command of ['plan', 'bench', 'profile'])
  (isRight(deviceModel('cuda', 'float32', 1)) ? test.skip : test)(`${command} without a GPU`, async () => {
    const { status, stdout, stderr } = await run([command, smallModel, '--device', 'cuda', '--json'])
    assert.match(stderr, /^[^\n]*(GPU|CUDA|cuda)[^\n]*\.\n$/)
    assert.is(status, 2)
    assert.is(JSON.parse(stdout).error.code, 'missing')
  })

test('an exception that nobody expected is a bug of ours: exit 1', async () => {
  writeFileSync(
    at('trap.js'),
    `performance.now = () => { throw new Error('sprung') }\nexports.default = require(${JSON.stringify(smallModel)}).default\n`
  )
  const { status, stdout, stderr } = await run(['plan', at('trap.js'), '--json'])
  assert.is(status, 1)
  assert.match(stderr, /^a bug of Tilefold: sprung\.\nError: sprung\n +at /)
  assert.equal(JSON.parse(stdout), { error: { code: 'bug', message: 'a bug of Tilefold: sprung.' } })
})

test('no command', async () => {
  const { status, stdout, stderr } = await tilefold([])
  assert.equal(
    [status, stdout, stderr],
    [2, '', 'give a command: plan, explain, compare, train, predict, gradients, bench, profile or research; --help says more.\n']
  )
})

test('who reads the output may stop reading: no complaint, and no failure', async () => {
  const { status, stderr } = await tilefold(['plan', smallModel, '--json'], (child) => child.stdout?.destroy())
  assert.equal([status, stderr], [0, ''])
})

test('output that cannot be written: exit 2', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [join(root, 'src', 'tilefold.js'), 'plan', smallModel, '--json'], {
    stdio: ['ignore', full, 'pipe']
  })
  let stderr = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const status = await new Promise((resolve) => child.on('close', resolve))
  closeSync(full)
  assert.equal([status, stderr], [2, 'the standard output cannot be written: no space left on device.\n'])
})

test('a working folder that was removed: one sentence', async () => {
  const gone = at('gone')
  mkdirSync(gone)
  const line = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
  const args = [join(root, 'src', 'tilefold.js'), 'train', smallModel, '--data', at('good.csv'), '--steps', '1', '--save', 'w.safetensors']
  const { status, stderr } = spawnSync('bash', ['-c', line, 'bash', gone, process.execPath, ...args], { encoding: 'utf8' })
  assert.equal([status, stderr], [2, 'the working folder was removed: change to one that exists.\n'])
})

test('what cannot be saved is said before the training, not after it', async () => {
  const { status, stderr } = await run([...train('good.csv'), '--save', at('nowhere/w.safetensors')])
  assert.is(status, 2)
  assert.not.match(stderr, /step 1/)
})

test('without --json nothing but the sentence is printed', async () => {
  const { stdout, stderr } = await tilefold(['plan', 'vgg16', '--input', '1x3x7x7'])
  assert.is(stdout, '')
  assert.match(stderr, /^[^\n]*features\.\d+: [^\n]+\.\n$/)
})

test.run()
