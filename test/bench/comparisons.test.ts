import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Comparison, type Memory, type Precision, tilefoldName } from '../../bench/comparison'
import { millisecondsOf, sumsByKind } from '../../bench/kernel-kinds'
import { targetLines, targetsText } from '../../bench/targets'

const row = (memory: Memory, precision: Precision, ofPytorch: number | null, ofAutocast: number | null, ofLimit: number) => ({
  name: tilefoldName(memory, precision),
  ...{ medianMs: 1000, predictedMs: null, peakBytes: 0, arenaBytes: 0, stepMs: [1000], discarded: 0, ofPytorch, ofAutocast, ofLimit }
})
const comparison = (model: string, rows: Comparison['rows']): Comparison => ({
  ...{ model, size: 512, batch: 1, threads: 2, rates: { float32: 1, bf16: 1, bytes: 1 }, rows, skipped: [] }
})

test('a step is asked for its share of PyTorch, in less memory for 1.35 times that, in bf16 for autocast too', () => {
  const lines = targetLines(
    comparison('resnet50', [
      row('plain', 'float32', 0.56, null, 1),
      row('a third of plain', 'float32', 0.74, null, 1),
      row('half of plain', 'float32', 0.1, null, 1),
      row('plain', 'bf16', 0.39, 0.86, 1),
      row('a fifth of plain', 'bf16', 0.53, 1.14, 1)
    ])
  )
  assert.equal(
    lines.map(({ memory, precision, met }) => [memory, precision, met]),
    [
      ['plain', 'float32', false],
      ['a third of plain', 'float32', true],
      ['half of plain', 'float32', null],
      ['plain', 'bf16', false],
      ['a fifth of plain', 'bf16', true]
    ]
  )
  assert.match(targetsText(lines), /resnet50 .* plain .* 1\.000 s .* 0\.56 .* 0\.55 .* no/)
})

test('VGG-16 may be near the limit instead; without PyTorch nothing else is known', () => {
  const met = (...of: readonly [number | null, number | null, number]) =>
    targetLines(comparison('vgg16', [row('plain', 'bf16', ...of)]))[0]!.met
  assert.is(met(0.23, 0.5, 1.14), true)
  assert.is(met(0.23, 0.5, 1.16), false)
  assert.is(met(null, null, 1.14), null)
  assert.equal(targetLines(comparison('alexnet', [row('plain', 'bf16', 1, 1, 1)])), [])
})

test('kernels stand beside operators that do the same, and all are counted once', () => {
  const sum = (kernel: string, ms: number) => ({ kernel, launches: 1, ms })
  const ours = [
    sum('convolutionForward, direct, rectified', 1),
    sum('normaliseBackwardReduce', 2),
    sum('normaliseForward', 4),
    sum('new', 8)
  ]
  const theirs = [
    ...[sum('oneDNN convolution forward_training', 1), sum('aten::native_batch_norm', 2)],
    ...[sum('aten::native_batch_norm_backward', 4), sum('aten::empty', 8), sum('aten::add_', 16)]
  ]
  const sums = sumsByKind(ours, theirs)
  assert.equal(
    sums.map((one) => [one.kind, millisecondsOf(one.ours), millisecondsOf(one.theirs)]),
    [
      ['convolutions, forward', 1, 1],
      ['normalisation, forward', 4, 2],
      ['normalisation, backward', 2, 4],
      ['additions', 0, 16],
      ['others', 8, 8]
    ]
  )
})

test.run()
