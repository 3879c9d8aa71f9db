/**
 * How far the planner's tile grid is from the best of all near it, when each is run:
 *
 *     npx ts-node bench/grids.ts [--model vgg16] [--size 512] [--batch 2] [--momentum 0] [--fraction 0.2] [--within 1.25] [--rounds 5] [--threads 2] [--json]
 *
 * One image's fifth of VGG-16's plain memory is less than the weights take, so a step has two
 * images, and SGD no momentum. Takes the plan of sft in this fraction of plain's memory, and for
 * every grid that the search considers for its largest tiled segment the best plan with that grid,
 * of those that are predicted to take at most `within` times as long. Each runs as a plan file, all
 * interleaved; a step during which something else used the machine is taken again.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import { toPlanFile, planFileText } from '../staging'
import type { Grid } from '../staging/graph/span'
import { type Contender, type Skipped, startTilefold } from './contender'
import { type GridPlan, plansByGrid } from './plans-by-grid'
import { must } from './must'
import { readCount, readNumber, readOptions } from './options'
import { requestFor } from './request'
import { discardedText, runInterleaved } from './rounds'
import { runMain } from './run-main'

interface Row {
  readonly grid: Grid
  readonly predictedMs: number
  readonly medianMs: number
  readonly stepMs: readonly number[]
  readonly discarded: number
}

const textOf = ({ B, H, W }: Grid): string => `${B}x${H}x${W}`

/** The first is the chosen one. */
const measure = async (plans: readonly GridPlan[], options: readonly string[], rounds: number): Promise<readonly Row[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'tilefold-grids-'))
  try {
    const started: (Contender | Skipped)[] = []
    for (const [index, { grid, staged }] of plans.entries()) {
      const path = join(folder, `${index}.json`)
      writeFileSync(path, planFileText(toPlanFile(staged), { kind: 'json' }))
      started.push(await startTilefold(textOf(grid), [...options, '--plan', path]))
    }
    const contenders = started.filter((one): one is Contender => 'step' in one)
    const taken = await runInterleaved(contenders, rounds)
    const failed = started.find((one): one is Skipped => 'reason' in one)
    if (failed !== undefined) throw new Error(`the plan with tiles ${failed.name} does not run: ${failed.reason}`)
    return taken.map(({ steps, medianMs, discarded }, index) => ({
      grid: plans[index]!.grid,
      predictedMs: plans[index]!.staged.predicted.stepMilliseconds,
      medianMs,
      stepMs: steps.map(({ ms }) => ms),
      discarded
    }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(3)} s`

const report = (rows: readonly Row[], layers: string): string => {
  const [chosen] = rows
  const best = rows.reduce((fastest, one) => (one.medianMs < fastest.medianMs ? one : fastest))
  const table = new Table({ head: ['tiles (batch, height, width)', 'predicted', 'median step'], style: { head: [], border: [] } })
  rows.forEach((row) =>
    table.push([textOf(row.grid) + (row === chosen ? ', chosen' : ''), seconds(row.predictedMs), seconds(row.medianMs)])
  )
  return [
    layers,
    table.toString(),
    `the chosen tiles take ${(chosen!.medianMs / best.medianMs).toFixed(3)} of the time of the best ones, ${textOf(best.grid)}`,
    ...discardedText(rows)
  ].join('\n')
}

const main = async (): Promise<void> => {
  const { values } = readOptions({
    options: {
      model: { type: 'string', default: 'vgg16' },
      size: { type: 'string', default: '512' },
      fraction: { type: 'string', default: '0.2' },
      within: { type: 'string', default: '1.25' },
      rounds: { type: 'string', default: '5' },
      threads: { type: 'string', default: '2' },
      batch: { type: 'string', default: '2' },
      momentum: { type: 'string', default: '0' },
      json: { type: 'boolean', default: false }
    }
  })
  const { model, size, threads, batch, momentum, fraction } = values
  const request = must(
    requestFor({
      ...{ model, size: readCount('--size', size), threads: readCount('--threads', threads), batch: readCount('--batch', batch) },
      ...{ momentum: readNumber('--momentum', momentum), fraction: readNumber('--fraction', fraction) }
    })
  )
  const rounds = readCount('--rounds', values.rounds)
  const plans = plansByGrid(request, readNumber('--within', values.within, 1))
  if (plans === undefined) {
    process.stdout.write(`${model} on ${size}x${size} has no tiles in ${fraction} of plain's memory.\n`)
    return
  }
  const { nodes } = plans.chosen.staged.graph
  const layers = `${model}, ${nodes[plans.segment.from]!.name} to ${nodes[plans.segment.to - 1]!.name}`
  const options = ['--model', model, '--size', size, '--threads', threads, '--batch', batch, '--momentum', momentum, '--fraction', fraction]
  const rows = await measure([plans.chosen, ...plans.others], options, rounds)
  process.stdout.write(`${values.json ? JSON.stringify({ layers, rows }) : report(rows, layers)}\n`)
}

runMain(main)
