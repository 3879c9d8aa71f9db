/** Instructions between ranks: what they do, and what of them is refused before anything runs. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { localNetworks, openSession, type Network } from '../../native'
import { encodeProgram } from '../../native/session/encode'
import { openEncoded } from '../../native/session/session'
import type { Kernel } from '../../staging/kernels/kernels'
import type { Instruction, Program } from '../../staging/program/program'
import type { AllToAll, Exchange, OwnSlice } from '../../staging/program/rank-instructions'
import { must } from '../must'
import { arena, at, copy, stepIo, launch, left, loop, parameters, programOf, record, wait } from './program'

const all = (more: Partial<AllToAll> = {}): AllToAll => ({
  kind: 'allToAll',
  engine: 'network',
  ranks: 3,
  apart: 1,
  bytes: 8,
  sendStride: 8,
  receiveStride: 8,
  send: at(0),
  receive: at(64),
  ...more
})

const message = (rank: number, bytes: number, base: number) => ({ rank, bytes, at: at(base) })

const some = (more: Partial<Exchange> = {}): Exchange => ({
  kind: 'exchange',
  engine: 'network',
  ranks: 3,
  sends: [message(1, 8, 0)],
  receives: [message(2, 16, 64)],
  ...more
})

const slice = (more: Partial<OwnSlice> = {}): OwnSlice => ({
  kind: 'ownSlice',
  engine: 'compute',
  ranks: 3,
  bytes: 8,
  from: at(0),
  to: at(64),
  ...more
})

const addition = (kernel: number, from = 0, to = 64): Instruction => ({
  kind: 'launch',
  engine: 'network',
  kernel,
  operands: [arena(from), arena(to)]
})

/** Brings three numbers in, exchanges, and hands three out. */
const around = (exchanged: AllToAll | Exchange | OwnSlice): readonly Instruction[] => [
  launch(0, stepIo(0), arena(0)),
  record('compute', 0),
  wait('network', 0),
  exchanged,
  record('network', 1),
  wait('compute', 1),
  launch(0, arena(64), stepIo(0))
]

const run = async (network: Network, code: readonly Instruction[], values: readonly number[]): Promise<readonly number[]> => {
  const program = programOf({ kernels: [copy(values.length)], code, stepIoBytes: 8 * values.length })
  const session = must(openSession({ device: 'reference', program, arenaBytes: 4096, network }))
  const buffer = Float64Array.from(values).buffer
  must(await session.run('step', buffer, parameters, [])())
  session.close()
  return [...new Float64Array(buffer)]
}

test('slices go to their ranks, and what all have to all', async () => {
  const networks = must(localNetworks(3))
  const sliced = networks.map((network) =>
    run(
      network,
      around(all()),
      [0, 1, 2].map((slice) => 10 * network.rank + slice)
    )
  )
  assert.equal(await Promise.all(sliced), [
    [0, 10, 20],
    [1, 11, 21],
    [2, 12, 22]
  ])
  const gathered = networks.map((network) => run(network, around(all({ sendStride: 0 })), [network.rank + 5, 0, 0]))
  assert.equal(
    await Promise.all(gathered),
    Array.from({ length: 3 }, () => [5, 6, 7])
  )
})

test('many ranks gather what all have in rounds, in the order of ranks, in their groups or one of each', async () => {
  const gathered = async (network: Network, ranks: number, apart: number): Promise<readonly number[]> => {
    const code = [
      launch(0, stepIo(0), arena(0)),
      record('compute', 0),
      wait('network', 0),
      all({ ranks, apart, bytes: 16, sendStride: 0, receiveStride: 16, send: at(0), receive: at(1024) }),
      record('network', 1),
      wait('compute', 1),
      launch(1, arena(1024), stepIo(16))
    ]
    const program = inGroupsOf(network.size, { kernels: [copy(2), copy(2 * ranks)], code, stepIoBytes: 16 + 16 * ranks })
    const session = must(openSession({ device: 'reference', program, arenaBytes: 4096, network }))
    const buffer = new Float64Array(2 + 2 * ranks)
    buffer.set([network.rank, -network.rank])
    must(await session.run('step', buffer.buffer, parameters, [])())
    session.close()
    return [...buffer.subarray(2)].filter((_, index) => index % 2 === 0)
  }
  const inAll = async (size: number, ranks: number, apart = 1) =>
    Promise.all(must(localNetworks(size)).map((network) => gathered(network, ranks, apart)))
  const range = (count: number, from = 0, step = 1) => Array.from({ length: count }, (_, index) => from + step * index)
  for (const size of [15, 16, 17])
    assert.equal(
      await inAll(size, size),
      Array.from({ length: size }, () => range(size))
    )
  assert.equal(
    await inAll(32, 16),
    range(32).map((rank) => range(16, rank < 16 ? 0 : 16))
  )
  assert.equal(
    await inAll(32, 16, 2),
    range(32).map((rank) => range(16, rank % 2, 2))
  )
})

test('each rank takes its own slice, which is that of its number in its group', async () => {
  const taken = async (network: Network, ranks: number) => {
    const code = [launch(0, stepIo(0), arena(0)), slice({ ranks }), launch(1, arena(64), stepIo(0))]
    const program = { ...inGroupsOf(network.size, { kernels: [copy(network.size), copy(1)], code, stepIoBytes: 8 * network.size }) }
    const session = must(openSession({ device: 'reference', program, arenaBytes: 4096, network }))
    const buffer = Float64Array.from({ length: network.size }, (_, index) => 10 + index).buffer
    must(await session.run('step', buffer, parameters, [])())
    session.close()
    return new Float64Array(buffer)[0]
  }
  assert.equal(await Promise.all(must(localNetworks(3)).map((network) => taken(network, 3))), [10, 11, 12])
  assert.equal(await Promise.all(must(localNetworks(4)).map((network) => taken(network, 2))), [10, 11, 10, 11])
})

test('messages go to the ranks that they name, of other bytes each', async () => {
  const [first, second, third] = must(localNetworks(3))
  const sent = await Promise.all([
    run(first!, around(some({ sends: [message(1, 8, 0), message(2, 16, 8)], receives: [message(1, 8, 64)] })), [1, 2, 3]),
    run(second!, around(some({ sends: [message(0, 8, 16)], receives: [message(0, 8, 72)] })), [4, 5, 6]),
    run(third!, around(some({ sends: [], receives: [message(0, 16, 64)] })), [7, 8, 9])
  ])
  assert.is(sent[0]![0], 6)
  assert.is(sent[1]![1], 1)
  assert.equal(sent[2]!.slice(0, 2), [2, 3])
})

/** A program that also has a section of all of so many ranks, whose others are of groups. */
const inGroupsOf = (ranks: number, written: Parameters<typeof programOf>[0]): Program => ({
  ...programOf(written),
  reduce: { code: [all({ ranks, sendStride: 0 })], stepIoBytes: 0, stepIo: [] }
})

test('ranks of a group exchange with each other alone, by their numbers in it', async () => {
  const networks = must(localNetworks(6))
  const runInGroup = async (network: Network, exchanged: AllToAll | Exchange): Promise<readonly number[]> => {
    const program = inGroupsOf(6, { kernels: [copy(3)], code: around(exchanged), stepIoBytes: 24 })
    const session = must(openSession({ device: 'reference', program, arenaBytes: 4096, network }))
    const buffer = Float64Array.of(network.rank, network.rank + 10, network.rank + 20).buffer
    must(await session.run('step', buffer, parameters, [])())
    session.close()
    return [...new Float64Array(buffer)]
  }
  assert.equal(
    await Promise.all(networks.map((network) => runInGroup(network, all({ sendStride: 0 })))),
    [0, 0, 0, 3, 3, 3].map((first) => [first, first + 1, first + 2])
  )
  assert.equal(
    (await Promise.all(networks.map((network) => runInGroup(network, all({ ranks: 2, apart: 3, sendStride: 0 }))))).map((got) =>
      got.slice(0, 2)
    ),
    [0, 1, 2, 0, 1, 2].map((first) => [first, first + 3])
  )
  // Each to the next of its three.
  const toNext = (own: number): Exchange => ({
    ...some({ sends: [message((own + 1) % 3, 24, 0)], receives: [message((own + 2) % 3, 24, 64)] })
  })
  assert.equal(
    await Promise.all(networks.map((network) => runInGroup(network, toNext(network.rank % 3)))),
    [2, 0, 1, 5, 3, 4].map((from) => [from, from + 10, from + 20])
  )
})

test('groups of ranks are refused where they are not all that there are, or do not divide them', () => {
  const opened = (size: number, ranks: number, code: readonly Instruction[]): string => {
    const [network] = must(localNetworks(size))
    const session = openSession({
      device: 'reference',
      program: inGroupsOf(ranks, { kernels: [], code }),
      arenaBytes: 4096,
      network: network!
    })
    return E.isLeft(session) ? session.left.message : 'nothing'
  }
  assert.is(opened(6, 6, [all()]), 'nothing')
  assert.is(opened(6, 6, [all({ ranks: 2, apart: 3 })]), 'nothing')
  assert.is(opened(6, 6, [all({ ranks: 2, apart: 2 })]), 'section step is of 4 ranks, but runs on 6')
  assert.is(opened(6, 3, [all()]), 'section step is of 3 ranks, but runs on 6')
  assert.is(opened(4, 4, [all()]), 'section step is of 3 ranks, but runs on 4')
})

test('a rank that sends itself other bytes than it receives hears of it', async () => {
  const [network] = must(localNetworks(1))
  const program = programOf({ kernels: [], code: [some({ ranks: 1, sends: [message(0, 8, 0)], receives: [message(0, 16, 64)] })] })
  const session = must(openSession({ device: 'reference', program, arenaBytes: 4096, network: network! }))
  const ended = await session.run('step', new ArrayBuffer(0), parameters, [])()
  assert.is(left(ended).message, 'rank 0 sends itself 8 bytes, but receives 16')
})

test('ranks that exchange other bytes, or none, hear of it', async () => {
  const [first, second] = must(localNetworks(2))
  const session = (network: Network, bytes: number) => {
    const program = programOf({ kernels: [], code: [all({ ranks: 2, bytes, sendStride: 64, receiveStride: 64, receive: at(1024) })] })
    return must(openSession({ device: 'reference', program, arenaBytes: 4096, network }))
  }
  const ended = await Promise.all([
    session(first!, 8).run('step', new ArrayBuffer(0), parameters, [])(),
    session(second!, 16).run('step', new ArrayBuffer(0), parameters, [])()
  ])
  assert.is(left(ended[0]).message, 'rank 0 receives 8 bytes of rank 1, which sends 16')
  const [third, fourth] = must(localNetworks(2))
  const waiting = session(third!, 8).run('step', new ArrayBuffer(0), parameters, [])()
  fourth!.leave(1)
  assert.is(left(await waiting).message, 'rank 1 has ended')
})

test('a rank that the others wait for too long is said to hang, on all of them', async () => {
  const networks = must(localNetworks(4))
  for (const network of networks) network.limitWaits(1500)
  const [first, second, third] = networks.map(({ gather }) => gather)
  assert.is(must(await Promise.all(networks.map(({ gather }) => gather(Uint8Array.of(1))())).then(([answer]) => answer!)).length, 4)
  const ended = await Promise.all([second!(new Uint8Array(1))(), third!(new Uint8Array(1))()])
  for (const one of ended) assert.is(left(one).message, 'rank 0 and rank 3 hang: the others have waited for more than 2 seconds')
  assert.match(left(await first!(new Uint8Array(1))()).message, /^rank 0 and rank 3 hang/)
})

test('a rank exchanges one thing at a time', async () => {
  const [first, second] = must(localNetworks(2))
  const waiting = first!.gather(Uint8Array.of(1))()
  assert.is(left(await first!.gather(Uint8Array.of(2))()).message, 'rank 0 is exchanging with the others already: wait for it')
  assert.is(must(await second!.gather(Uint8Array.of(3))()).length, 2)
  assert.equal(
    must(await waiting).map(([byte]) => byte),
    [1, 3]
  )
})

test('a rank that waits for others can be interrupted', async () => {
  const [network] = must(localNetworks(2))
  const session = must(
    openSession({
      device: 'reference',
      program: programOf({ kernels: [], code: [all({ ranks: 2 })] }),
      arenaBytes: 4096,
      network: network!
    })
  )
  const running = session.run('step', new ArrayBuffer(0), parameters, [])()
  setTimeout(() => session.interrupt(), 50)
  assert.is(left(await running).code, 'interrupted')
})

const refusal = (code: readonly Instruction[], network?: Network): string => {
  const encoded = encodeProgram(programOf({ kernels: [copy(1), { kind: 'zero', bytes: 8 }], code }))
  const measured = { arenaBytes: 4096, linkBytesPerSecond: 0, timesKernels: false, traces: false }
  const opened = openEncoded({
    ...encoded,
    ...measured,
    device: 'reference',
    math: 'float32',
    precision: 'float64',
    ...(network && { network: network.handle })
  })
  return E.isLeft(opened) ? opened.left.message : 'nothing'
}

for (const [what, code, sentence] of [
  ['no ranks', [all({ ranks: 0 })], 'exchanges 8 bytes with each of 0 ranks'],
  ['no bytes', [all({ bytes: 0 })], 'exchanges 0 bytes with each of 3 ranks'],
  ['ranks without end', [all({ ranks: 2 ** 40, sendStride: 0 })], 'with each of 1099511627776 ranks'],
  ['ranks in one place', [all({ apart: 0 })], 'exchanges with 3 ranks that are 0 apart'],
  ['ranks too far apart', [all({ apart: 2 ** 19 })], 'exchanges with 3 ranks that are 524288 apart'],
  ['places that overlap', [all({ receiveStride: 4 })], 'receives 8 bytes of each rank at places 4 bytes apart'],
  ['a negative stride', [all({ sendStride: -8 })], 'receives 8 bytes of each rank at places 8 bytes apart'],
  ['bytes beyond the arena', [all({ receive: at(4080) })], "receives bytes 4080 .. 4104 of the arena's 4096"],
  ['bytes before the arena', [all({ send: at(-8) })], "sends bytes -8 .. 16 of the arena's 4096"],
  ['a size that overflows', [all({ sendStride: 2 ** 53, ranks: 2 ** 20 })], 'a size overflows 64 bits'],
  ['what it sends', [all({ receive: at(16) })], 'receives where it sends from'],
  ['a loop', [loop('H', 2, all())], 'exchanges with ranks inside a loop'],
  ['messages in a loop', [loop('H', 2, some())], 'exchanges with ranks inside a loop'],
  ['more messages than ranks', [some({ ranks: 1, sends: [message(0, 8, 0), message(1, 8, 8)] })], 'has 2 messages for, and 1 of, 1 ranks'],
  ['a message for no rank', [some({ sends: [message(3, 8, 0)] })], 'sends a message of rank 3, which is none of 3 or comes out of order'],
  ['two messages for a rank', [some({ sends: [message(1, 8, 0), message(1, 8, 8)] })], 'sends a message of rank 1, which is none of 3'],
  ['a message of nothing', [some({ sends: [message(1, 0, 0)] })], "sends bytes 0 .. 0 of the arena's 4096"],
  ['a message from beyond the arena', [some({ sends: [message(1, 8, 4090)] })], "sends bytes 4090 .. 4098 of the arena's 4096"],
  ['a message to before the arena', [some({ receives: [message(1, 8, -8)] })], "receives bytes -8 .. 0 of the arena's 4096"],
  ['a message that overflows', [some({ receives: [message(1, 2 ** 53, 2 ** 53)] })], "of the arena's 4096"],
  ['two messages to one place', [some({ receives: [message(0, 16, 64), message(1, 16, 72)] })], 'receives from two ranks in one place'],
  ['a message over what is sent', [some({ receives: [message(0, 16, 0)] })], 'receives where it sends from'],
  ['no network', [all()], 'section step is of 3 ranks, but runs on 1'],
  ['no network for itself', [all({ ranks: 1 })], 'the program is of ranks, but runs without a network'],
  ['a slice of no rank', [slice({ ranks: 0 })], 'takes one of 0 slices of 8 bytes'],
  ['a slice of nothing', [slice({ bytes: 0 })], 'takes one of 3 slices of 0 bytes'],
  ['slices beyond the arena', [slice({ from: at(4080) })], "takes one of the slices in bytes 4080 .. 4104 of the arena's 4096"],
  ['a slice to beyond the arena', [slice({ to: at(4090) })], "takes a slice to bytes 4090 .. 4098 of the arena's 4096"],
  ['a slice to before the arena', [slice({ to: at(-8) })], "takes a slice to bytes -8 .. 0 of the arena's 4096"],
  ['slices that overflow', [slice({ ranks: 2 ** 20, bytes: 2 ** 53 })], 'a size overflows 64 bits'],
  ['a slice to where slices are', [slice({ to: at(16) })], 'takes a slice to where slices are'],
  ['a slice in a loop', [loop('H', 2, slice())], 'takes the slice of a rank inside a loop'],
  ['an addition in a loop', [loop('H', 2, addition(0))], 'adds what ranks have sent inside a loop'],
  ['an addition by another kernel', [addition(1)], 'adds what ranks have sent with zero instead of copyBox']
] as const)
  test(`an exchange is refused with ${what}`, () => assert.ok(refusal(code).includes(sentence), refusal(code)))

test('a section exchanges with all ranks and with groups of them, and adds what has come on the network engine', async () => {
  const networks = must(localNetworks(4))
  const runOn = async (network: Network): Promise<number> => {
    const code = [
      launch(0, stepIo(0), arena(0)),
      record('compute', 0),
      wait('network', 0),
      all({ ranks: 2, sendStride: 0, receive: at(64) }),
      addition(1, 64, 0),
      all({ ranks: 4, sendStride: 0, receive: at(128) }),
      addition(1, 152, 0),
      record('network', 1),
      wait('compute', 1),
      launch(0, arena(0), stepIo(0))
    ]
    const program = programOf({ kernels: [copy(1), { ...copy(1), add: 1 } as Kernel], code, stepIoBytes: 8 })
    const session = must(openSession({ device: 'reference', program, arenaBytes: 4096, network }))
    const buffer = Float64Array.of(10 ** network.rank).buffer
    must(await session.run('step', buffer, parameters, [])())
    session.close()
    return new Float64Array(buffer)[0]!
  }
  // The first of a group is added, then what the last of all has by then.
  assert.equal(await Promise.all(networks.map(runOn)), [1102, 1111, 1300, 2200])
})

test('numbers of ranks in one section are refused where they do not divide all that there are', () => {
  const [network] = must(localNetworks(4))
  assert.is(refusal([all({ ranks: 4 }), all()], network), 'section step is of 3 ranks, but runs on 4')
  assert.is(refusal([all({ ranks: 4 }), some({ ranks: 3 })], network), 'section step is of 3 ranks, but runs on 4')
  assert.is(refusal([all({ ranks: 4 }), slice()], network), 'section step is of 3 ranks, but runs on 4')
})

test('an exchange is refused on a network of another size', () => {
  const [network] = must(localNetworks(2))
  assert.is(refusal([all()], network), 'section step is of 3 ranks, but runs on 2')
})

test.run()
