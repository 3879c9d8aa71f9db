/**
 * Plan files through the real command: written, checked by the compiler, edited by hand, taken in
 * place of a strategy.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { PlanFile } from '../../../dsl'
import { type PlanOptions, plan as planWith } from '../../../src'
import { loadPlan } from '../../../src/plans/plan-file'
import { buildSetupGraph, planNetwork } from '../../../src/plans/plan-network'
import { writeTensors } from '../../../src/weights/safetensors'
import { objectiveText } from '../../../staging'
import { root, smallModel as typescriptModel } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { writeColours } from '../example-images'
import { valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { runInTurn: run, runsInTurn, smallModel } = compiledCommand()
const at = (name: string): string => join(folder, name)

const json = async (...args: readonly string[]) => {
  const { status, stdout, stderr } = await run([...args, '--threads', '2', '--json'])
  assert.is(status, 0, stderr)
  return { ...JSON.parse(stdout), stderr }
}

const readPlan = (name: string): PlanFile => JSON.parse(readFileSync(at(name), 'utf8'))
const writePlan = (name: string, plan: object): string => {
  writeFileSync(at(name), JSON.stringify(plan))
  return at(name)
}

/** A refusal: exit status and the one sentence. */
const refusal = async (...args: readonly string[]): Promise<readonly [number | null, string]> => {
  const { status, stderr } = await run([...args, '--threads', '2'])
  assert.is(stderr.trimEnd().split('\n').length, 1, stderr)
  return [status, stderr]
}

test.before(() => json('plan', smallModel, '--out', at('small.json'), '--budget', '1MiB'))

test('what plan --json answers is no plan, and the sentence says what writes one', async () => {
  const { stderr: _, ...answer } = await json('plan', smallModel)
  const path = writePlan('answer.json', answer)
  const [status, stderr] = await refusal('plan', smallModel, '--plan', path)
  assert.equal([status, stderr], [2, `the plan ${path}: it is what plan --json answers; plan --out writes a plan.\n`])
})

test('a written plan compiles, and runs with the same decisions and the same peak', async () => {
  const planned = await json('plan', typescriptModel, '--budget', '70%', '--out', at('small.plan.ts'))
  const text = readFileSync(at('small.plan.ts'), 'utf8')
  assert.match(text, /^import \{ planFor \} from '\.\.?\/.*\/dsl'$/m)
  assert.match(text, /^ {4}'conv2d 4 k3 p1', \/\/ 0 0$/m)
  const again = await json('plan', typescriptModel, '--plan', at('small.plan.ts'))
  for (const field of ['strategy', 'budgetBytes', 'peakDeviceBytes', 'segments', 'predictedStepMs'])
    assert.equal(again[field], planned[field], field)
  assert.is(again.stderr, '')
  const ran = await json('bench', typescriptModel, '--plan', at('small.plan.ts'), '--steps', '1')
  assert.is(ran.strategy, planned.strategy)
  assert.is(ran.predictedPeakBytes, planned.peakDeviceBytes)
  assert.ok(ran.peakDeviceBytes <= ran.predictedPeakBytes && ran.peakDeviceBytes > ran.predictedPeakBytes - 4096)
  assert.equal(
    readdirSync(folder).filter((name) => name.includes('tmp')),
    []
  )
})

test('a plan in less memory than the image, most of which strides pass over, is taken again', async () => {
  const layers = 'conv2d({ out: 1, k: 1, s: 16 }), globalAvgPool, linear({ out: 2 })'
  writeFileSync(
    at('strided.ts'),
    `import { conv2d, globalAvgPool, linear, model } from '${join(root, 'dsl')}'
export default model({ name: 'strided', input: [1, 3, 64, 64], layers: [${layers}] })
`
  )
  for (const file of [at('strided.json'), at('strided.plan.ts')]) {
    const { peakDeviceBytes } = await json('plan', at('strided.ts'), '--out', file)
    assert.ok(peakDeviceBytes < 4 * 3 * 64 * 64)
    assert.is((await json('plan', at('strided.ts'), '--plan', file)).peakDeviceBytes, peakDeviceBytes)
  }
})

test('a built-in model in this clone is imported by the name of the package', async () => {
  mkdirSync(join(root, 'out'), { recursive: true })
  const inside = mkdtempSync(join(root, 'out', 'plan-'))
  try {
    const file = join(inside, 'vgg11.plan.ts')
    const model = ['vgg11', '--classes', '2'] as const
    const planned = await json('plan', ...model, '--input', '1x3x64x64', '--out', file)
    const text = readFileSync(file, 'utf8')
    assert.ok(text.includes("import { planFor } from 'tilefold/dsl'\nimport { vgg11 } from 'tilefold/models'"))
    assert.ok(text.includes("planFor(vgg11({ classes: 2, head: 'gap' }))"))
    const again = await json('plan', ...model, '--plan', file)
    assert.is(again.peakDeviceBytes, planned.peakDeviceBytes)
    // The compiler finds what an edit broke.
    writeFileSync(file, text.replace("'conv2d 128 k3 p1'", "'conv2d 129 k3 p1'"))
    assert.match(
      (await refusal('plan', ...model, '--plan', file))[1],
      /vgg11\.plan\.ts:\d+:\d+: layer 3: the model has conv2d 128 k3 p1 \(features\.3\), the plan conv2d 129 k3 p1\.$/m
    )
    writeFileSync(file, text.replace(/grid: \{ B: 1, H: 1, W: 1 \}(?=[^\n]*\n {2}\])/, 'grid: { B: 1, H: 2, W: 1 }'))
    assert.match(
      (await refusal('bench', ...model, '--plan', file))[1],
      /segment 0\.\.24: cannot tile along H; globalAvgPool sums over the pixels/
    )
    // Written for two classes, used for three: the types of the file are right, but it is another
    // model.
    writeFileSync(file, text)
    const [status, sentence] = await refusal('plan', 'vgg11', '--classes', '3', '--plan', file)
    assert.is(status, 2)
    assert.match(sentence, /layer 22: the model has linear 3 \(classifier\), the plan linear 2\.$/m)
  } finally {
    rmSync(inside, { recursive: true })
  }
})

test('segments are named by the layers that run first and last, where a plan runs them in another order', async () => {
  const file = at('alexnet.json')
  const wanted = ['alexnet', '--classes', '2', '--input', '1x3x1024x1024', '--strategy', 'sft', '--budget', '60%']
  const { segments } = await json('plan', ...wanted, '--out', file)
  const written = readPlan('alexnet.json')
  assert.ok(written.order.some((position, index) => position !== index))
  assert.equal(
    segments.map(({ toName }: { readonly toName: string }) => toName),
    written.segments.map(({ checkpoint }) => checkpoint)
  )
})

test('a plan in TypeScript is of a model as it is, without --loss', async () => {
  const [status, sentence] = await refusal('plan', 'unet', '--classes', '2', '--loss', 'dice', '--out', at('dice.plan.ts'))
  assert.is(status, 2)
  assert.match(sentence, /dice\.plan\.ts: a plan in TypeScript imports its model as it is, without --loss; write a \*\.json file/)
})

test('an input other than the model’s own is said in the file, and on the command line', async () => {
  const file = at('wide.plan.ts')
  await json('plan', typescriptModel, '--input', '1x3x64x48', '--out', file)
  assert.match(readFileSync(file, 'utf8'), /planFor\(\{ \.\.\.model, input: \[1, 3, 64, 48\] \}\)/)
  await json('plan', typescriptModel, '--input', '1x3x64x48', '--plan', file)
  assert.match(
    (await refusal('plan', typescriptModel, '--plan', file))[1],
    /input: the model takes 2x3x32x32, the plan is for 1x3x64x48; plan it with --input 2x3x32x32\.?$/m
  )
})

/** Its order is the pool's before the rectifier, whatever this processor finds faster. */
const tiled = (plan: PlanFile, H: number, W: number): PlanFile => ({
  ...plan,
  order: [0, 2, 1, 3, 4, 5],
  budget: null,
  strategy: 'by hand',
  segments: [
    { from: 0, to: 4, checkpoint: '3', grid: { B: 1, H, W }, recompute: true, reorder: 'once' },
    { from: 4, to: 6, checkpoint: 'loss', grid: { B: 2, H: 1, W: 1 }, recompute: false, reorder: 'once' }
  ]
})

test('hand edits count: a grid, a checkpoint, an order, a budget', async () => {
  const plan = readPlan('small.json')
  const fine = await json('plan', smallModel, '--plan', writePlan('fine.json', tiled(plan, 4, 2)))
  assert.is(fine.strategy, 'by hand')
  assert.equal(
    fine.segments.map(({ from, to, grid }: PlanFile['segments'][number]) => [from, to, Object.values(grid).join()]),
    [
      [0, 4, '1,4,2'],
      [4, 6, '2,1,1']
    ]
  )
  assert.match(fine.stderr, /^the plan's decisions peak at \d+ bytes, not at the \d+ that it says\.\n$/)
  const coarse = await json('bench', smallModel, '--steps', '1', '--plan', writePlan('coarse.json', tiled(plan, 2, 1)))
  assert.ok(coarse.predictedPeakBytes > fine.peakDeviceBytes)
  assert.ok(coarse.peakDeviceBytes <= coarse.predictedPeakBytes && coarse.peakDeviceBytes > coarse.predictedPeakBytes - 4096)
  const [first, ...others] = tiled(plan, 4, 2).segments
  const ahead = { ...tiled(plan, 4, 2), segments: [{ ...first!, prefetch: true as const }, ...others] }
  const loaded = await json('bench', smallModel, '--steps', '1', '--plan', writePlan('ahead.json', ahead))
  assert.ok(loaded.predictedPeakBytes > fine.peakDeviceBytes, 'a second input tile')
  assert.ok(loaded.peakDeviceBytes <= loaded.predictedPeakBytes && loaded.peakDeviceBytes > loaded.predictedPeakBytes - 4096)
  const written = { ...tiled(plan, 2, 1), order: [0, 1, 2, 3, 4, 5] }
  const unordered = await json('plan', smallModel, '--plan', writePlan('written.json', written))
  assert.ok(unordered.peakDeviceBytes > coarse.predictedPeakBytes, 'the larger rectifier output')
  const [status, sentence] = await refusal('plan', smallModel, '--plan', at('coarse.json'), '--budget', `${coarse.predictedPeakBytes - 1}`)
  assert.is(status, 3)
  assert.ok(
    sentence.includes(`${coarse.predictedPeakBytes} bytes`) && sentence.includes(`${coarse.predictedPeakBytes - 1} bytes`),
    sentence
  )
  const within = writePlan('within.json', { ...tiled(plan, 2, 1), peak: 1, budget: coarse.predictedPeakBytes - 1 })
  assert.is((await refusal('bench', smallModel, '--plan', within))[0], 3)
  assert.is((await json('plan', smallModel, '--plan', within, '--budget', '1MiB')).budgetBytes, 2 ** 20)
})

test('a plan for another device or another purpose is staged anew, and that is said', async () => {
  const shapes: Readonly<Record<string, readonly number[]>> = { '0.weight': [4, 3, 3, 3], '0.bias': [4], '4.weight': [2, 4], '4.bias': [2] }
  const tensor = (name: string, shape: readonly number[]) => ({
    name,
    type: 'F32' as const,
    shape,
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, index) => Math.sin(index))
  })
  await valueOf(
    writeTensors(
      at('weights.safetensors'),
      Object.entries(shapes).map(([name, shape]) => tensor(name, shape))
    )
  )
  await valueOf(
    writeTensors(at('batch.safetensors'), [
      tensor('input', [2, 3, 32, 32]),
      { name: 'target', type: 'I64', shape: [2], data: BigInt64Array.of(1n, 0n) }
    ])
  )
  const gradients = (...more: readonly string[]) =>
    json(
      'gradients',
      smallModel,
      '--device',
      'reference',
      '--weights',
      at('weights.safetensors'),
      '--batch',
      at('batch.safetensors'),
      '--out',
      at('g'),
      ...more
    )
  const plan = writePlan('tiled.json', tiled(readPlan('small.json'), 3, 3))
  const [whole, tiles] = [await gradients('--strategy', 'plain'), await gradients('--plan', plan)]
  assert.match(
    tiles.stderr,
    /^the plan was made for cpu in float32 on 2 threads \(train with sgd\); its decisions are staged anew for reference in float64 on 1 threads \(gradients\), and peak at \d+ bytes instead of \d+\.\n$/
  )
  assert.is(tiles.strategy, 'by hand')
  assert.ok(Math.abs(whole.loss - tiles.loss) < 1e-12)
})

test('predict says of a plan for what else it was made', async () => {
  await writeColours(at('image.png'), new Uint8Array(32 * 32 * 3).fill(90), { height: 32, width: 32 })
  await json('plan', smallModel, '--input', '1x3x32x32', '--out', at('one.json'))
  const plan = ['--plan', at('one.json'), '--weights', at('weights.safetensors'), '--device', 'reference']
  const { stderr } = await json('predict', smallModel, '--image', at('image.png'), ...plan)
  assert.match(
    stderr,
    /^the plan was made for cpu in float32 on 2 threads \(train with sgd\); .* for reference in float64 .*\(evaluate\), and peak at .*\.\n$/
  )
})

test('a plan says all of the purpose that changes bytes', () => {
  const sgd = { kind: 'sgd', momentum: 0.9, weightDecay: 0 } as const
  const groups = [{ prefix: 'features', frozen: true }, { prefix: 'features.28', rate: 2 }, { prefix: 'classifier' }] as const
  assert.is(objectiveText({ kind: 'gradients' }), 'gradients')
  assert.is(objectiveText({ kind: 'train', optimizer: sgd }), 'train with sgd')
  assert.is(objectiveText({ kind: 'train', optimizer: { ...sgd, momentum: 0 }, groups: [] }), 'train with sgd without momentum')
  assert.is(
    objectiveText({ kind: 'train', optimizer: sgd, accumulate: 4, clipNorm: 1, groups, rowWeights: true, evaluate: true }),
    'train with sgd, 4 micro-batches accumulated, gradients clipped to norm 1, features frozen but features.28, rows weighted, validated'
  )
})

test('what a plan was made for is said where it is taken for something else', async () => {
  const { stderr } = await json('plan', smallModel, '--plan', at('small.json'), '--accumulate', '2', '--freeze', '0')
  assert.match(stderr, /\(train with sgd\); .* \(train with sgd, 2 micro-batches accumulated, 0 frozen\), and peak at /)
})

test('what is wrong with a plan is one sentence, and exit status 2', async () => {
  const plan = readPlan('small.json')
  const [first, second] = tiled(plan, 2, 2).segments
  writeFileSync(at('corrupt.json'), readFileSync(at('small.json'), 'utf8').slice(0, 300))
  writeFileSync(at('number.plan.ts'), 'export default 3\n')
  const wrong = (name: string, changes: object): string => writePlan(`${name}.json`, { ...tiled(plan, 2, 2), ...changes })
  const cases: readonly (readonly [string, RegExp])[] = [
    [at('nowhere.json'), /^the plan .*nowhere\.json cannot be read: no such file or directory\.?$/],
    [at('nowhere.plan.ts'), /^the plan .*nowhere\.plan\.ts cannot be read: no such file or directory\.?$/],
    [at('plan.yaml'), /plan\.yaml: a plan file is named \*\.plan\.ts or \*\.json\.?$/],
    [at('corrupt.json'), /^the plan .*corrupt\.json is no JSON: /],
    [at('number.plan.ts'), /^the plan .*number\.plan\.ts: it holds no plan\.?$/],
    [
      wrong('mistyped', { segments: [first, { ...second, grid: { B: 1, H: '2', W: 1 } }] }),
      /mistyped\.json: segments\[1\]\.grid\.H is "2", not a number\.?$/
    ],
    [wrong('missing', { order: undefined }), /missing\.json: order is missing\.?$/],
    [wrong('budget', { budget: -1 }), /budget is -1, not a whole number of bytes or null\.?$/],
    [
      wrong('model', { layers: ['conv2d 8 k3 p1', ...plan.layers.slice(1)] }),
      /^layer 0: the model has conv2d 4 k3 p1 \(0\), the plan conv2d 8 k3 p1\.?$/
    ],
    [wrong('names', { graph: '0'.repeat(64) }), /^the layers of small have other names than when the plan was made; plan it anew\.?$/],
    [
      wrong('input', { input: [2, 3, 32, 64] }),
      /^input: the model takes 2x3x32x32, the plan is for 2x3x32x64; plan it with --input 2x3x32x32\.?$/
    ],
    [
      wrong('gap', { segments: [{ ...first, to: 3, checkpoint: '1' }, second] }),
      /^segments must follow each other: this one starts at 4, the one before ends at 3\.?$/
    ],
    [wrong('end', { segments: [first] }), /^the segments end at 4, but the model has 6 layers, its loss included\.?$/],
    [wrong('over', { budget: 1000 }), /^the peak of \d+ bytes is over the budget of 1000\.?$/],
    [
      wrong('padding', { segments: [{ ...first, grid: { B: 1, H: 2, W: 0.5 } }, second] }),
      /^segment 0\.\.4: tile counts must be whole numbers above 0\.?$/
    ],
    [
      wrong('ahead', { segments: [first, { ...second, prefetch: true }] }),
      /^segment 4\.\.6: prefetch: this segment reads neither images nor, in bands of rows, the host; leave it out\.?$/
    ]
  ]
  for (const [file, sentence] of cases) {
    const planned = pipe(
      await loadPlan(file)(),
      E.chain(({ plan }) => buildSetupGraph({ model: small, device: 'reference', plan }, { kind: 'gradients' }, { kind: 'float' })),
      E.chain(planNetwork)
    )
    assert.ok(E.isLeft(planned), file)
    assert.match(planned.left.message, sentence)
    assert.is(planned.left.code, 'input')
  }
  for (const [file, sentence, isDecoded] of [
    [...cases[0]!, false],
    [...cases[3]!, false],
    [...cases[8]!, true]
  ] as const) {
    const [status, said] = await refusal('plan', smallModel, '--plan', file)
    const named = `the plan ${file}: `
    assert.is(said.startsWith(named), isDecoded, said)
    assert.match(isDecoded ? said.slice(named.length).trimEnd() : said.trimEnd(), sentence)
    assert.is(status, 2)
  }
})

/** As a program gives it to the library. */
const planned = (given: object, options: Partial<PlanOptions> = {}) =>
  planWith({ model: small, threads: 2, plan: given as PlanFile, ...options })()

test('fields that a plan does not have are refused by name at any depth, in files and in programs', async () => {
  const plan = tiled(readPlan('small.json'), 2, 2)
  const [first, second] = plan.segments
  const interval = { tensor: 'output of 0', swapOut: 'forward 1', freed: 'forward 3', swapIn: 'backward 1' }
  const cases: readonly (readonly [object, string])[] = [
    [{ budgets: [1] }, 'a plan has no field budgets; did you mean budget?'],
    [{ zzz: 1 }, 'a plan has no field zzz'],
    [{ segments: [{ ...first, winogad: ['0'] }, second] }, 'segments[0]: a segment has no field winogad; did you mean winograd?'],
    [{ segments: [first, { ...second, grid: { ...first!.grid, h: 2 } }] }, 'segments[1].grid: a grid has no dimension h; did you mean H?'],
    [{ swapSchedule: [{ ...interval, swapout: '' }] }, 'swapSchedule[0]: a tensor on the host has no field swapout; did you mean swapOut?'],
    [
      { placement: { allocator: 'virtual', pageBytes: 4096, pagebytes: 1 } },
      'placement: a placement has no field pagebytes; did you mean pageBytes?'
    ],
    [{ device: { ...plan.device, thread: 2 } }, 'device: the device has no field thread; did you mean threads?'],
    [{ predicted: { haloOverhead: -1 } }, 'predicted.haloOverhead is -1, not a number above -1'],
    [{ predicted: { peakHostByte: 0 } }, 'predicted: the prediction has no figure peakHostByte; did you mean peakHostBytes?']
  ]
  for (const [changes, sentence] of cases) {
    const path = writePlan('misspelt.json', { ...plan, ...changes })
    assert.equal(await loadPlan(path)(), E.left({ code: 'input', message: `the plan ${path}: ${sentence}` }))
    assert.equal(await planned({ ...plan, ...changes }), E.left({ code: 'input', message: `plan: ${sentence}` }))
  }
  const [status, said] = await refusal('plan', smallModel, '--plan', at('misspelt.json'))
  assert.match(said, /misspelt\.json: predicted: the prediction has no figure peakHostByte; did you mean peakHostBytes\?$/m)
  assert.is(status, 2)
})

test('what a plan says it is for must be there: its model, a strategy, a precision, an objective', async () => {
  const plan = tiled(readPlan('small.json'), 2, 2)
  for (const [changes, sentence] of [
    [{ model: 'resnet18' }, /^model: the model is small, the plan for resnet18\.$/],
    [{ strategy: 'magic' }, /^plan: strategy is "magic", not one of auto, plain, .*, dynprog, by hand$/],
    [{ device: { ...plan.device, precision: 'float8' } }, /^plan: device\.precision is "float8", not one of float32, tf32, bf16, float64$/],
    [
      { objective: 'train with sgdd' },
      /^plan: objective is "train with sgdd", not one that begins with gradients, evaluate, train with sgd, /
    ]
  ] as const) {
    const answer = await planned({ ...plan, ...changes })
    assert.match(E.isLeft(answer) ? answer.left.message : '', sentence)
  }
})

test('a plan has at most as many tiles as there are rows, and says how many there are', async () => {
  const plan = readPlan('small.json')
  for (const [H, W, sentence] of [
    [17, 1, 'segment 0..4: 17 tiles along H are more than the 16 rows of the input of 3; take at most 16.'],
    [1, 65536, 'segment 0..4: 65536 tiles along W are more than the 16 columns of the input of 3; take at most 16.']
  ] as const)
    assert.equal(await planned(tiled(plan, H, W)), E.left({ code: 'input', message: sentence }))
  const report = await planned(tiled(plan, 7, 16), { budget: '1MiB' })
  // 16 rows in 7 tiles: 5 of 3 rows, and 1 of 1.
  assert.equal(E.isRight(report) && report.right.segments[0]!.grid, { B: 1, H: 6, W: 16 })
})

test('a peak that cannot be true is refused, unless a budget is given; one that is a little off is noted', async () => {
  const plan = tiled(readPlan('small.json'), 2, 2)
  const needed = await planned(plan, { budget: '1MiB' })
  assert.ok(E.isRight(needed))
  const { peakDeviceBytes } = needed.right
  assert.equal(
    await planned({ ...plan, peak: 1000 }),
    E.left({
      code: 'input',
      message: `the plan's peak is 1000 bytes, but its decisions need ${peakDeviceBytes}; write that, or give --budget`
    })
  )
  assert.ok(E.isRight(await planned({ ...plan, peak: 1000 }, { budget: '1MiB' })))
  assert.ok(E.isRight(await planned({ ...plan, peak: peakDeviceBytes - 1 })))
  const interval = { tensor: 'output of 1', swapOut: 'forward 3', freed: 'forward 4', swapIn: 'backward 2' }
  const whole = { from: 0, to: 6, checkpoint: 'loss', grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' } as const
  const swapping = { ...plan, order: [0, 1, 2, 3, 4, 5], segments: [whole], swapSchedule: [interval], peak: 2 ** 20 }
  const right = await planned({ ...swapping, predicted: {} })
  assert.ok(E.isRight(right) && right.right.peakHostBytes > 0, JSON.stringify(right))
  assert.equal(
    await planned({ ...swapping, predicted: { peakHostBytes: 0 } }),
    E.left({ code: 'input', message: 'predicted: peakHostBytes cannot be 0 where the output of 1 waits on the host.' })
  )
  const claimed = await planned({ ...swapping, predicted: { peakHostBytes: 1 } })
  assert.match(
    E.isLeft(claimed) ? claimed.left.message : '',
    /^the plan's predicted\.peakHostBytes are 1, but its decisions need \d+; write that, or give --budget$/
  )
})

test('a plan in JSON may begin with a byte order mark', async () => {
  writeFileSync(at('marked.json'), `\ufeff${readFileSync(at('small.json'), 'utf8')}`)
  assert.equal(await loadPlan(at('marked.json'))(), E.right({ plan: readPlan('small.json') }))
})

test('a plan names its convolutions by Winograd, --exact-kernels refuses them, and so do devices without', async () => {
  const model = ['vgg11', '--classes', '2', '--input', '1x3x256x256'] as const
  const fast = await json('plan', ...model, '--strategy', 'plain', '--out', at('fast.json'))
  const written = readPlan('fast.json')
  const names: readonly string[] = fast.segments[0].winograd
  assert.ok(names.length > 3 && names.includes('features.3') && !names.includes('features.0'))
  assert.equal(written.segments[0]!.winograd, names)
  const again = await json('plan', ...model, '--plan', at('fast.json'))
  for (const field of ['segments', 'peakDeviceBytes', 'predictedStepMs']) assert.equal(again[field], fast[field])
  assert.is(again.stderr, '')
  const text = await run(['plan', ...model, '--threads', '2', '--plan', at('fast.json')])
  assert.ok(text.stdout.includes(`${names.length} of 8 convolutions`), text.stdout)

  const exact = await json('plan', ...model, '--strategy', 'plain', '--exact-kernels', '--out', at('exact.json'))
  assert.equal(exact.segments[0].winograd, [])
  assert.not('winograd' in readPlan('exact.json').segments[0]!)
  assert.ok(exact.predictedStepMs > fast.predictedStepMs && exact.lowerBoundMs > fast.lowerBoundMs)
  assert.is(exact.peakDeviceBytes, exact.plainPeakBytes)
  assert.is(fast.plainPeakBytes, exact.plainPeakBytes)
  const [explained, direct] = [await json('explain', ...model), await json('explain', ...model, '--exact-kernels')]
  assert.ok(explained.segments[0].winogradSavingMs > 0)
  assert.is(direct.segments[0].winogradSavingMs, 0)
  await json('plan', ...model, '--plan', at('exact.json'), '--exact-kernels')

  const segment = written.segments[0]!
  const elsewhere = writePlan('elsewhere.json', { ...written, segments: [{ ...segment, winograd: ['features.3', 'features.99'] }] })
  const first = writePlan('first.json', { ...written, segments: [{ ...segment, winograd: ['features.0'] }] })
  const wrong = [
    [
      /^the plan .*\.json: segment 0\.\.\d+: features\.3 runs by Winograd, which rounds differently; .* leave out --exact-kernels\.$/m,
      at('fast.json'),
      '--exact-kernels'
    ],
    [
      /^the plan .*\.json: segment 0\.\.\d+: the reference device has no Winograd for features\.3 \(conv2d 128 k3 p1\); /,
      at('fast.json'),
      '--device',
      'reference'
    ],
    [/^the plan .*\.json: segment 0\.\.\d+: the cpu device has no Winograd for features\.0 \(conv2d 64 k3 p1\); /, first],
    [/^the plan .*\.json: segment 0\.\.\d+: winograd: there is no layer features\.99\.$/m, elsewhere]
  ] as const
  const cases = wrong.flatMap(([sentence, ...args]) =>
    ['plan', 'explain', 'bench'].map((command) => ({ sentence, args: [command, ...model, '--threads', '2', '--plan', ...args] }))
  )
  const answers = await runsInTurn(cases.map(({ args }) => args))
  cases.forEach(({ sentence }, index) => {
    const { status, stderr } = answers[index]!
    assert.match(stderr, sentence)
    assert.equal([status, stderr.trimEnd().split('\n').length], [2, 1])
  })
})

test('usage: a plan takes the place of a strategy, and has a name that says its form', async () => {
  const [status, sentence] = await refusal('plan', smallModel, '--plan', at('small.json'), '--strategy', 'plain')
  assert.is(status, 2)
  assert.match(sentence, /'--plan <file>' cannot be used with option '--strategy <name>'/)
  for (const name of ['small.ts', 'small.txt']) {
    assert.match((await refusal('plan', smallModel, '--out', at(name)))[1], /a plan file is named \*\.plan\.ts or \*\.json/)
    assert.not(existsSync(at(name)))
  }
  assert.match(
    (await refusal('plan', smallModel, '--out', at('nowhere/small.plan.ts')))[1],
    /nowhere.*cannot be written \(no such file or directory\)/
  )
})

test.run()
