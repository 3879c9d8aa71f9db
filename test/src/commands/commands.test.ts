/** The commands as a user runs them, on a small network. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { BenchReport } from '../../../src/commands/bench'
import { type ExplanationReport, explanationSentences } from '../../../src/plans/explanation-report'
import type { KernelTime } from '../../../src/running/breakdown'
import { openTensorFile, readTensor, writeTensors } from '../../../src/weights/safetensors'
import { root, smallModel as typescriptModel, tilefold } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { run, runInTurn, smallModel } = compiledCommand()
const at = (name: string): string => join(folder, name)

/** A command that must succeed, and its JSON. */
const json = async (...args: readonly string[]) => {
  const { status, stdout, stderr } = await runInTurn([...args, '--json'])
  assert.is(status, 0, stderr)
  assert.is(stdout.trimEnd().split('\n').length, 1)
  return JSON.parse(stdout)
}

test.before(async () => {
  for (const [name, background] of [
    ['dark', { r: 30, g: 40, b: 50 }],
    ['light', { r: 220, g: 200, b: 240 }]
  ] as const) {
    mkdirSync(at(`images/${name}`), { recursive: true })
    await sharp({ create: { width: 40, height: 24, channels: 3, background } })
      .png()
      .toFile(at(`images/${name}/1.png`))
  }
})

const training = (...more: readonly string[]): readonly string[] => [
  'train',
  smallModel,
  '--data',
  at('images'),
  '--seed',
  '4',
  '--lr',
  '0.05',
  '--flip',
  '--threads',
  '2',
  ...more
]

test('plan tells segments and figures, in data and in words', async () => {
  const plan = await json('plan', 'vgg11', '--input', '1x3x512x512', '--budget', '160MiB')
  assert.is(plan.feasible, true)
  assert.is(plan.strategy, 'auto')
  assert.ok(plan.peakDeviceBytes <= 160 * 2 ** 20 && plan.plainPeakBytes > 160 * 2 ** 20)
  assert.ok(plan.predictedStepMs >= plan.lowerBoundMs && plan.lowerBoundMs > 0 && plan.haloOverhead >= 0 && plan.peakHostBytes === 0)
  assert.is(plan.segments[0].from, 0)
  assert.is(plan.segments[0].fromName, 'features.0')
  for (const [index, { from }] of plan.segments.slice(1).entries()) assert.is(from, plan.segments[index].to)
  const { stdout } = await tilefold(['plan', 'vgg11', '--input', '1x3x512x512', '--budget', '160MiB'])
  assert.match(stdout, /features\.0/)
  assert.match(stdout, /tiles: \d+ along/)
  assert.match(stdout, /peak on the device/)
})

test('options that only built-in models have are told beside another model', async () => {
  const noticeOf = async (...more: readonly string[]): Promise<string> => {
    const { status, stderr } = await tilefold(['plan', typescriptModel, '--quiet', ...more])
    assert.is(status, 0)
    return stderr
  }
  assert.is(await noticeOf('--classes', '5'), '--classes is for built-in models: it changes nothing of this one.\n')
  assert.is(
    await noticeOf('--classes', '5', '--head', 'classic'),
    '--classes and --head are for built-in models: they change nothing of this one.\n'
  )
  assert.is(await noticeOf(), '')
})

test('explain tells what binds, what more memory buys and what decisions cost, in data and in words', async () => {
  const wanted = ['explain', 'vgg11', '--input', '1x3x512x512', '--budget', '160MiB']
  const explanation = await json(...wanted)
  const plan = await json('plan', ...wanted.slice(1))
  for (const field of ['strategy', 'feasible', 'budgetBytes', 'peakDeviceBytes', 'predictedStepMs'])
    assert.is(explanation[field], plan[field])
  const live = explanation.peak.reduce((sum: number, { bytes }: { bytes: number }) => sum + bytes, 0)
  assert.is(live + explanation.unusedBytes, explanation.peakDeviceBytes)
  assert.match(explanation.bindingLayer, /^features\.\d+$/)
  assert.ok(explanation.larger.length > 0 && explanation.larger.every(({ differenceMs }: { differenceMs: number }) => differenceMs < 0))
  assert.ok(explanation.smaller.differenceMs > 0 && explanation.smaller.budgetBytes < explanation.peakDeviceBytes)
  assert.is(explanation.segments.length, plan.segments.length)
  for (const { predictedMs, wholeMs, recomputationMs, haloMs, tileMs, loadingSavingMs } of explanation.segments)
    assert.ok(Math.abs(predictedMs - wholeMs - recomputationMs - haloMs - tileMs + loadingSavingMs) < 1e-3)
  const { stdout } = await runInTurn(wanted)
  assert.match(stdout, new RegExp(`${explanation.bindingLayer.replace('.', '\\.')} binds: it has the most in memory at the peak`))
  assert.match(stdout, /With \d+ MiB a step would take .* less/)
  assert.match(stdout, /the plan at hand/)
  assert.match(stdout, /recomputation/)
})

test('explain works for any strategy and without a budget', async () => {
  const { larger, segments } = await json('explain', smallModel, '--strategy', 'chen-sqrt')
  assert.equal(larger, [])
  assert.ok(segments.some(({ recomputationMs }: { recomputationMs: number }) => recomputationMs > 0))
  const { stdout } = await runInTurn(['explain', smallModel])
  assert.match(stdout, /More memory would not make a step faster\./)
  assert.match((await runInTurn(['explain', smallModel, '--strategy', 'plain'])).stdout, /^Strategy plain fits nothing into less than /m)
})

test('explain says of less memory that costs no time that a step would take as long', async () => {
  const report: ExplanationReport = await json('explain', 'vgg11', '--input', '1x3x512x512', '--budget', '160MiB')
  const same = explanationSentences({ ...report, smaller: { ...report.smaller!, differenceMs: 0 } })
  assert.ok(
    same.some((sentence) => /^With less than \S+ MiB a step would take as long\.$/.test(sentence)),
    same.join('\n')
  )
})

test('explain of a given plan offers no other budgets', async () => {
  const plan = at('given.json')
  await json('plan', smallModel, '--strategy', 'chen-sqrt', '--out', plan)
  const { given, larger, smaller } = await json('explain', smallModel, '--plan', plan)
  assert.equal([given, larger, smaller], [true, [], null])
  const { stdout } = await runInTurn(['explain', smallModel, '--plan', plan])
  assert.match(stdout, /^The plan was given: it stays as it is in every budget that it fits\.$/m)
  assert.not.match(stdout, /More memory|fits nothing/)
})

test('explain refuses a budget that nothing fits as plan does, with status 3', async () => {
  const wanted = ['vgg11', '--input', '1x3x64x64', '--budget', '1MiB', '--json']
  const [explanation, plan] = [await runInTurn(['explain', ...wanted]), await runInTurn(['plan', ...wanted])]
  assert.is(explanation.status, 3)
  assert.equal(explanation, plan)
  assert.is(JSON.parse(explanation.stdout).feasible, false)
})

test("README's and the guide's network is the example, and fits the budget that they give it", async () => {
  const example = readFileSync(join(root, 'examples', 'own-model.ts'), 'utf8')
  for (const document of ['README.md', 'docs/guide.md']) assert.ok(readFileSync(join(root, document), 'utf8').includes(example), document)
  const plan = await json('plan', join(root, 'examples', 'own-model.ts'), '--budget', '512MiB')
  assert.ok(
    plan.peakDeviceBytes <= 512 * 2 ** 20 && plan.segments.some(({ grid }: { grid: object }) => Object.values(grid).join() === '1,4,4')
  )
})

test('a budget in percent is of what plain needs', async () => {
  const plan = await json('plan', smallModel, '--budget', '70%')
  assert.is(plan.budgetBytes, Math.floor(0.7 * plan.plainPeakBytes))
})

test('plan --program writes what the plan runs, with the buffers of its predicted peak', async () => {
  const program = at('program.txt')
  const plan = await json('plan', smallModel, '--program', program)
  const [, arena, , ...lines] = readFileSync(program, 'utf8').split('\n')
  assert.is(arena, `arena: ${plan.peakDeviceBytes} bytes; host pool: 0 bytes`)
  for (const start of ['  0.weight: ', '  convolutionForward ', 'step: ', 'save: '])
    assert.ok(
      lines.some((line) => line.startsWith(start)),
      start
    )
  const { status, stderr } = await runInTurn(['plan', smallModel, '--program', program, '--out', program])
  assert.is(status, 2)
  assert.match(stderr, /--program .* would be written over/)
})

test('training lowers the loss within the predicted bytes, with the same bits each time', async () => {
  const runs = []
  for (const name of ['first', 'second']) runs.push(await json(...training('--steps', '40', '--save', at(`${name}.safetensors`))))
  const [first, second] = runs
  assert.is(first.steps, 40)
  assert.is(first.stepMs.length, 40)
  assert.equal(first.loss, second.loss)
  assert.equal(readFileSync(at('first.safetensors')), readFileSync(at('second.safetensors')))
  assert.ok(first.loss.at(-1) < 0.5 * first.loss[0], `${first.loss[0]} to ${first.loss.at(-1)}`)
  assert.ok(first.peakDeviceBytes <= first.predictedPeakBytes && first.peakDeviceBytes > first.predictedPeakBytes - 4096)
})

test('training goes on from saved weights; epochs count the images', async () => {
  const whole = await json(...training('--steps', '40', '--save', at('whole.safetensors')))
  const further = await json(...training('--epochs', '3', '--weights', at('whole.safetensors')))
  assert.is(further.steps, 3)
  assert.ok(further.loss[0] < 1.2 * whole.loss.at(-1))
})

test('a crop leaves batch and channels of the model as they are', async () => {
  const { stdout } = await runInTurn([...training('--steps', '1', '--crop', '24x40')])
  assert.match(stdout, /input 2x3x24x40/)
})

test('a model may read its size from a file', async () => {
  writeFileSync(at('size.txt'), '24')
  const dsl = JSON.stringify(join(root, 'dsl'))
  writeFileSync(
    at('sized.ts'),
    `import { readFileSync } from 'node:fs'
    import { globalAvgPool, linear, model } from ${dsl}
    const size = Number(readFileSync(${JSON.stringify(at('size.txt'))}, 'utf8'))
    export default model({ name: 'sized', input: [1, 3, size, size], layers: [globalAvgPool, linear({ out: 2 })] })`
  )
  const { stdout } = await runInTurn(['plan', at('sized.ts')])
  assert.match(stdout, /input 1x3x24x24/)
})

test('crops may be larger than the images, other optimizers and schedules train too', async () => {
  const { loss } = await json(
    ...training('--steps', '30', '--crop', '64x48', '--optimizer', 'adamw', '--schedule', 'cosine', '--budget', '300KiB')
  )
  assert.ok(loss.at(-1) < loss[0])
})

test('gradients writes the loss and a gradient for every parameter and the input', async () => {
  await json(...training('--steps', '1', '--save', at('weights.safetensors')))
  const values = Float32Array.from({ length: 2 * 3 * 32 * 32 }, (_, index) => Math.sin(index))
  await valueOf(
    writeTensors(at('batch.safetensors'), [
      { name: 'input', type: 'F32', shape: [2, 3, 32, 32], data: values },
      { name: 'target', type: 'I64', shape: [2], data: BigInt64Array.of(1n, 0n) }
    ])
  )
  const losses = []
  for (const [device, type] of [
    ['cpu', 'F32'],
    ['reference', 'F64']
  ] as const) {
    const report = await json(
      'gradients',
      smallModel,
      '--device',
      device,
      '--weights',
      at('weights.safetensors'),
      '--batch',
      at('batch.safetensors'),
      '--out',
      at(device)
    )
    losses.push(report.loss)
    const file = await valueOf(openTensorFile(at(device)))
    const shapes = Object.fromEntries([...file.tensors].map(([name, tensor]) => [name, tensor.shape]))
    assert.equal(shapes, {
      loss: [],
      'grad.input': [2, 3, 32, 32],
      'grad.0.weight': [4, 3, 3, 3],
      'grad.0.bias': [4],
      'grad.4.weight': [2, 4],
      'grad.4.bias': [2]
    })
    assert.ok([...file.tensors.values()].every((tensor) => tensor.type === type))
    const bias = new Float64Array(2)
    await valueOf(readTensor(file, 'grad.4.bias', bias))
    // The gradients of softmax cross-entropy sum to zero over the classes.
    assert.ok(Math.abs(bias[0]! + bias[1]!) < 1e-6 && Math.abs(bias[0]!) > 1e-6)
  }
  assert.ok(Math.abs(losses[0]! - losses[1]!) < 1e-6)
})

test('bench times real steps', async () => {
  const report = await json('bench', typescriptModel, '--steps', '2')
  assert.is(report.stepMs.length, 2)
  assert.ok(report.stepMs.every((milliseconds: number) => milliseconds > 0) && report.predictedStepMs > 0)
  assert.ok(report.peakDeviceBytes <= report.predictedPeakBytes)
  assert.is(report.strategy, 'auto')
})

test('the predicted time is of an update, all its micro-batches included, as bench measures it', async () => {
  const [one, four] = [await json('plan', smallModel), await json('plan', smallModel, '--accumulate', '4')]
  assert.ok(four.predictedStepMs > 3.5 * one.predictedStepMs, `${four.predictedStepMs} against ${one.predictedStepMs}`)
  assert.ok(four.verifiedMs > 0)
})

test('bench says where the time of the fastest step went, by kernel', async () => {
  const { breakdown, stepMs, predictedStepMs } = (await json(
    'bench',
    smallModel,
    '--strategy',
    'plain',
    '--steps',
    '2',
    '--breakdown'
  )) as BenchReport
  const sum = (of: (row: KernelTime) => number): number => breakdown!.reduce((total, row) => total + of(row), 0)
  const rectified = breakdown!.find(({ kernel }) => kernel === 'convolutionForward, direct, rectified')
  assert.ok(rectified !== undefined && rectified.launches > 0)
  assert.ok(breakdown!.every(({ measuredMs, predictedMs, launches }) => measuredMs > 0 && predictedMs > 0 && Number.isInteger(launches)))
  assert.ok(sum(({ measuredMs }) => measuredMs) <= Math.min(...stepMs))
  // Without copies to the host, what is predicted of a step is what is predicted of its launches,
  // each in whole nanoseconds.
  assert.ok(Math.abs(sum(({ predictedMs }) => predictedMs) - predictedStepMs) <= 1e-6 * sum(({ launches }) => launches))
  // What loads ahead takes nothing of the time in which others compute.
  await json('plan', smallModel, '--strategy', 'sft', '--budget', '60%', '--out', at('ahead.json'))
  const inTurn = readFileSync(at('ahead.json'), 'utf8')
  writeFileSync(at('ahead.json'), inTurn.replace('"recompute": true', '"recompute": true, "prefetch": true'))
  const ahead = (await json('bench', smallModel, '--plan', at('ahead.json'), '--steps', '1', '--breakdown')) as BenchReport
  assert.equal(
    ahead.breakdown!.filter(({ beside }) => beside).map(({ kernel }) => kernel),
    ['loadImage, beside computing']
  )
  const { stdout } = await runInTurn(['bench', smallModel, '--steps', '1', '--breakdown'])
  assert.match(stdout, /kernel .* launches .* measured .* predicted .* share/)
  assert.match(stdout, /between launches/)
  assert.match(stdout, /^1 step [\d.]+ m?s \(predicted /m)
  assert.not('breakdown' in (await json('bench', smallModel, '--steps', '1')))
})

test('Ctrl-C before the first step ends bench with status 130', async () => {
  let plan = ''
  const { status, stderr } = await tilefold(['bench', smallModel, '--steps', '1000000'], (child) =>
    child.stderr?.on('data', (text) => {
      plan += text
      if (!child.killed && plan.includes('predicted')) child.kill('SIGINT')
    })
  )
  assert.is(status, 130, stderr)
  assert.match(stderr, /interrupted after \d+ of 1000000 steps\.\n$/)
})

test('Ctrl-C ends training with status 130 and keeps the weights of the last copy', async () => {
  const args = training('--steps', '1000000', '--save', at('interrupted.safetensors'))
  const { status, stderr } = await run(args, (child) => child.stderr?.once('data', () => child.kill('SIGINT')))
  assert.is(status, 130, stderr)
  assert.match(stderr, /interrupted after \d+ of 1000000 steps; .*interrupted\.safetensors holds the weights after step \d+\.\n$/)
  assert.ok(existsSync(at('interrupted.safetensors')))
  const resumed = await json(...training('--steps', '1', '--weights', at('interrupted.safetensors')))
  assert.is(resumed.steps, 1)
})

test.run()
