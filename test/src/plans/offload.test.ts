/** Chains, their offloading, and devices that a file describes, as a user meets them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { bench, chain, gradients, offload, plan, profile, train } from '../../../src'
import { root } from '../command-line'
import { compiledCommand } from '../compiled-command'
import { failureOf, valueOf } from '../outcome'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const { runInTurn: run, runsInTurn, smallModel } = compiledCommand()
const at = (name: string): string => join(folder, name)
const device = join(root, 'devices', 'v100-16gb.json')

const json = async (...args: readonly string[]) => {
  const { status, stdout, stderr } = await run([...args, '--json'])
  assert.is(status, 0, stderr)
  return JSON.parse(stdout)
}

const vgg = ['chain', 'vgg16', '--classes', '2', '--input', '8x3x224x224', '--device', device] as const

test('chain writes what it tells, and offload reads it', async () => {
  const report = await json(...vgg, '--out', at('vgg16.json'))
  assert.equal(JSON.parse(readFileSync(at('vgg16.json'), 'utf8')), report.chain)
  assert.is(report.chain.stages.length, 21)
  assert.is(report.chain.beta, 12.2e9)
  assert.ok(report.leastBytes < report.peakBytes && report.residentBytes > 4 * 14e6)

  for (const strategy of ['greedy', 'dynprog', 'vdnn']) {
    const offloaded = await json('offload', at('vgg16.json'), '--memory', '85%', '--strategy', strategy)
    assert.is(offloaded.strategy, strategy)
    assert.is(offloaded.memoryBytes, Math.floor(0.85 * report.peakBytes))
    assert.is(offloaded.peakBytes, report.peakBytes)
    assert.is(offloaded.relativeMakespan, offloaded.makespanMs / offloaded.lowerBoundMs)
    assert.ok(offloaded.relativeMakespan >= 1 && offloaded.lowerBoundMs >= offloaded.computeMs)
    const gone = offloaded.stages.filter((stage: { readonly offload: boolean }) => stage.offload)
    assert.ok(gone.length > 0 && gone.every((stage: Record<string, number>) => stage.prefetchMs! > stage.offloadMs!))
  }
  const { status, stdout } = await run(['offload', at('vgg16.json'), '--memory', '85%', '--slots', '50'])
  assert.is(status, 0)
  assert.match(stdout, /strategy dynprog[^]*relative makespan +│ 1\.\d{3}/)
  assert.match((await run([...vgg])).stdout, /vgg16: 21 stages, .* of computation, 12\.2 GB\/s between device and host\./)
})

test('with all the memory that it needs nothing goes, and the step is its computation', async () => {
  const offloaded = await json('offload', at('vgg16.json'), '--memory', '100%')
  assert.equal([offloaded.offloadedBytes, offloaded.relativeMakespan], [0, 1])
})

test('the library takes chains and devices as values', async () => {
  const made = await valueOf(chain({ model: small, device: 'reference' }))
  const report = await valueOf(offload({ chain: made.chain, memory: made.leastBytes, strategy: 'greedy' }))
  assert.ok(report.offloadedBytes >= made.peakBytes - made.leastBytes)
  const file = JSON.parse(readFileSync(device, 'utf8'))
  const planned = await valueOf(plan({ model: small, device: file }))
  assert.is(planned.budgetBytes, file.memoryBytes)
  assert.match(
    (await failureOf(plan({ model: small, device: { ...file, name: '' } }))).message,
    /^the device: name is "", not a name; write it as/
  )
  const broken = { ...made.chain, beta: -1 }
  assert.match((await failureOf(offload({ chain: broken, memory: 1e9 }))).message, /^the chain: beta is -1, not a number of bytes a second/)
  assert.match((await failureOf(offload({ chain: made.chain, memory: 1e9, slots: 0 }))).message, /^slots is 0, not a whole number from 1/)
})

test('a plan for a device of a file: its memory is the budget, its rates give the times', async () => {
  const options = ['plan', 'vgg16', '--classes', '2', '--input', '1x3x512x512', '--device', device]
  const planned = await json(...options, '--out', at('v100.json'))
  assert.is(planned.budgetBytes, 16911433728)
  assert.equal(JSON.parse(readFileSync(at('v100.json'), 'utf8')).device, { name: 'v100-16gb', precision: 'float32', threads: 1 })
  assert.is(planned.timesFrom.roofline, 1)
  const halved = { ...JSON.parse(readFileSync(device, 'utf8')), flopsPerSecond: { float32: 7e12, float64: 7e12 } }
  writeFileSync(at('half.json'), JSON.stringify(halved))
  const slower = await json(...options.slice(0, -1), at('half.json'))
  assert.ok(slower.predictedStepMs > 1.8 * planned.predictedStepMs && slower.predictedStepMs < 2 * planned.predictedStepMs)
  assert.match((await run(options)).stdout, /│ times +│ by the rates of v100-16gb/)
  const wide = await json(...options, '--precision', 'float64')
  assert.ok(wide.plainPeakBytes > 1.9 * planned.plainPeakBytes)
})

const written = (name: string, value: unknown): string => {
  writeFileSync(at(name), typeof value === 'string' ? value : JSON.stringify(value))
  return at(name)
}

type Refused = readonly (readonly [args: readonly string[], sentence: RegExp])[]

/** Exit 2 with one sentence, of each command. */
const refuses = async (cases: Refused): Promise<void> => {
  const answers = await runsInTurn(cases.map(([args]) => args))
  cases.forEach(([, sentence], index) => {
    const { status, stderr } = answers[index]!
    assert.is(status, 2)
    assert.match(stderr, sentence)
    assert.match(stderr, /^[^\n]+\.\n$/)
  })
}

test('files of another shape are a sentence with the place that is wrong', async () => {
  const good = JSON.parse(readFileSync(at('vgg16.json'), 'utf8'))
  const [first] = good.stages
  const chains: readonly (readonly [value: unknown, sentence: RegExp])[] = [
    [
      { ...good, stages: [{ ...first, x: -1 }] },
      /^the chain .*file\.json: stages\[0\]\.x is -1, not a whole number of bytes from 0 .*; tilefold research chain writes one\.$/m
    ],
    [{ ...good, stages: [{ ...first, u_F: -0.5 }] }, /: stages\[0\]\.u_F is -0\.5, not a number of milliseconds from 0 /],
    [{ ...good, stages: [{ ...first, u_B: undefined }] }, /: stages\[0\]\.u_B is missing; /],
    [
      { ...good, stages: [{ ...first, u_F: 0, u_B: 0 }] },
      /^the chain .*file\.json: stages take no time: u_F and u_B of all are 0, .*; tilefold research chain writes one\.$/m
    ],
    [{ ...good, beta: null }, /: beta is null, not a number of bytes a second/],
    [{ ...good, output: undefined }, /: output is missing; /],
    [[1, 2], /: it holds no chain; /],
    ['{', /^the chain .*file\.json is no JSON: /]
  ]
  const v100 = JSON.parse(readFileSync(device, 'utf8'))
  const times = [{ kernel: { kind: 'copyBox', rows: 4 }, milliseconds: 0.1 }]
  const cpu = { device: 'cpu', library: 'x', threads: 2, linkBytesPerSecond: v100.linkBytesPerSecond, kernels: times }
  const devices: readonly (readonly [value: unknown, sentence: RegExp])[] = [
    [
      { ...cpu, linkBytesPerSecond: { toHost: 1e9 } },
      /^the device .*file\.json: linkBytesPerSecond\.toDevice is missing; measure it again on its machine, with tilefold profile/
    ],
    [{ ...cpu, threads: 1.5 }, /: threads is 1\.5, not a whole number above 0; measure it again /],
    [{ ...cpu, kernels: [{ kernel: times[0]!.kernel }] }, /: kernels\[0\]\.milliseconds is missing; /],
    [
      { ...cpu, kernels: [{ ...times[0], kernel: { kind: 'copyBox', rows: null } }] },
      /: kernels\[0\]\.kernel\.rows is null, not a string; /
    ],
    [{ ...cpu, device: 'cuda' }, /: device is "cuda", not cpu; .*\(of cuda with --out\)\.$/m],
    [{ ...v100, name: undefined }, /: name is missing; write it as devices\/v100-16gb\.json is written\.$/m],
    [{ ...v100, bytesPerSecond: 0 }, /: bytesPerSecond is 0, not a number above 0; /],
    [{ ...v100, flopsPerSecond: { float32: '1e13', float64: 1 } }, /: flopsPerSecond\.float32 is "1e13", not a number above 0; /],
    [[], /: it holds no device; /]
  ]
  const file = (value: unknown, index: number): string => written(`${index}-file.json`, value)
  await refuses([
    ...chains.map(([value, sentence], index) => [['offload', file(value, index), '--memory', '1GiB'], sentence] as const),
    ...devices.map(([value, sentence], index) => [['plan', smallModel, '--device', file(value, chains.length + index)], sentence] as const)
  ])
})

test('a device of a file runs nothing', async () => {
  const options = { model: small, device: device as `${string}.json` }
  const files = { weights: at('nowhere'), batch: at('nowhere'), out: at('out.safetensors') }
  const data = join(root, 'examples', 'data', 'classes')
  for (const outcome of [bench(options), profile(options), gradients({ ...options, ...files }), train({ ...options, data })]) {
    const { code, message } = await failureOf(outcome)
    assert.is(code, 'input')
    assert.is(message, '--device: v100-16gb is known from a file and can only be planned for; give cpu, cuda or reference to run')
  }
})

test('what is wrong is one sentence, and the promised exit status', async () => {
  writeFileSync(at('misspelt.json'), JSON.stringify({ ...JSON.parse(readFileSync(device, 'utf8')), multiProcessors: 80 }))
  const cases: readonly (readonly [args: readonly string[], status: number, sentence: RegExp])[] = [
    [['offload', at('nowhere.json'), '--memory', '1GiB'], 2, /^the chain .*nowhere\.json cannot be read: no such file/],
    [
      ['offload', at('vgg16.json'), '--memory', '1MiB'],
      3,
      /^vgg16 does not fit into 1048576 bytes: its largest operation alone needs \d+;/
    ],
    [['offload', at('vgg16.json')], 2, /^required option '--memory <size>' not specified/],
    [
      ['offload', at('vgg16.json'), '--memory', '1GiB', '--slots', '50', '--strategy', 'greedy'],
      2,
      /^--slots: strategy greedy divides no memory; leave it out, or take --strategy dynprog\.$/m
    ],
    [['offload', at('vgg16.json'), '--memory', '1GiB', '--slots', '0'], 2, /^--slots: "0" is not a whole number from 1/],
    [[...vgg, '--out', at('chain.ts')], 2, /chain\.ts: a chain file is named \*\.json/],
    [['plan', smallModel, '--device', at('nowhere.json')], 2, /^the device .*nowhere\.json cannot be read/],
    [
      ['plan', smallModel, '--device', at('misspelt.json')],
      2,
      /^the device .*misspelt\.json: a device has no field multiProcessors; did you mean multiprocessors\?$/m
    ],
    [
      ['plan', smallModel, '--device', device, '--budget', '17GiB'],
      2,
      /^the budget of 18253611008 bytes is more than the 16911433728 that v100-16gb/
    ]
  ]
  const answers = await runsInTurn(cases.map(([args]) => [...args, '--json']))
  cases.forEach(([, status, sentence], index) => {
    const ended = answers[index]!
    assert.match(ended.stderr, sentence)
    assert.is(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr)
    assert.is(ended.status, status)
    const report = JSON.parse(ended.stdout)
    assert.is(`${report.error.message}\n`, ended.stderr)
    if (status === 3) assert.ok(report.feasible === false && report.smallestFeasibleBudgetBytes > 2 ** 20)
  })
})

test.run()
