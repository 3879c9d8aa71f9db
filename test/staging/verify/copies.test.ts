import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, type Kernel } from '../../../staging'
import type { Address, Offset } from '../../../staging/program/address'
import type { Copy, Engine, Instruction, Program } from '../../../staging/program/program'
import { copy, stepIo, launch, loop, programOf } from '../../native/program'

/**
 * Four arena buffers of 256 bytes, of which the last takes the place of the first once that is on
 * the host, or lies beside it.
 */
const size = 256
const program = (code: readonly Instruction[], reuse = true): Program => ({
  ...programOf({
    kernels,
    code,
    stepIoBytes: size,
    peakBytes: reuse ? 3 * size : 4 * size,
    buffers: [
      { name: 'value', offset: 0, bytes: size, role: 'local', kind: 'workspace' },
      { name: 'other', offset: reuse ? 0 : 3 * size, bytes: size, role: 'local', kind: 'workspace' },
      { name: 'result', offset: size, bytes: size, role: 'local', kind: 'workspace' },
      { name: 'value again', offset: 2 * size, bytes: size, role: 'local', kind: 'workspace' }
    ]
  }),
  hostBytes: 2 * size,
  hostBuffers: [{ name: 'the host pool', offset: 0, bytes: 2 * size, role: 'local', kind: 'workspace' }]
})

const offsets = (reuse: boolean): readonly number[] => [0, reuse ? 0 : 3 * size, size, 2 * size]
const kernels: readonly Kernel[] = [{ kind: 'zero', bytes: size }, copy(size / 8), copy(8)]
const at = (buffer: number, reuse = true, base = 0, strides: Address['strides'] = [0, 0, 0]): Address => ({
  space: 'arena',
  base: offsets(reuse)[buffer]! + base,
  strides,
  buffer
})
const zero = (buffer: number, reuse = true): Instruction => launch(0, at(buffer, reuse))
const record = (engine: Engine, event: number): Instruction => ({ kind: 'record', engine, event })
const wait = (engine: Engine, event: number): Instruction => ({ kind: 'wait', engine, event })
const transfer = (
  engine: Copy['engine'],
  buffer: number,
  reuse = true,
  host: Offset = { base: 0, strides: [0, 0, 0], buffer: 0 }
): Instruction => ({
  kind: 'copy',
  engine,
  rows: 1,
  rowBytes: size,
  deviceRowStride: size,
  hostRowStride: size,
  device: at(buffer, reuse),
  host
})

/** A value goes to the host, another takes its place meanwhile, and it comes back elsewhere. */
const swap: readonly Instruction[] = [
  zero(0),
  record('compute', 0),
  wait('to-host', 0),
  transfer('to-host', 0),
  record('to-host', 1),
  wait('compute', 1),
  zero(1),
  launch(1, at(1), at(2)),
  wait('to-device', 1),
  transfer('to-device', 3),
  record('to-device', 2),
  wait('compute', 2),
  launch(1, at(2), stepIo(0)),
  launch(1, at(3), stepIo(0))
]

const withStepIo = (one: Program): Program => ({
  ...one,
  step: { ...one.step, stepIo: [{ name: 'out', type: 'float64', shape: [size / 8], offset: 0 }] }
})

const refusal = (code: readonly Instruction[], reuse = true): string => {
  const result = verify(withStepIo(program(code, reuse)))
  return isLeft(result) ? result.left.message : ''
}

const without = (...positions: readonly number[]): readonly Instruction[] => swap.filter((_, position) => !positions.includes(position))

test('a value that is swapped out and in again is sound', () => {
  const result = verify(withStepIo(program(swap)))
  assert.is(isLeft(result) ? result.left.message : result.right.hostPeakBytes, size)
})

for (const [name, code, sentence] of [
  [
    'a copy out that does not wait for what it copies',
    without(2),
    /^step, instruction 2 \(copy to-host\): device reads bytes 0 \.\. 256 of "value", but nothing has waited for the compute engine, which writes the same bytes in step, instruction 0 \(zero\)\.$/
  ],
  [
    'a write into a buffer that is being copied out',
    without(5),
    /^step, instruction 5 \(zero\): destination writes bytes 0 \.\. 256 of "other", but nothing has waited for the to-host engine, which reads the same bytes in step, instruction 3 \(copy to-host\)\.$/
  ],
  [
    'a swap-in that starts before its swap-out has ended',
    without(8),
    /^step, instruction 8 \(copy to-device\): host reads bytes 0 \.\. 256 of "the host pool", but nothing has waited for the to-host engine, which writes the same bytes in step, instruction 3 \(copy to-host\)\.$/
  ],
  [
    'a value that is read while it is still copied in',
    without(11),
    /^step, instruction 12 \(copyBox\): source reads bytes 0 \.\. 256 of "value again", but nothing has waited for the to-device engine, which writes the same bytes in step, instruction 9 \(copy to-device\)\.$/
  ],
  ['an event that nothing records', without(4), /^step, instruction 4 \(wait\): waits for event 1, which nothing has recorded\.$/],
  [
    'a value that was never copied out',
    without(1, 2, 3),
    /^step, instruction 6 \(copy to-device\): host reads bytes 0 \.\. 256 of "the host pool", which nothing writes before\.$/
  ],
  [
    'a copy past the host pool',
    swap.map((one, position) => (position === 3 ? transfer('to-host', 0, true, { base: 2 * size, strides: [0, 0, 0], buffer: 0 }) : one)),
    /^step, instruction 3 \(copy to-host\): host reaches bytes 512 \.\. 768, outside the host pool of 512 bytes\.$/
  ],
  [
    'a value whose place another takes while it lives',
    [...swap.slice(0, 12), launch(1, at(0), at(2)), ...swap.slice(12)],
    /^step: "other" and "value" are live at once and share bytes 0 \.\. 256 of the arena\.$/
  ]
] as const)
  test(`refuses ${name}`, () => assert.match(refusal(code), sentence))

/**
 * Each tile computes into one of its own buffers while the tile before it is copied out, to its own
 * part of the host pool.
 */
const streamed = (waits: boolean): readonly Instruction[] => [
  record('to-host', 1),
  loop(
    'H',
    2,
    ...(waits ? [wait('compute', 1)] : []),
    zero(0, false),
    record('compute', 0),
    wait('to-host', 0),
    transfer('to-host', 0, false, { base: 0, strides: [0, size, 0], buffer: 0 }),
    record('to-host', 1)
  ),
  zero(1, false),
  launch(1, at(1, false), at(2, false)),
  launch(1, at(2, false), stepIo(0)),
  wait('to-device', 1),
  transfer('to-device', 3, false, { base: size, strides: [0, 0, 0], buffer: 0 }),
  record('to-device', 2),
  wait('compute', 2),
  launch(1, at(3, false), stepIo(0))
]

test('tiles are streamed out while others are computed, and races between iterations are found', () => {
  assert.is(refusal(streamed(true), false), '')
  assert.match(
    refusal(streamed(false), false),
    /^step, instruction 1\.0 \(zero\): destination writes bytes 0 \.\. 256 of "value", but nothing has waited for the to-host engine, which reads the same bytes in step, instruction 1\.3 \(copy to-host\)\.$/
  )
})

test('loops with copies are followed up to a number of instructions that is said', () => {
  const endless = [loop('H', 2 ** 40, zero(0, false), record('compute', 0), wait('to-host', 0))]
  assert.match(refusal(endless, false), /^step runs more than 2097152 instructions in loops with copies, more than are followed\.$/)
})

test('rows that a loop reads must be rows that were written, row by row', () => {
  const rows = (written: number, read: number): readonly Instruction[] => [
    loop('H', written, launch(2, stepIo(0), at(2, false, 0, [0, 64, 0]))),
    loop('W', read, launch(2, at(2, false, 0, [0, 0, 64]), stepIo(0))),
    launch(0, stepIo(0))
  ]
  const small = (code: readonly Instruction[]): string => {
    const base = withStepIo(program(code, false))
    const result = verify({ ...base, hostBytes: 0, peakBytes: size + 64 * 4 })
    return isLeft(result) ? result.left.message : ''
  }
  assert.is(small(rows(4, 4)), '')
  assert.match(
    small(rows(3, 4)),
    /^step, instruction 1\.0 \(copyBox\): source reads bytes 192 \.\. 256 of "result", which nothing writes before the loop/
  )
})

test.run()
