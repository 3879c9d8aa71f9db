/** The network between ranks, measured, and kept for plans. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { localNetworks } from '../../../native'
import { conv2d, globalAvgPool, linear, model, relu } from '../../../dsl'
import { plan, profile } from '../../../src'
import { profileNetworkAmong } from '../../../src/commands/profile-network'
import { createRanks } from '../../../src/ranks/ranks'
import { fitNetwork } from '../../../staging'
import { must } from '../../must'
import { compiledCommand } from '../compiled-command'
import { launch, withLauncher } from '../open-mpi'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const cache = join(folder, 'cache')
const keptPath = join(cache, 'tilefold', 'network.json')
const before = process.env['XDG_CACHE_HOME']

test.before.each(() => {
  process.env['XDG_CACHE_HOME'] = cache
})

test.after.each(() => {
  if (before === undefined) delete process.env['XDG_CACHE_HOME']
  else process.env['XDG_CACHE_HOME'] = before
})

const keep = (value: object): void => {
  mkdirSync(join(cache, 'tilefold'), { recursive: true })
  writeFileSync(keptPath, JSON.stringify(value))
}

const messagesOf = (latency: number, rate: number) =>
  [1, 2 ** 16, 2 ** 20, 2 ** 24].map((bytes) => ({ bytes, milliseconds: 1e3 * (latency + bytes / rate) }))

test('latency and rate are found of the times of messages, small and large', () => {
  const rates = fitNetwork({ ranks: 2, machines: 2, messages: messagesOf(2e-5, 1.25e9) })!
  assert.ok(Math.abs(rates.latencySeconds / 2e-5 - 1) < 1e-9, `${rates.latencySeconds}`)
  assert.ok(Math.abs(rates.bytesPerSecond / 1.25e9 - 1) < 1e-9, `${rates.bytesPerSecond}`)
  assert.equal(rates.measured, { ranks: 2, machines: 2 })
  // A tenth more here and less there is no more than that of either.
  const off = messagesOf(2e-5, 1.25e9).map(({ bytes, milliseconds }, index) => ({
    bytes,
    milliseconds: milliseconds * (index % 2 === 0 ? 1.1 : 0.9)
  }))
  const near = fitNetwork({ ranks: 2, machines: 2, messages: off })!
  assert.ok(Math.abs(near.latencySeconds / 2e-5 - 1) < 0.11 && Math.abs(near.bytesPerSecond / 1.25e9 - 1) < 0.12, JSON.stringify(near))
  assert.is(
    fitNetwork({ ranks: 2, machines: 1, messages: [16, 8, 4].map((milliseconds, index) => ({ bytes: 1 + index, milliseconds })) }),
    undefined
  )
})

const small = model({
  name: 'small',
  input: [1, 3, 64, 32],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
})
const planned = { model: small, device: 'reference', precision: 'float32', ranks: 2 } as const

test('ranks measure the network between them, and plans for ranks take it', async () => {
  for (const size of [2, 3]) {
    const ranks = must(localNetworks(size)).map((network) => createRanks(network))
    const reports = await Promise.all(ranks.map((one) => valueOf(profileNetworkAmong(one))))
    const [first] = reports
    for (const report of reports) assert.equal(report, first)
    assert.is(first!.ranks, size)
    assert.is(first!.machines, 1)
    assert.ok(first!.latencySeconds > 0 && first!.bytesPerSecond > 1e6, JSON.stringify(first))
    assert.is(first!.path, keptPath)
    const { bytesPerSecond, latencySeconds } = first!
    const { ranks: report } = await valueOf(plan(planned))
    assert.equal(report!.network, { bytesPerSecond, latencySeconds, measured: { ranks: size, machines: 1 } })
  }
})

test('a network that is given, and a device that is elsewhere, do without the one that was measured', async () => {
  keep({ ranks: 2, machines: 1, messages: messagesOf(1e-3, 1e6) })
  const told = await valueOf(plan({ ...planned, network: '10Gb/s,20us' }))
  assert.equal(told.ranks!.network, { bytesPerSecond: 1.25e9, latencySeconds: 2e-5 })
  const elsewhere = await valueOf(plan({ model: small, device: 'devices/v100-16gb.json', ranks: 2 }))
  assert.equal(elsewhere.ranks!.network, { bytesPerSecond: 1.25e9, latencySeconds: 2e-5 })
  const slow = await valueOf(plan(planned))
  assert.equal(slow.ranks!.network.measured, { ranks: 2, machines: 1 })
  assert.ok(Math.abs(slow.ranks!.network.bytesPerSecond / 1e6 - 1) < 1e-9, `${slow.ranks!.network.bytesPerSecond}`)
  assert.ok(slow.ranks!.speedUp < told.ranks!.speedUp)
  // Where gradients must travel.
  const sharing = { ...planned, accumulate: 2, shardRows: 1 } as const
  const [slowly, fast] = [await valueOf(plan(sharing)), await valueOf(plan({ ...sharing, network: '10Gb/s,2us' }))]
  const ratio = slowly.ranks!.exchanged[0]!.milliseconds / fast.ranks!.exchanged[0]!.milliseconds
  assert.ok(ratio > 100, `${ratio}`)
})

test('what was kept damaged is told once and left out where ranks are planned for, and nowhere else', async () => {
  const without = 'usual rates are taken until tilefold profile --network measures it anew'
  for (const [damaged, fault] of [
    [{ ranks: 2 }, 'is not a measured network'],
    [
      { ranks: 2, machines: 1, messages: [2, 1].map((milliseconds, index) => ({ bytes: 1 + index, milliseconds })) },
      'larger messages took no longer than small ones'
    ]
  ] as const) {
    keep(damaged)
    const notices: string[] = []
    const told = await valueOf(plan({ ...planned, onNotice: (sentence) => notices.push(sentence) }))
    assert.equal(notices, [`${keptPath}: ${fault}; ${without}`])
    assert.equal(told.ranks!.network, { bytesPerSecond: 1.25e9, latencySeconds: 2e-5 })
    const { ranks: _, ...alone } = planned
    assert.is((await valueOf(plan({ ...alone, onNotice: assert.unreachable }))).ranks, null)
  }
})

test('without a launcher there is no network to measure', async () => {
  const sentence = '--network measures between the processes that mpirun starts, and this one is alone: start it with mpirun -n 2'
  assert.is((await failureOf(profile({ network: true }))).message, sentence)
  const [network] = must(localNetworks(1))
  assert.is((await failureOf(profileNetworkAmong(createRanks(network!)))).message, sentence)
  const both: unknown = { model: small, network: true }
  assert.is((await failureOf(profile(both as { readonly network: true }))).message, '--network measures no model: leave the model out')
  const neither: unknown = {}
  assert.is(
    (await failureOf(profile(neither as { readonly network: true }))).message,
    'model is missing: give one whose kernels are measured, or --network under mpirun'
  )
})

test('a rank that hangs while the network is measured is named, after a minute where nothing else is said', async () => {
  const [network] = must(localNetworks(2))
  assert.is(
    (await failureOf(profileNetworkAmong(createRanks(network!, 100)))).message,
    'rank 1 hangs: the others have waited for more than 1 second'
  )
  const limits: number[] = []
  const told = must(localNetworks(2)).map((one) => createRanks({ ...one, limitWaits: (limit) => void limits.push(limit) }))
  await Promise.all(told.map((one) => valueOf(profileNetworkAmong(one))))
  assert.equal(limits, [60_000, 60_000, 0, 0])
})

const command = compiledCommand()

withLauncher('mpirun measures the network between its ranks, and the first tells and keeps it', async () => {
  const kept = join(folder, 'launched')
  const environment = { XDG_CACHE_HOME: kept }
  const { status, stdout, stderr } = await launch(2, [command.script, 'profile', '--network'], undefined, environment)
  assert.is(status, 0, stderr)
  assert.match(stdout, /message .* time .*\n(.*\n)+.* Gb\/s, .* µs, measured between 2 ranks on 1 machine; .*network\.json\n$/)
  const path = join(kept, 'tilefold', 'network.json')
  assert.ok(existsSync(path))
  assert.is((JSON.parse(readFileSync(path, 'utf8')) as { readonly ranks: number }).ranks, 2)
})

test.run()
