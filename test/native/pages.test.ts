// Programs whose arena is addresses that pages of memory are mapped to.
import * as assert from 'uvu/assert'
import { test } from 'uvu'
import { openSession, type DeviceName } from '../../native'
import type { Instruction } from '../../staging/program/program'
import { must } from '../must'
import { arena, at, copy, stepIo, launch, left, loop, map, open, parameters, programOf, record, swap, unmap, wait } from './program'

const page = 4096
/** A resident page, and addresses of four more for two pages of memory. */
const pages = { pageBytes: page, addressBytes: 5 * page, residentBytes: page }
const memory = { kernels: [copy(4)], pages, peakBytes: 3 * page, hostBytes: page }

const bring = (address: number, from = 0): Instruction => launch(0, stepIo(from), arena(address))
const hand = (address: number, to: number): Instruction => launch(0, arena(address), stepIo(to))

const opened = (...code: readonly Instruction[]) => open({ ...memory, code, stepIoBytes: 256 }, 'reference', 3 * page)

const run = async (...code: readonly Instruction[]): Promise<readonly number[]> => {
  const session = must(opened(...code))
  const values = new Float64Array(32).map((_, index) => index + 1)
  must(await session.run('step', values.buffer, parameters, [])())
  session.close()
  return [...values]
}

test('memory that is mapped elsewhere holds what was written to it; what is mapped anew to an address is other memory', async () => {
  const found = await run(
    map(page, page, page),
    bring(page),
    unmap(page, page),
    map(3 * page, page, page),
    map(page, 2 * page, page),
    bring(page, 32),
    hand(3 * page, 128),
    hand(page, 160),
    unmap(page, page),
    unmap(3 * page, page)
  )
  assert.equal(found.slice(16, 24), [1, 2, 3, 4, 5, 6, 7, 8])
})

test('what is mapped at once may be one run of memory or many, and goes at once', async () => {
  const last = 3 * page - 16
  const found = await run(
    map(page, 2 * page, page),
    map(2 * page, page, page),
    bring(last - page, 0),
    hand(last - page, 128),
    unmap(page, 2 * page)
  )
  assert.equal(found.slice(16, 20), [1, 2, 3, 4])
})

test('residents stay from run to run, and nothing else; the highest page that changed is the peak', async () => {
  const code = [map(page, page, page), hand(0, 128), bring(0), bring(page), unmap(page, page)]
  const session = must(opened(...code))
  const values = new Float64Array(32).fill(7)
  assert.is(session.measuredPeakBytes(), 0)
  must(await session.run('step', values.buffer, parameters, [])())
  assert.is(session.measuredPeakBytes(), 2 * page)
  must(await session.run('step', values.buffer, parameters, [])())
  assert.equal([...values.slice(16, 20)], [7, 7, 7, 7])
  session.close()
})

test('after a run that was interrupted while memory was mapped, the next one begins anew', async () => {
  const endless = [map(page, page, page), loop('H', 2 ** 30, bring(page)), unmap(page, page)]
  const program = programOf({ ...memory, code: endless, stepIoBytes: 256 })
  const session = must(
    openSession({
      device: 'reference',
      program: {
        ...program,
        save: { code: [map(page, 2 * page, page), bring(page), hand(page, 128), unmap(page, page)], stepIoBytes: 256, stepIo: [] }
      },
      arenaBytes: 3 * page
    })
  )
  const values = new Float64Array(32).fill(3)
  const endlessRun = session.run('step', values.buffer, parameters, [])()
  session.interrupt()
  assert.is(left(await endlessRun).code, 'interrupted')
  must(await session.run('save', values.buffer, parameters, [])())
  assert.is(values[16], 3)
  session.close()
})

test('transfers that wait for a map, and are waited for before memory goes, run', async () => {
  const found = await run(
    map(page, page, page),
    bring(page),
    record('compute', 0),
    wait('to-host', 0),
    swap('to-host', 32, at(page), at(64)),
    record('to-host', 1),
    wait('compute', 1),
    unmap(page, page),
    map(2 * page, page, page),
    record('compute', 2),
    wait('to-device', 2),
    swap('to-device', 32, at(2 * page), at(64)),
    record('to-device', 3),
    wait('compute', 3),
    hand(2 * page, 128),
    unmap(2 * page, page)
  )
  assert.equal(found.slice(16, 20), [1, 2, 3, 4])
})

const transfer = (before: readonly Instruction[], after: readonly Instruction[]): readonly Instruction[] => [
  map(page, page, page),
  bring(page),
  ...before,
  swap('to-host', 32, at(page), at(64)),
  ...after,
  unmap(page, page)
]

const refused: readonly (readonly [string, readonly Instruction[], string])[] = [
  ['an address that nothing is mapped to', [bring(page)], 'touches the addresses 4096 .. 4128, which are not mapped'],
  ['an address after its memory went', [map(page, page, page), unmap(page, page), bring(page)], 'which are not mapped'],
  [
    'a range that is mapped in part',
    [map(page, page, page), bring(2 * page - 16), unmap(page, page)],
    'touches the addresses 8176 .. 8208'
  ],
  [
    'memory that is mapped twice',
    [map(page, page, page), map(2 * page, page, page)],
    'maps bytes 4096 .. 8192 of the memory a second time'
  ],
  ['an address that is mapped twice', [map(page, page, page), map(page, 2 * page, page)], 'maps to the addresses 4096 .. 8192, where'],
  ['what is resident', [map(page, 0, page)], 'maps what is always mapped'],
  ['residents unmapped', [unmap(0, page)], 'unmaps the addresses 0 .. 4096, which are not what was mapped'],
  ['half of what was mapped', [map(page, page, 2 * page), unmap(page, page)], 'unmaps the addresses 4096 .. 8192'],
  ['memory that is not there', [map(page, 3 * page, page)], 'names 4096 bytes from 12288 on, no whole pages of 12288'],
  ['addresses that are not there', [map(5 * page, page, page)], 'names 4096 bytes from 20480 on, no whole pages of 20480'],
  ['a part of a page', [map(page, page, page / 2)], 'no whole pages'],
  ['nothing at all', [map(page, page, 0)], 'no whole pages'],
  ['a map in a loop', [loop('B', 2, map(page, page, page), unmap(page, page))], 'maps pages inside a loop'],
  ['memory that is never given back', [map(page, page, page)], "are still mapped at the section's end"],
  [
    'a transfer that does not wait for the map',
    transfer([], [record('to-host', 1), wait('compute', 1)]),
    'without having waited for their map'
  ],
  [
    'memory that goes under a transfer',
    transfer([record('compute', 0), wait('to-host', 0)], []),
    'unmaps what the engine to-host may still be working on'
  ],
  [
    'memory that goes under the transfers of a loop',
    [
      map(page, page, page),
      record('compute', 0),
      wait('to-host', 0),
      record('to-host', 1),
      loop('H', 3, wait('compute', 1), swap('to-host', 32, at(page), at(64))),
      unmap(page, page)
    ],
    'unmaps what the engine to-host may still be working on'
  ]
]

for (const [name, code, sentence] of refused)
  test(`refused: ${name}`, () => {
    const { message } = left(opened(...code))
    assert.ok(message.includes(sentence), message)
  })

const withPages = (changed: Partial<typeof pages>, device: DeviceName = 'reference') =>
  open({ ...memory, code: [], pages: { ...pages, ...changed } }, device, 3 * page)

test("refused: pages that are no multiple of the system's, or that memory, addresses or residents are no whole number of", () => {
  must(withPages({})).close()
  for (const [changed, sentence] of [
    [{ pageBytes: 2048 }, "pages of 2048 bytes are no multiple of the system's pages of 4096 bytes"],
    [{ pageBytes: 8192 }, 'addresses are no whole pages of 8192 bytes'],
    [{ addressBytes: 5000 }, 'its 5000 addresses are no whole pages of 4096 bytes'],
    [{ residentBytes: 100 }, 'its 100 resident bytes are no whole pages'],
    [{ residentBytes: 4 * page }, 'its 16384 resident bytes are more than it has addresses or memory for'],
    [{ pageBytes: 0 }, 'it has addresses for pages of 0 bytes']
  ] as const) {
    const { message } = left(withPages(changed))
    assert.ok(message.includes(sentence), message)
  }
})

test('refused: maps in a Program without pages', () => {
  const { message } = left(open({ kernels: [], code: [map(0, 0, page)] }))
  assert.ok(message.includes('maps pages, of which the program has none'), message)
})

test.run()
