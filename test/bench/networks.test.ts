/** What gpu-check makes of networks' steps beside PyTorch's. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compareSteps, networkTable } from '../../bench/gpu/network-tables'
import type { Contender, NetworkStep } from '../../bench/gpu/networks'
import { refusal } from '../../bench/gpu/refusal'

const step = (contender: Contender, precision: 'tf32' | 'bf16', medianMs: number): NetworkStep => ({
  ...{ model: 'resnet50', batch: 64, size: 224, precision, contender },
  timing: E.right({ medianMs, predictedMs: contender === 'plain' ? 10 : null, peakBytes: 2 ** 30 })
})
const failed = (contender: Contender, precision: 'tf32' | 'bf16'): NetworkStep => ({
  ...step(contender, precision, 0),
  timing: E.left(refusal('it did not fit', true))
})

test("a step is held to the faster of PyTorch's ways in its precision, whoever failed", () => {
  const rows = [
    ...[step('plain', 'tf32', 21), failed('in a fifth', 'tf32'), step('PyTorch', 'tf32', 24), step('PyTorch, compiled', 'tf32', 20)],
    ...[step('plain', 'bf16', 12), step('in a fifth', 'bf16', 15), step('PyTorch', 'bf16', 17), failed('PyTorch, compiled', 'bf16')]
  ]
  assert.equal(
    compareSteps(rows).map(({ rows: [{ precision }], ms, pytorchMs }) => [precision, ms.get('plain'), ms.get('in a fifth'), pytorchMs]),
    [
      ['tf32', 21, undefined, 20],
      ['bf16', 12, 15, 17]
    ]
  )
  const lines = networkTable(rows).split('\n')
  assert.is(lines.length, 2 + rows.length)
  assert.match(lines[2]!, /\| resnet50 64x3x224x224 \| tf32 \| plain \| 21\.0 ms \| 1\.05 \| 10\.0 ms \| 1\.00 GiB \|/)
  assert.match(lines[3]!, /it did not fit/)
  assert.match(lines[6]!, /\| plain \| 12\.0 ms \| 0\.71 \|/)
})

test('where PyTorch is not there, steps stand alone', () => {
  const rows = [step('plain', 'tf32', 21)]
  assert.is(compareSteps(rows)[0]!.pytorchMs, undefined)
  assert.match(networkTable(rows), /\| 21\.0 ms \| - \|/)
})

test.run()
