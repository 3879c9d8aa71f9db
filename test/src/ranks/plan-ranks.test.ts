/** Plans for ranks on a network that is described: nothing of MPI is needed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type PlanFile, batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../../dsl'
import { type PlanReport, compare, explain, plan } from '../../../src'
import type { PlanOptions } from '../../../src/option-tables/command-options'
import { allToAllNanoseconds, exchangeNanoseconds } from '../../../staging/devices/network'
import { inSystems } from '../../in-systems'
import { compiledCommand } from '../compiled-command'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const { runInTurn: run } = compiledCommand()
const folder = temporaryFolder()

const normalising = model({
  name: 'normalising',
  input: [1, 3, 64, 32],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), batchNorm(), relu, conv2d({ out: 8, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })]
})

const options = { model: normalising, device: 'reference', precision: 'float32' } as const

const onRanks = (more: Partial<PlanOptions>): Promise<PlanReport> => valueOf(plan({ ...options, ranks: 2, ...more }))

test('an exchange takes its bytes, a latency, and what posting further messages takes', () => {
  const network = { bytesPerSecond: 1e9, latencySeconds: 1e-5 }
  // To each other rank a message, whether all get the same or not.
  for (const sendStride of [0, 1e6]) assert.is(allToAllNanoseconds({ ranks: 4, bytes: 1e6, sendStride }, network), 1.5e4 + 3e6)
  assert.is(allToAllNanoseconds({ ranks: 1, bytes: 1e6, sendStride: 0 }, network), 0)
  // Many get the same in rounds of doubling.
  assert.is(allToAllNanoseconds({ ranks: 64, bytes: 1e3, sendStride: 0 }, network), 6e4 + 6.3e4)
  assert.is(allToAllNanoseconds({ ranks: 63, bytes: 1e3, sendStride: 0 }, network), 16.25e4 + 6.2e4)
  assert.is(allToAllNanoseconds({ ranks: 64, bytes: 1e3, sendStride: 1e3 }, network), 16.5e4 + 6.3e4)
  const sizes = (...bytes: readonly number[]) => bytes.map((each) => ({ bytes: each }))
  assert.is(exchangeNanoseconds({ sends: sizes(1000, 3000), receives: sizes(2000) }, network), 1.25e4 + 4000)
  assert.is(exchangeNanoseconds({ sends: [], receives: [] }, network), 0)
})

test('a rank receives the rows that it reads of others, the gradients of its own, and their statistics', async () => {
  const { ranks, segments } = await onRanks({ network: '10Gb/s,20us' })
  assert.equal(ranks!.mesh, { microBatches: 1, rows: 2 })
  assert.equal(
    segments.map(({ from, to }) => [from, to]),
    [
      [0, 1],
      [1, 3],
      [3, 5],
      [5, 7]
    ]
  )
  // A row of 32 pixels and 4 channels, of the activation and of the gradient; three moments and two
  // sums a channel.
  const [row, statistics] = [32 * 4 * 4, 4 * (3 + 2) * 8]
  // Behind the pool each gets the sum of the other.
  assert.equal(ranks!.receivedBytes, [statistics, 2 * row, 8 * 4, 0])
  const exchanged = new Map(ranks!.exchanged.map((one) => [one.what, one]))
  assert.is(exchanged.get('statistics')!.bytes, statistics)
  assert.is(exchanged.get('statistics')!.rounds, 2)
  assert.is(exchanged.get('rows')!.bytes, 2 * row + 8 * 4)
  // 4·27 + 4 + 4 + 4 + 8·36 + 8 parameters, each half to the other, and back; not those of the
  // last layer, which both compute alike.
  assert.is(exchanged.get('gradients')!.bytes, 416 * 4)
})

test('ranks that share images receive statistics of others alone, and rows where they share those too', async () => {
  const sharing = async (size: number) => {
    const { mesh, exchanged, receivedBytes } = (await onRanks({ network: '10Gb/s,20us', input: [2, 3, 64, 32], ranks: size })).ranks!
    const beside = exchanged.filter(({ what }) => what !== 'gradients')
    assert.is(
      receivedBytes.reduce((sum, bytes) => sum + bytes, 0),
      beside.reduce((sum, { bytes }) => sum + bytes, 0)
    )
    return { mesh, received: beside.map(({ what }) => what) }
  }
  assert.equal(await sharing(2), { mesh: { microBatches: 1, rows: 1, images: 2 }, received: ['statistics'] })
  assert.equal(await sharing(4), { mesh: { microBatches: 1, rows: 2, images: 2 }, received: ['rows', 'statistics'] })
})

test('ranks exchange rows in bf16, and sums over them in float32', async () => {
  const { ranks } = await onRanks({ network: '10Gb/s,20us', precision: 'bf16' })
  const exchanged = new Map(ranks!.exchanged.map((one) => [one.what, one]))
  const received = ranks!.receivedBytes.reduce((sum, bytes) => sum + bytes, 0) - exchanged.get('statistics')!.bytes
  assert.is(received, exchanged.get('rows')!.bytes)
  assert.is((received - 8 * 4) % (32 * 4 * 2), 0)
})

test('rows of many images with many channels are shared, and proved as fast as those of one', async () => {
  const deep = model({
    name: 'deep',
    input: [15, 3, 16, 16],
    layers: [conv2d({ out: 512, k: 3, p: 1 }), relu, conv2d({ out: 512, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
  })
  const { ranks, verifiedMs } = await onRanks({ model: deep, strategy: 'plain', device: 'devices/v100-16gb.json' })
  assert.equal(ranks!.mesh, { microBatches: 1, rows: 2 })
  // One after the other, 8,192 planes took a minute.
  assert.ok(verifiedMs < 5000, `${verifiedMs} ms`)
})

test('bits and bytes are told apart, and the usual network is taken where none is given', async () => {
  const reports = [{ network: '10Gb/s,20us' }, { network: '1.25GB/s' }, { network: { bytesPerSecond: 1.25e9, latencySeconds: 2e-5 } }, {}]
  const all = await Promise.all(reports.map(onRanks))
  for (const { ranks, predictedStepMs } of all) {
    assert.equal(ranks!.network, { bytesPerSecond: 1.25e9, latencySeconds: 2e-5 })
    assert.is(predictedStepMs, all[0]!.predictedStepMs)
  }
})

for (const network of ['100', '100Gb', '0Gb/s', '1Gb/s,2', '1Gb/s,2us,3us', '', '-1GB/s', 'fast'])
  test(`"${network}" is no network, said in a sentence`, async () => {
    const { code, message } = await failureOf(plan({ ...options, ranks: 2, network }))
    assert.is(code, 'input')
    assert.match(message, /is not a network: write 100Gb\/s \(bits\) or 12\.5GB\/s \(bytes\), and perhaps its latency, as in 100Gb\/s,2us/)
  })

test('a network from JavaScript is decoded', async () => {
  for (const network of [{ bytesPerSecond: 0, latencySeconds: 1 }, { bytesPerSecond: 1 }, 7]) {
    const { code, message } = await failureOf(plan({ ...options, ranks: 2, network: network as never }))
    assert.is(code, 'input')
    assert.match(message, /^network/)
  }
})

test('a plan file says which segments ranks share, and is held to it', async () => {
  const out = join(folder, 'rows.json')
  const shared = await onRanks({ network: '10Gb/s,20us', out })
  const file = JSON.parse(readFileSync(out, 'utf8')) as PlanFile
  const H = file.segments.map(({ shards }) => shards!.H)
  assert.equal(H, [2, 2, 2, 1])
  const given = (...counts: readonly number[]) => {
    const changed = join(folder, 'changed.json')
    const segments = file.segments.map((segment, place) => ({ ...segment, shards: { B: 1, H: counts[place] } }))
    writeFileSync(changed, JSON.stringify({ ...file, segments }))
    return plan({ ...options, ranks: 2, network: '10Gb/s,20us', plan: changed })
  }
  assert.equal((await valueOf(given(...H))).ranks, shared.ranks)
  const alike = await valueOf(given(2, 2, 1, 1))
  assert.ok(alike.predictedStepMs !== shared.predictedStepMs)
  for (const [counts, sentence] of [
    [[2, 3, 2, 1], 'segment 1..3: shards: 2 ranks share each segment, so B times H must be 2, or both 1; they are 1 and 3.'],
    [[2, 2, 2, 2], 'segment 5..7: cannot shard along H; linear allows B.']
  ] as const)
    assert.match((await failureOf(given(...counts))).message, sentence)
  writeFileSync(out, JSON.stringify({ ...file, objective: 'train with sgd' }))
  const alone = await failureOf(plan({ ...options, plan: out }))
  assert.match(alone.message, 'segment 0..1: shards: no ranks share images or rows here; B and H must be 1, not 1 and 2.')
})

test('micro-batches are shared where each rank gets as many and that is faster, and else images and rows', async () => {
  const meshes = await Promise.all([4, 3, 1].map((accumulate) => onRanks({ ranks: 4, accumulate, input: [2, 3, 64, 32] })))
  assert.equal(
    meshes.map(({ ranks }) => ranks!.mesh),
    [
      { microBatches: 4, rows: 1 },
      { microBatches: 1, rows: 2, images: 2 },
      { microBatches: 1, rows: 2, images: 2 }
    ]
  )
})

test('ranks share as they are told, or are refused with a sentence, also where that is slower', async () => {
  const input = [2, 3, 64, 32] as const
  const told = async (more: Partial<PlanOptions>) => (await onRanks({ ranks: 4, accumulate: 4, input, ...more })).ranks!.mesh
  assert.equal(await told({ shardRows: 1 }), { microBatches: 4, rows: 1 })
  assert.equal(await told({ shardRows: true }), { microBatches: 1, rows: 4 })
  assert.equal(await told({ shardRows: 2 }), { microBatches: 2, rows: 2 })
  assert.equal(await told({ shardRows: 2, shardImages: true }), { microBatches: 1, rows: 2, images: 2 })
  const refused = await failureOf(plan({ ...options, ranks: 4, accumulate: 4, shardRows: 3 }))
  assert.is(refused.message, '4 ranks make no groups of 3 that share rows: start a multiple of 3, or give --shard-rows a divisor of 4')
  for (const more of [{ shardRows: 2 }, { shardImages: 2 }, { shardOptimizer: true }] as const)
    assert.match((await failureOf(plan({ ...options, ...more }))).message, /^--[a-z-]+ needs --ranks: give both$/)
  const rows = await valueOf(compare({ ...options, ranks: 4, accumulate: 4, shardRows: true, strategies: ['plain'], budgets: ['100%'] }))
  assert.is(rows.rows.length, 1)
  assert.ok(rows.rows[0]!.predictedStepMs! > (await onRanks({ ranks: 4, accumulate: 4, strategy: 'plain' })).predictedStepMs)
})

const v100 = { device: 'devices/v100-16gb.json' } as const
const vgg16 = { ...v100, model: 'vgg16', classes: 2 } as const

const convolution = <const Out extends number>(out: Out) => [conv2d({ out, k: 3, p: 1 }), relu] as const
const half = maxPool2d({ k: 2 })
const stem = [...convolution(64), half, ...convolution(128), half] as const
const end = [half, ...convolution(512), globalAvgPool, linear({ out: 2 })] as const
/** Begins as VGG-11 does, which has more layers and takes four times as long to plan. */
const shallow = model({ name: 'shallow', input: [1, 3, 512, 512], layers: [...stem, ...convolution(256), ...convolution(256), ...end] })
/** With more parameters, so that in little memory the optimizer is sharded. */
const heavy = model({ name: 'heavy', input: [1, 3, 512, 512], layers: [...stem, ...convolution(512), ...convolution(512), ...end] })

// npx ts-node bench/ranks.ts --models vgg16,resnet18 --size 1024 --ranks 1,2,4,8
const golden = [
  ['vgg16', '10Gb/s,20us', [1, 1.45, 1.59, 1.59]],
  ['vgg16', '100Gb/s,2us', [1, 1.89, 3.45, 5.9]],
  ['resnet18', '100Gb/s,2us', [0.94, 1.33, 1.61, 1.71]]
] as const

for (const [name, network, speedUps] of golden.filter(([, network]) => inSystems || network === '100Gb/s,2us'))
  test(`the speed-ups of ${name} at 1024 pixels a side on ${network} are as they were`, async () => {
    const found: number[] = []
    for (const ranks of inSystems ? [1, 2, 4, 8] : [1, 4]) {
      const report = await valueOf(plan({ ...vgg16, model: name, input: [1, 3, 1024, 1024], ranks, network }))
      found.push(Number(report.ranks!.speedUp.toFixed(2)))
    }
    assert.equal(found, inSystems ? speedUps : [speedUps[0], speedUps[2]])
  })

test('of meshes the fastest is planned for: micro-batches as far as they go, and rows beside them', async () => {
  const asked = { ...v100, model: shallow, network: '100Gb/s,2us' } as const
  const meshOf = async (ranks: number, accumulate: number) => (await valueOf(plan({ ...asked, ranks, accumulate }))).ranks!.mesh
  assert.equal(await meshOf(4, 4), { microBatches: 4, rows: 1 })
  assert.equal(await meshOf(8, 4), { microBatches: 4, rows: 2 })
  assert.equal(await meshOf(4, 3), { microBatches: 1, rows: 4 })
  const batches = plan({ ...asked, input: [4, 3, 512, 512], ranks: 4 })
  assert.equal((await valueOf(batches)).ranks!.mesh, { microBatches: 1, rows: 1, images: 4 })
})

for (const [ranks, mesh] of [
  [4, 'micro-batches'],
  [8, 'micro-batches and rows']
] as const)
  test(`times of segments, and what no plan undercuts, are those of a rank that shares ${mesh}`, async () => {
    const asked = { ...v100, model: shallow, network: '100Gb/s,2us', accumulate: 4, ranks } as const
    const { predictedStepMs, lowerBoundMs, segments } = await valueOf(explain(asked))
    const ofSegments = segments.reduce((sum, segment) => sum + segment.predictedMs, 0)
    assert.ok(lowerBoundMs! <= predictedStepMs!, `${predictedStepMs} ms are less than the least of ${lowerBoundMs}`)
    assert.ok(ofSegments < predictedStepMs! && 4 * ofSegments > predictedStepMs!, `${ofSegments} ms of ${predictedStepMs}`)
  })

test('what compare and explain tell of ranks is what plan does', async () => {
  const asked = { ...v100, model: shallow, ranks: 4, network: '100Gb/s,2us' } as const
  const planned = await valueOf(plan(asked))
  const { rows } = await valueOf(compare({ ...asked, budgets: ['100%'], strategies: ['plain'] }))
  const plain = await valueOf(plan({ ...asked, strategy: 'plain' }))
  assert.equal([rows[0]!.predictedStepMs, rows[0]!.peakDeviceBytes], [plain.predictedStepMs, plain.peakDeviceBytes])
  assert.equal(rows[0]!.mesh, plain.ranks!.mesh)
  const explained = await valueOf(explain(asked))
  assert.equal(explained.ranks, planned.ranks)
  assert.is((await valueOf(explain({ ...asked, ranks: undefined as never }))).ranks, null)
})

test('compare and explain find for each budget the mesh, and the way to keep the optimizer, that plan does', async () => {
  const asked = { ...v100, model: heavy, ranks: 4, network: '10GB/s,2us' } as const
  const budgets = ['20%', '24%', '100%']
  const strategies = inSystems ? (['auto', 'sft'] as const) : (['auto'] as const)
  const { rows } = await valueOf(compare({ ...asked, budgets, strategies }))
  for (const row of rows) {
    const planned = await valueOf(plan({ ...asked, budget: row.budgetBytes, strategy: row.strategy }))
    assert.equal([row.predictedStepMs, row.mesh], [planned.predictedStepMs, planned.ranks!.mesh])
  }
  const steps = (strategy: string) => rows.flatMap((row) => (row.strategy === strategy ? row.predictedStepMs! : []))
  for (const strategy of strategies)
    assert.equal(
      steps(strategy),
      [...steps(strategy)].sort((a, b) => b - a)
    )
  assert.ok(rows.some(({ mesh }) => mesh!.shardsOptimizer) && rows.some(({ mesh }) => !mesh!.shardsOptimizer))
  const explained = await valueOf(explain({ ...asked, budget: rows[1]!.budgetBytes }))
  const fastest = await valueOf(plan({ ...asked, budget: explained.larger.at(-1)!.budgetBytes }))
  assert.equal([explained.larger.at(-1)!.predictedStepMs, explained.larger.at(-1)!.mesh], [fastest.predictedStepMs, fastest.ranks!.mesh])
})

test('what ranks compute again is told of all that share a micro-batch: nothing where each runs whole ones', async () => {
  const asked = {
    ...vgg16,
    input: [1, 3, 512, 512],
    ranks: 2,
    network: '100Gb/s,2us',
    budgets: ['100%'],
    strategies: ['plain', 'auto']
  } as const
  const forward = 2 * 80.5e9
  for (const { mesh, recomputedFlops } of (await valueOf(compare({ ...asked, accumulate: 2 }))).rows)
    if (mesh!.rows === 1) assert.is(recomputedFlops, 0)
    else assert.ok(recomputedFlops! > 0 && recomputedFlops! < 0.05 * forward, `${recomputedFlops}`)
})

test('of meshes too each row of compare is what plan finds', async () => {
  const asked = { ...options, input: [2, 3, 64, 32], accumulate: 2, ranks: 4, network: '10Gb/s,20us' } as const
  const { rows } = await valueOf(compare({ ...asked, budgets: ['60%', '100%'], strategies: ['auto'] }))
  for (const row of rows) {
    const planned = await valueOf(plan({ ...asked, budget: row.budgetBytes }))
    assert.equal([row.predictedStepMs, row.mesh], [planned.predictedStepMs, planned.ranks!.mesh])
  }
})

test('the command says how ranks share a step, what they exchange and what they gain', async () => {
  const args = ['vgg11', '--classes', '2', '--input', '1x3x512x512', '--device', 'devices/v100-16gb.json', '--ranks', '4']
  const { status, stdout, stderr } = await run(['plan', ...args, '--network', '100Gb/s,2us'])
  assert.is(status, 0, stderr)
  for (const words of [
    'received at its end',
    '4: rows of each image, 4 parts',
    '100 Gb/s, 2 µs',
    'exchanged gradients',
    'over one process with all'
  ])
    assert.ok(stdout.includes(words), `${words} is not in\n${stdout}`)
  const told = await run(['explain', ...args, '--network', '100Gb/s,2us'])
  assert.match(told.stdout, /of ranks that exchange nothing and compute nothing twice; most time goes to /)
})

test('ranks that share micro-batches swap to the host as one process does', async () => {
  const host = { hostBudget: '1GB', strategy: 'sft-offload', device: 'devices/v100-16gb.json', budget: '60%', accumulate: 2 } as const
  const { ranks, peakHostBytes, peakDeviceBytes } = await onRanks(host)
  assert.equal(ranks!.mesh, { microBatches: 2, rows: 1 })
  assert.ok(peakHostBytes > 0)
  const one = await onRanks({ ...host, ranks: 1 })
  assert.equal([one.peakHostBytes, one.peakDeviceBytes], [peakHostBytes, peakDeviceBytes])
})

test('ranks that share rows swap to the host where that is faster', async () => {
  const setup = { ...v100, model: shallow, input: [1, 3, 1024, 1024], ranks: 4 } satisfies Partial<PlanOptions>
  const within = (hostBudget?: string): Promise<PlanReport> =>
    valueOf(plan({ ...setup, network: '10GB/s,2us', budget: '15%', ...(hostBudget !== undefined && { hostBudget }) }))
  const [resident, swapped] = [await within(), await within('1GB')]
  assert.is(swapped.ranks!.mesh.rows, 4)
  assert.ok(swapped.peakHostBytes > 0 && swapped.swapSchedule.length > 0)
  assert.ok(swapped.predictedStepMs < resident.predictedStepMs, `${swapped.predictedStepMs} is not less than ${resident.predictedStepMs}`)
})

for (const [what, more, sentence] of [
  ['a forward pass', { evaluate: true }, '--ranks is for training steps: leave --evaluate out'],
  ['more ranks than rows', { ranks: 65 }, 'normalising: 65 ranks cannot share the 64 rows of an image; start fewer.']
] as const)
  test(`ranks and ${what} are refused in a sentence`, async () => {
    assert.is((await failureOf(plan({ ...options, ranks: 2, ...more }))).message, sentence)
  })

test.run()
