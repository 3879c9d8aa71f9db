import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { referenceModel, stage, verify, type Program, type VerifierFault } from '../../../staging'
import type { Address } from '../../../staging/program/address'
import type { Instruction } from '../../../staging/program/program'
import { must } from '../../must'
import { copy, launch, map, programOf as written, record, stepIo, swap, unmap, wait } from '../../native/program'
import { twoConvolutions } from '../convolutions'
import { drop, replaceAt } from './edit-program'

const pageBytes = 4096

/** A step that swaps tensors, in tiles or not. */
const programOf = (tiled: boolean, placement: 'static' | 'virtual' = 'virtual'): Program =>
  must(
    stage({
      model: twoConvolutions,
      input: [1, 3, 32, 32],
      device: referenceModel('float32'),
      strategy: 'plain',
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 }, accumulate: 2, evaluate: true },
      source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] },
      given: {
        order: [0, 1, 2, 3, 4, 5, 6, 7],
        segments: [
          {
            from: 0,
            to: 3,
            grid: { B: 1, H: tiled ? 8 : 1, W: 1 },
            recompute: tiled,
            reorder: 'once',
            ...(tiled && { prefetch: true as const })
          },
          { from: 3, to: 8, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
        ],
        swapSchedule: [{ tensor: 'output of 2', swapOut: 4, freed: 5, swapIn: 10 }],
        ...(placement === 'virtual' && { placement: { allocator: 'virtual', pageBytes: pageBytes } })
      }
    })
  ).program

const faultOf = (program: Program): VerifierFault | undefined => {
  const verified = verify(program)
  return E.isLeft(verified) ? verified.left : undefined
}

const [value, again] = [0, pageBytes].map((base, buffer) => ({ space: 'arena', base, strides: [0, 0, 0], buffer }) as const) as [
  Address,
  Address
]
const host = { base: 0, strides: [0, 0, 0], buffer: 0 } as const

const mapping = ({ step }: Program, kind: 'map' | 'unmap') => step.code.flatMap((one, at) => (one.kind === kind ? [{ one, at }] : []))

for (const tiled of [false, true]) {
  const program = programOf(tiled)
  const name = tiled ? 'in tiles' : 'whole'

  test(`${name}: a Program in pages is proven, as it is by static, and its memory is what it maps`, () => {
    assert.is(faultOf(program), undefined)
    assert.is(faultOf(programOf(tiled, 'static')), undefined)
    const ends = mapping(program, 'map').map(({ one }) => (one.kind === 'map' ? one.memory + one.bytes : 0))
    assert.is(Math.max(program.pages!.residentBytes, ...ends), program.peakBytes)
    assert.ok(program.step.code.some(({ kind }) => kind === 'copy'))
    assert.is(
      program.step.code.some(({ kind }) => kind === 'loop'),
      tiled
    )
  })

  test(`${name}: without any one of its maps or unmaps it is refused`, () => {
    for (const kind of ['map', 'unmap'] as const)
      for (const { at } of mapping(program, kind)) assert.is(faultOf(drop(program, 'step', [at]))?.kind, 'mapping', `${kind} at ${at}`)
  })

  test(`${name}: with memory mapped twice, with other addresses, or with less memory than it maps it is refused`, () => {
    const maps = mapping(program, 'map')
    for (const { at, one } of maps) {
      if (one.kind !== 'map') continue
      const changed = (change: Partial<typeof one>) => faultOf(replaceAt(program, 'step', [at], () => [{ ...one, ...change }]))?.kind
      assert.is(changed({ memory: 0 }), 'mapping')
      assert.is(changed({ address: one.address + pageBytes / 2 }), 'bounds')
      assert.ok(['mapping', 'bounds'].includes(changed({ address: one.address + pageBytes }) ?? ''))
    }
    const [first, second] = maps
    const twice: Instruction = { ...second!.one, memory: (first!.one as { memory: number }).memory } as Instruction
    assert.is(faultOf(replaceAt(program, 'step', [second!.at], () => [twice]))?.kind, 'mapping')
    assert.is(faultOf({ ...program, peakBytes: program.peakBytes - pageBytes })?.kind, 'bounds')
    assert.is(faultOf({ ...program, peakBytes: program.peakBytes + pageBytes })?.kind, 'peak')
  })

  test(`${name}: with pages that are none, or at addresses that are always mapped, it is refused`, () => {
    const resident = program.pages!.residentBytes
    const beginning = (...code: readonly Instruction[]): string | undefined =>
      faultOf({ ...program, step: { ...program.step, code: [...code, ...program.step.code] } })?.message
    assert.ok(resident > 0)
    assert.is(
      beginning(map(0, resident, pageBytes), unmap(0, pageBytes)),
      'step, instruction 0 (map): maps 4096 bytes of what is always mapped.'
    )
    for (const [address, bytes] of [
      [-pageBytes, pageBytes],
      [resident, 0]
    ] as const)
      assert.match(
        beginning(map(address, resident, bytes)) ?? '',
        /^step, instruction 0 \(map\): names bytes .*, no whole pages of \d+ bytes\.$/
      )
  })

  test(`${name}: memory that goes and comes back under a value loses it`, () => {
    // Every place between two launches: whoever reads a value after it finds nothing.
    const { one, at } = mapping(program, 'map').at(-1)!
    if (one.kind !== 'map') throw new Error('no map')
    const end = program.step.code.findIndex(
      (other) => other.kind === 'unmap' && other.address <= one.address && one.address < other.address + other.bytes
    )
    const faults = new Set<string | undefined>()
    for (let place = at + 1; place < end; place++)
      faults.add(
        faultOf(replaceAt(program, 'step', [place], (next) => [{ kind: 'unmap', address: one.address, bytes: one.bytes }, one, next]))?.kind
      )
    assert.ok(faults.has('initialisation'), [...faults].join())
    faults.forEach((kind) => assert.ok(kind === undefined || kind === 'initialisation', kind))
  })
}

test('a transfer that is not waited for before its memory goes, or that waits for no map, is a race', () => {
  const program = programOf(false)
  const { code } = program.step
  const faultsWithout = (kind: 'record' | 'wait', engine: string): readonly (string | undefined)[] =>
    code.flatMap((one, at) => (one.kind === kind && one.engine === engine ? [faultOf(drop(program, 'step', [at]))?.kind] : []))
  assert.ok(faultsWithout('wait', 'compute').includes('race'))
  assert.ok(faultsWithout('wait', 'to-host').every((kind) => kind === 'race'))
  const incoming = code.findIndex((one) => one.kind === 'copy' && one.engine === 'to-device')
  const withoutWaits = {
    ...program,
    step: { ...program.step, code: code.filter((one, at) => at > incoming || one.kind !== 'wait' || one.engine !== 'to-device') }
  }
  assert.is(faultOf(withoutWaits)?.kind, 'race')
})

/** A value goes to the host, its memory to another page, and it comes back there. */
const handing: readonly Instruction[] = [
  ...[map(0, 0, pageBytes), launch(0, value), record('compute', 0), wait('to-host', 0)],
  ...[swap('to-host', 256, value, host), record('to-host', 1), wait('compute', 1), unmap(0, pageBytes)],
  ...[map(pageBytes, 0, pageBytes), record('compute', 2), wait('to-device', 2)],
  ...[swap('to-device', 256, again, host), record('to-device', 3), wait('compute', 3)],
  ...[launch(1, again, stepIo(0)), unmap(pageBytes, pageBytes)]
]

const faultByHand = (code: readonly Instruction[]): VerifierFault | undefined => {
  const local = { bytes: 256, role: 'local', kind: 'workspace' } as const
  const program = written({
    code,
    kernels: [{ kind: 'zero', bytes: 256 }, copy(256 / 8)],
    buffers: [
      { name: 'value', offset: 0, ...local },
      { name: 'value again', offset: pageBytes, ...local }
    ],
    ...{ peakBytes: pageBytes, hostBytes: 256, pages: { pageBytes, addressBytes: 2 * pageBytes, residentBytes: 0 } }
  })
  const stepIo = [{ name: 'out', type: 'float64', shape: [256 / 8], offset: 0 }] as const
  return faultOf({ ...program, step: { code, stepIoBytes: 256, stepIo } })
}

test('memory that goes from page to page is sound by hand', () => assert.is(faultByHand(handing), undefined))

for (const [what, code, kind, sentence] of [
  [
    'goes while it is copied out',
    handing.toSpliced(6, 1),
    'race',
    'step, instruction 6 (unmap): address unmaps bytes 0 .. 4096 of "the arena", but nothing has waited for the to-host engine, which reads the same bytes in step, instruction 4 (copy to-host).'
  ],
  [
    'comes while something is copied there',
    handing.with(10, wait('to-device', 1)),
    'race',
    'step, instruction 11 (copy to-device): device writes bytes 0 .. 256 of "value again", but nothing has waited for the compute engine, which maps the same bytes in step, instruction 8 (map).'
  ],
  [
    'is taken away twice',
    [...handing, unmap(pageBytes, pageBytes)],
    'mapping',
    'step, instruction 16 (unmap): unmaps bytes 4096 .. 8192, which are not what was mapped.'
  ],
  [
    'is taken away where half of it came',
    handing.with(7, unmap(0, 2 * pageBytes)),
    'mapping',
    'step, instruction 7 (unmap): unmaps bytes 0 .. 8192, which are not what was mapped.'
  ]
] as const)
  test(`a Program is refused whose memory ${what}`, () => {
    const fault = faultByHand(code)
    assert.is(fault?.message, sentence)
    assert.is(fault?.kind, kind)
  })

test('maps in loops, and in Programs without pages, are no Programs', () => {
  const program = programOf(true)
  const { one, at } = mapping(program, 'map')[0]!
  assert.is(faultOf(replaceAt(program, 'step', [at], () => [{ kind: 'loop', axis: 'B', count: 2, body: [one] }]))?.kind, 'form')
  const { pages: _, ...bare } = program
  assert.is(faultOf({ ...bare, peakBytes: program.pages!.addressBytes })?.kind, 'form')
  assert.is(faultOf({ ...program, pages: { ...program.pages!, pageBytes: 1000 } })?.kind, 'form')
  assert.is(faultOf({ ...program, pages: { ...program.pages!, residentBytes: program.peakBytes + pageBytes } })?.kind, 'form')
  assert.is(
    faultOf({ ...program, pages: { ...program.pages!, residentBytes: 0 } })?.message,
    'the persistent tensor "0.weight" lies beyond the 0 bytes that are always mapped.'
  )
})

test.run()
