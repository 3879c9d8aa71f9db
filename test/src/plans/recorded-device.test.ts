/**
 * A GPU's answers in a file: plans that are made from it elsewhere. They come from a stand-in,
 * since no GPU has been recorded.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { plan, profile } from '../../../src'
import { makePlan } from '../../../src/commands/plan'
import { buildSetupGraph, imageNetSource, planRequest } from '../../../src/plans/plan-network'
import {
  type Objective,
  type ProfiledModel,
  type RecordedDevice,
  type Staged,
  fileModel,
  isConvolution,
  toPlanFile,
  planFileText,
  withProfile,
  createRecording,
  referenceModel,
  stageGraph,
  findUnrecorded,
  verify
} from '../../../staging'
import { gpuModel } from '../../../staging/devices/gpu-model'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../../dsl'
import { must } from '../../must'
import { gpuDouble } from '../../staging/gpu-answers'
import { compiledCommand } from '../compiled-command'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const { runInTurn: run, runsInTurn, smallModel } = compiledCommand()
const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const objective: Objective = { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } }
const block = (out: number) => [conv2d({ out, k: 3, p: 1 }), relu, conv2d({ out, k: 3, p: 1 }), relu, maxPool2d({ k: 2 })]
const network = model({ name: 'blocks', layers: [...block(8), ...block(16), ...block(32), globalAvgPool, linear({ out: 2 })] })

/** The stand-in as it is planned for on its own machine. */
const { answers } = gpuDouble()
const asked = createRecording(answers)
const linkBytesPerSecond = { toDevice: 2e10, toHost: 3e10 }
const base = gpuModel(asked, { threads: 1, linkBytesPerSecond })

const setup = { model: network, input: [1, 3, 250, 190], device: 'cuda', budget: { kind: 'ofPlain', fraction: 0.4 } } as const
const stagedOn = (device: ProfiledModel): Staged => {
  const built = must(buildSetupGraph(setup, objective, imageNetSource))
  return must(stageGraph(built.graph, must(planRequest(built, { known: device }))))
}
const staged = (kernels: RecordedDevice['kernels']): Staged => {
  const device = withProfile(base, { kernels, linkBytesPerSecond })
  return stagedOn(device)
}
// As a profile measures them: other times than the rough model's, which lead to another plan.
const kernels = staged([]).program.kernels.map((kernel) => ({
  kernel: { ...kernel },
  milliseconds: 50 * referenceModel('float32').milliseconds(kernel)
}))
const there = staged(kernels)
const file: RecordedDevice = {
  recorded: 'cuda',
  name: 'stand-in',
  library: 'cuDNN 9',
  precision: 'float32',
  memoryBytes: 2 ** 33,
  ...{ multiprocessors: 1, ...answers.rates },
  linkBytesPerSecond,
  layouts: answers.layouts,
  ...asked.recorded(),
  kernels
}
writeFileSync(at('gpu.json'), JSON.stringify(file))

const here = { model: network, input: [1, 3, 250, 190], device: at('gpu.json') as `${string}.json`, budget: '40%' } as const

test('the plan from the file is the plan on the GPU, byte for byte', async () => {
  const report = await valueOf(plan({ ...here, out: at('plan.json') }))
  assert.is(readFileSync(at('plan.json'), 'utf8'), planFileText(toPlanFile(there), { kind: 'json' }))
  assert.ok(report.segments.some(({ grid }) => grid.H * grid.W > 1))
  assert.is(report.predictedStepMs, there.predicted.stepMilliseconds)
  assert.ok(report.timesFrom.measured > 0.4, JSON.stringify(report.timesFrom))
  assert.equal(findUnrecorded(file, there.program.kernels), [])
})

test('a GPU that was recorded in bf16 is planned for in bf16, byte for byte', async () => {
  const { answers } = gpuDouble('bf16')
  const asked = createRecording(answers)
  const device = withProfile(gpuModel(asked, { threads: 1, linkBytesPerSecond }), { kernels: [], linkBytesPerSecond })
  const inBf16 = stagedOn(device)
  const { staged } = await valueOf(makePlan({ ...here, device: { ...file, precision: 'bf16', ...asked.recorded(), kernels: [] } }))
  assert.is(staged.program.precision, 'bf16')
  assert.equal(toPlanFile(staged), toPlanFile(inBf16))
  assert.ok(staged.predicted.plainPeakBytes < 0.6 * there.predicted.plainPeakBytes)
})

test('other sizes take what the nearest recorded convolutions take, and at least as much scratch where they are larger', async () => {
  const options = { ...here, input: [1, 3, 500, 380] }
  const model = fileModel(file, 'float32')
  const { staged } = await valueOf(makePlan(options))
  const convolutions = staged.program.kernels.filter(isConvolution)
  const guessed = findUnrecorded(file, convolutions)
  assert.ok(guessed.length > 0)
  must(verify(staged.program))
  for (const kernel of convolutions) {
    const bytes = model.scratchBytes(kernel)!
    if (!guessed.includes(kernel)) assert.is(bytes, answers.scratchBytes({ ...kernel, ...('slope' in kernel && { slope: 1 }) }))
    else assert.ok(Number.isInteger(bytes) && bytes >= 0 && bytes < 2 ** 33, `${bytes}`)
  }
})

test('a network of other convolutions is planned by direct kernels, and the command says what was not recorded', async () => {
  const { status, stdout, stderr } = await run(['plan', smallModel, '--device', at('gpu.json'), '--json'])
  assert.is(status, 0, stderr)
  assert.ok(JSON.parse(stdout).feasible)
  assert.match(stderr, /^stand-in was not asked about 2 of the plan's 2 convolutions: .* with tilefold profile --device cuda --out\.\n$/)
})

test('a file that is damaged, of another version, or used for what it is not is one sentence', async () => {
  const { kernel, listed } = file.algorithms[0]!
  const { slope: _, ...cut } = kernel as { readonly slope?: number } & typeof kernel
  const remedy = '; record it again on its GPU, with tilefold profile --device cuda --out.\n'
  const files: readonly (readonly [value: unknown, sentence: string])[] = [
    [{ ...file, recorded: 'cpu' }, 'recorded is "cpu", not the cuda device'],
    [{ ...file, name: undefined }, 'name is missing'],
    [{ ...file, precision: 'float64' }, 'precision is "float64", not float32, tf32 or bf16'],
    [{ ...file, memoryBytes: -1 }, 'memoryBytes is -1, not a number above 0'],
    [{ ...file, layouts: { ...file.layouts, input: 'round' } }, 'layouts.input is "round", not a layout'],
    [{ ...file, scratch: [{ kernel, scratchBytes: 1.5 }] }, 'scratch[0].scratchBytes is 1.5, not a whole number of bytes, or null'],
    [
      { ...file, algorithms: [{ kernel: cut, listed }] },
      `algorithms[0].kernel is ${JSON.stringify(cut)}, not a convolution with this version's fields`
    ],
    [
      { ...file, algorithms: [{ kernel: { ...kernel, outHeight: -3 }, listed }] },
      `algorithms[0].kernel is ${JSON.stringify({ ...kernel, outHeight: -3 })}, not a convolution with this version's fields`
    ]
  ]
  const paths = files.map(([value], index) => {
    writeFileSync(at(`damaged-${index}.json`), JSON.stringify(value))
    return at(`damaged-${index}.json`)
  })
  const answers = await runsInTurn(paths.map((path) => ['plan', smallModel, '--device', path]))
  files.forEach(([, sentence], index) =>
    assert.equal(answers[index], { status: 2, stdout: '', stderr: `the device ${paths[index]}: ${sentence}${remedy}` })
  )
  const uses: readonly (readonly [args: readonly string[], sentence: RegExp])[] = [
    [['plan', '--placement', 'virtual', '--page-size', '64KiB'], /^--page-size: give a multiple of 2097152 bytes, /],
    [
      ['plan', '--precision', 'bf16'],
      /^--precision bf16: the described device stand-in computes in float32; take --device cpu or cuda or reference\.\n$/
    ],
    [['plan', '--budget', '9GiB'], /^the budget of 9663676416 bytes is more than the 8589934592 that stand-in has; lower --budget\.\n$/],
    [['bench'], /^--device: stand-in is known from a file and can only be planned for; /]
  ]
  const refused = await runsInTurn(uses.map(([[command, ...args]]) => [command!, smallModel, '--device', at('gpu.json'), ...args]))
  uses.forEach(([, sentence], index) => {
    const { status, stderr } = refused[index]!
    assert.is(status, 2)
    assert.match(stderr, sentence)
  })
})

test('profile records cuda alone, in a *.json file', async () => {
  const common = { model: network, input: [1, 3, 32, 32] }
  const cpu = await failureOf(profile({ ...common, out: at('cpu.json') }))
  assert.is(cpu.message, '--out: what the cpu device answers is not recorded; take --device cuda, or leave --out out')
  const text = await failureOf(profile({ ...common, device: 'cuda', out: at('gpu.txt') }))
  assert.is(text.message, `--out: ${at('gpu.txt')}: a device file is named *.json`)
})

test.run()
