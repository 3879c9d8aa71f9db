/** Loops by hand: what one has written, and what engines do in it beside each other. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, type Kernel } from '../../../staging'
import type { Address } from '../../../staging/program/address'
import type { Copy, Instruction } from '../../../staging/program/program'
import type { ProgramBuffer } from '../../../staging/program/program-buffer'
import { copy, launch, loop, programOf, record, stepIo, wait } from '../../native/program'

const [row, size] = [64, 256]
const kernels: readonly Kernel[] = [{ kind: 'zero', bytes: size }, copy(size / 8), copy(row / 8)]
const [zero, copyAll, copyRow, added] = [0, 1, 2, 3]

const rows = (base: number, perRow = 0): Address => ({ space: 'arena', base, strides: [0, perRow, 0], buffer: 0 })

/** What is said of a step over a buffer of so many bytes, and as many on the host. */
const sentenceOf = (code: readonly Instruction[], bytes = size, more: readonly Kernel[] = []): string => {
  const buffer: ProgramBuffer = { name: 'rows', offset: 0, bytes, role: 'local', kind: 'workspace' }
  const values = { name: 'values', type: 'float64', shape: [size / 8], offset: 0 } as const
  const verified = verify({
    ...programOf({ kernels: [...kernels, ...more], code: [], peakBytes: bytes, hostBytes: bytes, buffers: [buffer] }),
    step: { code, stepIoBytes: size, stepIo: [values] }
  })
  return isLeft(verified) ? verified.left.message : 'nothing is wrong'
}

const transfer = (engine: Copy['engine'], rowBytes: number, base: number, perRow = 0): Copy => {
  const strides = [0, perRow, 0] as const
  const host = { base, strides, buffer: 0 }
  return { kind: 'copy', engine, rows: 1, rowBytes, deviceRowStride: rowBytes, hostRowStride: rowBytes, device: rows(base, perRow), host }
}

/** Rows that are zero on both sides. */
const made: readonly Instruction[] = [
  ...[launch(zero, stepIo(0)), launch(zero, rows(0)), record('compute', 0), wait('to-host', 0)],
  ...[transfer('to-host', size, 0), record('to-host', 1), wait('to-device', 1)]
]
const waited: readonly Instruction[] = [record('to-device', 2), wait('compute', 2)]
/** In each iteration a row is read, and the one before it is brought. */
const bringing = (between: readonly Instruction[]): readonly Instruction[] => [
  ...made,
  loop('H', 3, launch(copyRow, rows(row, row), stepIo(0)), ...between, transfer('to-device', row, 0, row))
]
const reading = (written: number, read: number): readonly Instruction[] => [
  launch(zero, stepIo(0)),
  loop('H', written, launch(copyRow, stepIo(0), rows(0, row))),
  loop('H', read, launch(copyRow, rows(0, row), stepIo(0)))
]
const unwaited =
  /^step, instruction 8\.0 \(copyBox\): source reads bytes 0 \.\. 256 of "rows", but nothing has waited for the to-device engine/

for (const [what, sentence, wanted] of [
  [
    'a loop that reads a row which has been brought',
    sentenceOf([...made, transfer('to-device', row, 3 * row), ...waited, loop('H', 4, launch(copyRow, rows(0, row), stepIo(0)))]),
    /^nothing is wrong$/
  ],
  [
    'a loop that reads a row which is being brought, in its last iteration',
    sentenceOf([...made, transfer('to-device', row, 3 * row), loop('H', 4, launch(copyRow, rows(0, row), stepIo(0)))]),
    unwaited
  ],
  [
    'a loop that goes back to a row which is being brought',
    sentenceOf([...made, transfer('to-device', row, 0), loop('H', 4, launch(copyRow, rows(3 * row, -row), stepIo(0)))]),
    unwaited
  ],
  [
    'rows that are brought when an earlier iteration has read them',
    sentenceOf(bringing([record('compute', 3), wait('to-device', 3)])),
    /^nothing is wrong$/
  ],
  [
    'rows that are brought while an earlier iteration reads them',
    sentenceOf(bringing([])),
    /^step, instruction 7\.1 \(copy to-device\): device writes bytes 64 \.\. 128 of "rows", but nothing has waited for the compute engine, which reads/
  ],
  [
    'a copy where nothing waits',
    sentenceOf([launch(zero, stepIo(0)), launch(zero, rows(0)), transfer('to-host', size, 0), launch(copyAll, rows(0), stepIo(0))]),
    /\(copy to-host\): device reads bytes 0 \.\. 256 of "rows", but nothing has waited for the compute engine/
  ],
  ['as many rows as were written', sentenceOf(reading(4, 4)), /^nothing is wrong$/],
  [
    'more rows than were written, in a loop of the same axis',
    sentenceOf(reading(3, 4)),
    /source reads bytes 192 \.\. 256 of "rows", which nothing writes before the loop or earlier in the same iteration\.$/
  ],
  [
    'a sum that begins with what the caller has left',
    sentenceOf([launch(zero, rows(0)), launch(added, rows(0), stepIo(0))], size, [{ ...copy(size / 8), add: 1 } as Kernel]),
    /destination adds to bytes 0 \.\. 256 of "values of the I\/O buffer", which nothing writes before\.$/
  ],
  [
    'gaps between more numbers than are listed',
    sentenceOf(
      [
        launch(zero, stepIo(0)),
        loop('H', 5000, launch(added, stepIo(0), rows(0, 16))),
        ...[launch(added + 1, rows(0), rows(80_000)), launch(copyAll, rows(80_000), stepIo(0))]
      ],
      160_000,
      [copy(1), copy(9999)]
    ),
    /source reads bytes \d+ \.\. \d+ of "rows", which nothing writes before\.$/
  ],
  [
    'a gap in a copy of more runs than are listed',
    sentenceOf(
      [
        launch(zero, stepIo(0)),
        launch(added, stepIo(0), rows(0)),
        ...[launch(added + 1, rows(0), rows(4096)), launch(copyAll, rows(4096), stepIo(0))]
      ],
      8192,
      [{ ...copy(1), n1: 70, n2: 70, destinationStride1: 3, destinationStride2: 2 } as Kernel, copy(2768 / 8)]
    ),
    /source reads bytes \d+ \.\. \d+ of "rows", which nothing writes before\.$/
  ]
] as const)
  test(`${what}: ${wanted.source === '^nothing is wrong$' ? 'sound' : 'refused'}`, () => assert.match(sentence, wanted))

test.run()
