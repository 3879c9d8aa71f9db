/** What lies outside of its buffer, or has no extent, by hand. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, type Kernel } from '../../../staging'
import type { Address } from '../../../staging/program/address'
import type { Copy, Instruction } from '../../../staging/program/program'
import { convolution, copy, index, launch, loop, none, programOf, stepIo } from '../../native/program'

const size = 256
const dropout: Kernel = {
  ...{ kind: 'dropout', batch: 1, channels: 1, height: 2, width: 2, layout: 0 },
  ...{ fullChannels: 1, fullHeight: 4, fullWidth: 4, layerKey: 1, rate: 0.5 }
}
const kernels: readonly Kernel[] = [{ kind: 'zero', bytes: size }, copy(8), { kind: 'zero', bytes: 0 }, convolution, dropout]
const [zero, copyRow, nothing, convolve, drop] = [0, 1, 2, 3, 4]

/** An address in the second of two buffers. */
const second = (base: number, perRow = 0): Address => ({ space: 'arena', base: size + base, strides: [0, perRow, 0], buffer: 1 })

const sentenceOf = (code: readonly Instruction[]): string => {
  const local = { bytes: size, role: 'local', kind: 'workspace' } as const
  const buffers = [
    { name: 'first', offset: 0, ...local },
    { name: 'second', offset: size, ...local }
  ]
  const stepIo = [{ name: 'values', type: 'float64', shape: [size / 8], offset: 0 }] as const
  const verified = verify({
    ...programOf({ kernels, code: [], peakBytes: 2 * size, hostBytes: size, buffers }),
    step: { code, stepIoBytes: size, stepIo }
  })
  return isLeft(verified) ? verified.left.message : 'nothing is wrong'
}

const transfer = (change: Partial<Copy>): Copy => ({
  ...{ kind: 'copy', engine: 'to-host', rows: 2, rowBytes: 64, deviceRowStride: 64, hostRowStride: 64 },
  ...{ device: second(64), host: { base: 64, strides: [0, 0, 0], buffer: 0 } },
  ...change
})
const made: readonly Instruction[] = [launch(zero, stepIo(0)), launch(zero, second(0))]
const noExtents = 'has an address or extents that are not whole numbers.'

for (const [what, code, sentence] of [
  [
    'before its buffer',
    [...made, launch(copyRow, second(-8), stepIo(0))],
    'step, instruction 2 (copyBox): source reaches bytes -8 .. 56 of "second", which has 256.'
  ],
  [
    'before its buffer, in the last iteration',
    [...made, loop('H', 3, launch(copyRow, second(64, -64), stepIo(0)))],
    'step, instruction 2.0 (copyBox): source reaches bytes -64 .. 128 of "second", which has 256.'
  ],
  [
    'behind its buffer, with nothing left for scratch',
    [...made, launch(convolve, second(0), second(0), none, stepIo(0), { space: 'arena', base: size, strides: [0, 0, 0], buffer: 0 })],
    'step, instruction 2 (convolutionForward): scratch reaches bytes 256 .. 256 of "first", which has 256.'
  ],
  [
    'at a row below the first',
    [...made, launch(drop, second(0), second(0), index(0), index(-1), index(0)), launch(copyRow, second(0), stepIo(0))],
    'step, instruction 2 (dropout): rowOrigin takes the values -1 .. -1, outside 0 .. 2.'
  ],
  ['of no bytes', [...made, launch(nothing, second(0))], `step, instruction 2 (zero): destination ${noExtents}`],
  ['of no rows', [...made, transfer({ rows: 0 })], `step, instruction 2 (copy to-host): device ${noExtents}`],
  ['in rows that go back', [...made, transfer({ deviceRowStride: -64 })], `step, instruction 2 (copy to-host): device ${noExtents}`],
  [
    'of a rank that is none',
    [...made, { kind: 'exchange', engine: 'network', ranks: 2, sends: [{ rank: 2, bytes: 8, at: second(0) }], receives: [] } as const],
    'step, instruction 2 (exchange): has a message of 8 bytes for rank 2 of 2 after that for rank -1.'
  ]
] as const)
  test(`what is ${what} is refused`, () => assert.is(sentenceOf(code), sentence))

test.run()
