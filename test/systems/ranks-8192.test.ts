/**
 * What ranks gain at 8192 pixels a side, from 1 to 1,024 of them, as the table of docs/ranks.md has
 * it; `ranks-8192.json` is what the command below printed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

interface Cell {
  readonly network: string
  readonly predictedStepMs: number | null
  readonly speedUp: number | null
  readonly boundBy: string | null
}

interface Row {
  readonly model: string
  readonly ranks: number
  readonly cells: readonly Cell[]
}

/** Rows as a table rounds them. */
const rounded = (rows: readonly Row[]): readonly string[] =>
  rows.flatMap(({ model, ranks, cells }) =>
    cells.map(({ network, predictedStepMs, speedUp, boundBy }) =>
      predictedStepMs === null
        ? `${model} on ${ranks}, ${network}: does not fit`
        : `${model} on ${ranks}, ${network}: ${predictedStepMs.toPrecision(3)} ms, ${speedUp!.toFixed(2)}, ${boundBy}`
    )
  )

test('the speed-ups of VGG-16, ResNet-50 and DeepLabv3 at 8192 pixels a side are as they were', () => {
  const root = join(__dirname, '../..')
  const args = ['-r', 'ts-node/register/transpile-only', 'bench/ranks.ts', '--ranks', '1,4,16,64,256,1024', '--json']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
  assert.is(status, 0, stderr)
  const golden = JSON.parse(readFileSync(join(__dirname, 'ranks-8192.json'), 'utf8')) as readonly Row[]
  assert.equal(rounded(JSON.parse(stdout) as readonly Row[]), rounded(golden))
})

test.run()
