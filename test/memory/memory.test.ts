import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import { ok } from 'uvu/assert'
import type { Measured, Wanted } from './measure'

/**
 * Predicted is measured, by evidence: the arena is filled with a pattern, a mebibyte longer than planned and closed by an
 * inaccessible page; a preloaded counter watches the heap while training steps run.
 */
const memory = suite('memory: planned peaks are the real ones')
const folder = mkdtempSync(join(tmpdir(), 'tilefold-memory-'))
const counter = join(folder, 'malloc_counter.so')

memory.before(() => {
  execFileSync('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', counter, join(__dirname, 'malloc_counter.c')])
})
memory.after(() => rmSync(folder, { recursive: true }))

const measured = (wanted: Wanted): Measured => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['-r', 'ts-node/register', join(__dirname, 'measure.ts'), JSON.stringify(wanted)],
    {
      encoding: 'utf8',
      env: { ...process.env, LD_PRELOAD: counter, MALLOC_COUNTS: join(folder, 'counts') }
    }
  )
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Measured
}

const cases: readonly Wanted[] = [
  { device: 'cpu', network: 'vgg16', input: [1, 3, 160, 128], strategy: 'plain' },
  { device: 'cpu', network: 'vgg16', input: [1, 3, 161, 227], strategy: 'sft', budgetFactor: 1 },
  { device: 'cpu', network: 'vgg16', input: [2, 3, 96, 128], strategy: 'chen', budgetFactor: 1 },
  { device: 'cpu', network: 'darknet19', input: [2, 3, 131, 97], strategy: 'sft', budgetFactor: 1 },
  { device: 'reference', network: 'vgg11', input: [1, 3, 64, 48], strategy: 'sft', budgetFactor: 1 }
]

cases.forEach((wanted) =>
  memory(`${wanted.network} at ${wanted.input.join('x')}, ${wanted.strategy}, ${wanted.device}`, () => {
    const { plannedPeakBytes, measuredPeakBytes, heapBytes, controlBytes, tiles } = measured(wanted)
    ok(
      measuredPeakBytes <= plannedPeakBytes,
      `byte ${measuredPeakBytes - 1} was changed, over the planned peak of ${plannedPeakBytes} bytes`
    )
    ok(
      measuredPeakBytes > plannedPeakBytes - 4096,
      `the highest byte changed is ${measuredPeakBytes - 1}, far under the planned peak of ${plannedPeakBytes} bytes`
    )
    ok(Math.max(...heapBytes) < 1 << 20, `the heap grew by ${heapBytes.join(', ')} bytes in the steps`)
    ok(controlBytes >= 4 << 20, `the counter saw ${controlBytes} bytes of an allocation of 4 MiB`)
    if (wanted.strategy === 'sft') ok(tiles > 1, 'the plan has no tiles')
  })
)

memory.run()
