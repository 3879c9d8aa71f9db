// Copies between the arena and the host pool on engines of their own, ordered by events.
import * as E from 'fp-ts/Either'
import * as assert from 'uvu/assert'
import { test } from 'uvu'
import type { DeviceError, Session } from '../../native'
import type { Kernel } from '../../staging/kernels/kernels'
import type { Copy, Instruction } from '../../staging/program/program'
import { must } from '../must'
import {
  arena,
  at,
  copy,
  stepIo,
  index,
  launch,
  left,
  load,
  loop,
  none,
  open,
  parameters,
  record,
  swap,
  wait,
  type Written
} from './program'

const kibibyte = 1024
const zero = (bytes: number): Kernel => ({ kind: 'zero', bytes })

const openStep = (code: readonly Instruction[], written: Partial<Written>, linkBytesPerSecond = 0): E.Either<DeviceError, Session> =>
  open({ kernels: [], ...written, code }, 'reference', written.peakBytes ?? 4096, linkBytesPerSecond)

const openRight = (code: readonly Instruction[], written: Partial<Written>, linkBytesPerSecond = 0): Session =>
  must(openStep(code, written, linkBytesPerSecond))

/** Settles once `truth` holds; fails after ten seconds, so that a mistake is no endless test. */
const until = async (truth: () => boolean): Promise<void> => {
  const end = Date.now() + 10_000
  while (!truth()) {
    if (Date.now() > end) throw new Error('it never came true')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

test('what is swapped out survives being overwritten', async () => {
  const bytes = 4 * 8
  const code = [
    launch(0, stepIo(0), arena(64)),
    record('compute', 7),
    wait('to-host', 7),
    swap('to-host', bytes, at(64), at(8)),
    record('to-host', 3),
    wait('compute', 3),
    launch(1, arena(64)),
    launch(0, arena(64), stepIo(32)),
    record('compute', 7),
    wait('to-device', 7),
    swap('to-device', bytes, at(64), at(8)),
    record('to-device', 3),
    wait('compute', 3),
    launch(0, arena(64), stepIo(64))
  ]
  for (const device of ['reference', 'cpu'] as const) {
    const precision = device === 'cpu' ? 'float32' : 'float64'
    const kernels = [copy(device === 'cpu' ? 8 : 4), zero(bytes)]
    const session = must(open({ kernels, code, stepIoBytes: 96, hostBytes: 40, precision }, device))
    const values = new Float64Array(12)
    values.set([1, 2, 3, 4])
    for (const run of [1, 2]) {
      must(await session.run('step', values.buffer, parameters, [])())
      assert.equal([...values], [1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 3, 4], `run ${run}`)
    }
    assert.is(session.measuredHostPeakBytes(), 40)
    session.close()
    assert.is(session.measuredHostPeakBytes(), 40)
  }
})

test('rows are gathered and scattered, and the bytes between them stay', async () => {
  // Three rows of one number, two numbers apart on the host and three apart on the device.
  const rows = (engine: Copy['engine'], device: number): Copy => ({
    ...swap(engine, 8, at(device), at(0)),
    rows: 3,
    deviceRowStride: 24,
    hostRowStride: 16
  })
  const code = [
    launch(0, stepIo(0), arena(0)),
    record('compute', 0),
    wait('to-host', 0),
    rows('to-host', 8),
    record('to-host', 1),
    wait('to-device', 1),
    rows('to-device', 0),
    record('to-device', 2),
    wait('compute', 2),
    launch(0, arena(0), stepIo(0))
  ]
  const session = openRight(code, { kernels: [copy(9)], stepIoBytes: 72, hostBytes: 64 })
  const values = Float64Array.from({ length: 9 }, (_, index) => index)
  must(await session.run('step', values.buffer, parameters, [])())
  assert.equal([...values], [1, 1, 2, 4, 4, 5, 7, 7, 8])
  assert.is(session.measuredHostPeakBytes(), 40)
  session.close()
})

test('large copies, which threads share within their rows, move every byte and no other', async () => {
  // More than a mebibyte a thread, cut between rows' ends.
  const [rows, length] = [5, 80_001]
  const [deviceRowStride, hostRowStride] = [8 * (length + 3), 8 * (length + 1)]
  const peakBytes = rows * deviceRowStride
  const all: Kernel = copy(peakBytes / 8)
  const moved = (engine: Copy['engine']): Copy => {
    return { ...swap(engine, 8 * length, at(8), at(0)), rows, deviceRowStride, hostRowStride }
  }
  const code = [
    launch(0, stepIo(0), arena(0)),
    record('compute', 0),
    wait('to-host', 0),
    moved('to-host'),
    record('to-host', 1),
    wait('compute', 1),
    launch(1, arena(0)),
    record('compute', 2),
    wait('to-device', 2),
    moved('to-device'),
    record('to-device', 3),
    wait('compute', 3),
    launch(0, arena(0), stepIo(0))
  ]
  const session = openRight(code, { kernels: [all, zero(peakBytes)], stepIoBytes: peakBytes, hostBytes: rows * hostRowStride, peakBytes })
  const values = Float64Array.from({ length: peakBytes / 8 }, (_, index) => index + 1)
  const expected = values.map((value, index) => ((index - 1) % (length + 3) < length && index > 0 ? value : 0))
  must(await session.run('step', values.buffer, parameters, [])())
  assert.ok(values.every((value, index) => value === expected[index]))
  assert.is(session.measuredHostPeakBytes(), rows * hostRowStride - 8)
  session.close()
})

test('an event in a loop is recorded at each turn', async () => {
  // Every tile goes through the same place of the arena, so each wait must be for this turn's
  // record.
  const tiles = 200
  const through = (engine: Copy['engine']): readonly Instruction[] => [
    record('compute', 1),
    wait(engine, 1),
    swap(engine, 8, at(0), at(0, [0, 8, 0])),
    record(engine, 0),
    wait('compute', 0)
  ]
  const code = [
    loop('H', tiles, launch(0, stepIo(0, [0, 8, 0]), arena(0)), ...through('to-host')),
    loop('H', tiles, ...through('to-device'), launch(0, arena(0), stepIo(8 * tiles, [0, 8, 0])))
  ]
  const session = openRight(code, { kernels: [copy(1)], stepIoBytes: 16 * tiles, hostBytes: 8 * tiles })
  const values = Float64Array.from({ length: 2 * tiles }, (_, index) => (index < tiles ? index + 0.5 : 0))
  must(await session.run('step', values.buffer, parameters, [])())
  assert.equal([...values.slice(tiles)], [...values.slice(0, tiles)])
  session.close()
})

test('a wait is for the latest record of its event, whichever engine made it', async () => {
  // The first record is reached at once, the second one after a slow copy.
  const bytes = 100 * kibibyte
  const code = [
    record('compute', 5),
    swap('to-device', bytes, at(0), at(0)),
    record('to-device', 5),
    wait('compute', 5),
    launch(0, arena(0), stepIo(0))
  ]
  const session = openRight(code, { kernels: [copy(1)], stepIoBytes: 8, hostBytes: bytes, peakBytes: bytes }, 1e6)
  assert.ok(must(await session.run('step', new ArrayBuffer(8), parameters, [])()) >= 100)
  session.close()
})

/**
 * Each row of an image goes through one of two places of the arena, loaded while the row before it
 * is handed out from the other.
 */
const loading = (rows: number): Written => {
  const part = { kind: 'loadImage', batch: 1, channels: 1, height: 1, width: 4, layout: 0, fullHeight: rows, fullWidth: 4 } as const
  const image = { ...part, normalisation: [0, 1] }
  const through = (which: 0 | 1): readonly Instruction[] => [
    wait('to-device', which),
    load(0, arena(64 * which), index(0), index(which, [0, 2, 0]), index(0)),
    record('to-device', 2 + which),
    wait('compute', 2 + which),
    launch(1, arena(64 * which), stepIo(32 * which, [0, 64, 0])),
    record('compute', which)
  ]
  const code = [record('compute', 0), record('compute', 1), loop('H', rows / 2, ...through(0), ...through(1))]
  return { kernels: [image, copy(4)], code, stepIoBytes: 32 * rows, input: [1, 1, rows, 4] }
}

test('rows of an image are loaded beside what computes', async () => {
  const rows = 200
  const pixels = Uint8Array.from({ length: 4 * rows }, (_, position) => position * 37)
  const upright = { flipHorizontal: false, flipVertical: false, quarterTurns: 0 } as const
  const image = { pixels, height: rows, width: 4, channels: 1, cropTop: 0, cropLeft: 0, ...upright }
  const session = must(open(loading(rows)))
  for (const run of [1, 2]) {
    const values = new Float64Array(4 * rows)
    must(await session.run('step', values.buffer, parameters, [image])())
    assert.equal(
      [...values],
      [...pixels].map((pixel) => pixel / 255),
      `run ${run}`
    )
  }
  session.close()
})

test('launches and the other link go on beside a slow copy, and an interrupt ends all three', async () => {
  const slow = 64 * kibibyte
  const code = [
    swap('to-device', slow, at(4096), at(8)),
    swap('to-host', 8, at(0), at(0)),
    record('to-host', 0),
    wait('compute', 0),
    launch(0, stepIo(0), stepIo(8)),
    record('to-device', 1),
    wait('compute', 1),
    launch(0, stepIo(0), stepIo(16))
  ]
  const session = openRight(
    code,
    { kernels: [copy(1)], stepIoBytes: 24, hostBytes: slow + 8, peakBytes: slow + 4096 },
    100 // bytes per second: ten minutes
  )
  const values = Float64Array.of(5, 0, 0)
  const started = Date.now()
  const running = session.run('step', values.buffer, parameters, [])()
  await until(() => values[1] === 5)
  session.interrupt()
  assert.is(left(await running).code, 'interrupted')
  assert.ok(Date.now() - started < 10_000)
  assert.equal([...values], [5, 5, 0])
  // An interrupted link owes nothing.
  must(await session.run('save', new ArrayBuffer(0), parameters, [])())
  session.close()
})

test('closing ends a slow copy', async () => {
  const session = openRight([swap('to-host', 4096, at(0), at(0))], { hostBytes: 4096 }, 1)
  const running = session.run('step', new ArrayBuffer(0), parameters, [])()
  session.close()
  assert.is(left(await running).code, 'interrupted')
})

test('a failing launch ends a slow copy', async () => {
  const loss: Kernel = { kind: 'softmaxCrossEntropyForward', batch: 1, classes: 2, fullBatch: 1 }
  const code = [swap('to-device', 4096, at(0), at(0)), launch(0, stepIo(0), stepIo(32), none, stepIo(16))]
  const session = openRight(code, { kernels: [loss], stepIoBytes: 40, hostBytes: 4096 }, 1)
  const buffer = new ArrayBuffer(40)
  new Int32Array(buffer, 32, 1)[0] = 2
  assert.ok(left(await session.run('step', buffer, parameters, [])()).message.startsWith('label 2 of row 0'))
  session.close()
})

test('a limited link keeps to its rate, over small copies too', async () => {
  const bytes = 1e6
  const rate = 2e7
  for (const [name, code] of [
    ['one copy', [swap('to-host', bytes, at(0), at(0))]],
    ['many copies', [loop('H', 500, swap('to-host', bytes / 500, at(0, [0, bytes / 500, 0]), at(0, [0, bytes / 500, 0])))]]
  ] as const) {
    const session = openRight(code, { hostBytes: bytes, peakBytes: bytes }, rate)
    const times: number[] = []
    for (let run = 0; run < 5; run++) times.push(must(await session.run('step', new ArrayBuffer(0), parameters, [])()))
    // Only as much faster as earlier runs were late; a busy machine only adds.
    const sums = times.map((_, last) => times.slice(0, last + 1).reduce((sum, time) => sum + time))
    const keepsTo = sums.every((sum, last) => sum >= 50 * (last + 1) - 2) && Math.min(...times) <= 75
    assert.ok(keepsTo, `${name}: ${times.map(Math.round).join()} instead of 50 ms`)
    session.close()
  }
})

for (const [name, code, sentence] of [
  ['an event that nothing records', [wait('compute', 4)], 'waits for event 4, which nothing before it has recorded'],
  [
    'an event that is recorded later',
    [loop('B', 2, wait('to-host', 4), record('compute', 4))],
    'waits for event 4, which nothing before it has recorded'
  ],
  [
    'rows past the arena',
    [{ ...swap('to-device', 8, at(0), at(0)), rows: 2, deviceRowStride: 4089 }],
    "copies bytes 0 .. 4097 of the arena's 4096"
  ],
  ['rows past the host pool', [swap('to-host', 8, at(0), at(57))], "copies bytes 57 .. 65 of the host pool's 64"],
  [
    'a loop past the host pool',
    [loop('W', 3, swap('to-host', 8, at(0), at(48, [0, 0, 8])))],
    "copies bytes 48 .. 72 of the host pool's 64"
  ],
  ['a place below the host pool', [loop('W', 3, swap('to-host', 8, at(0), at(8, [0, 0, -8])))], 'copies bytes -8 .. 16'],
  ['rows written over each other', [{ ...swap('to-device', 8, at(0), at(0)), rows: 2, deviceRowStride: 7 }], 'to places 7 bytes apart'],
  ['a negative stride', [{ ...swap('to-device', 8, at(0), at(8)), rows: 2, hostRowStride: -8 }], 'copies rows at a negative stride'],
  ['no rows', [{ ...swap('to-device', 8, at(0), at(0)), rows: 0 }], 'copies 0 rows of 8 bytes'],
  ['rows whose bytes overflow', [{ ...swap('to-device', 8, at(0), at(0)), rows: 2 ** 52, deviceRowStride: 2 ** 52 }], 'overflows 64 bits'],
  ['an event that is no number of one', [record('compute', -1)], 'records event -1, outside 0'],
  ['a copy that computes', [{ ...swap('to-host', 8, at(0), at(0)), engine: 'compute' as never }], 'copies on the compute engine']
] as const)
  test(`refuses ${name}`, () => {
    const { code: errorCode, message } = left(openStep(code, { hostBytes: 64 }))
    assert.is(errorCode, 'device')
    assert.ok(message.includes(sentence), message)
  })

test('a row may be read many times', async () => {
  const code = [
    { ...swap('to-device', 8, at(0), at(0)), rows: 3, hostRowStride: 0 },
    record('to-device', 0),
    wait('compute', 0),
    launch(0, arena(0), stepIo(0))
  ]
  const session = openRight(code, { kernels: [copy(3)], stepIoBytes: 24, hostBytes: 8 })
  const values = new Float64Array(3)
  must(await session.run('step', values.buffer, parameters, [])())
  assert.ok(values[0] === values[1] && values[1] === values[2] && values[0] !== 0)
  session.close()
})

test('a host pool that no machine has is refused with its figures', () => {
  for (const hostBytes of [2 ** 46, 2 ** 47]) {
    const { code, message } = left(openStep([], { hostBytes }))
    assert.is(code, 'memory')
    assert.ok(message.startsWith(`the host pool of ${hostBytes} bytes is larger than`), message)
    assert.ok(message.endsWith('give a host budget, or a smaller one'), message)
  }
})

test('a rate of no link is refused', () => {
  for (const rate of [-1, 0.5, Infinity, NaN])
    assert.ok(left(openStep([], {}, rate)).message.startsWith('a link moves at least 1 byte per second'))
})

test.run()
