/**
 * Predicted and measured training steps, plain and by strategies in parts of plain's memory:
 *
 *     npx ts-node bench/predictions.ts [--models vgg16,darknet19] [--sizes 512,1024] [--strategies sft] [--fractions 0.3333,0.2] [--link 2GB/s]
 *         [--batch 1] [--momentum 0.9] [--rounds 5] [--threads 2] [--json]
 *
 * Run `tilefold profile MODEL --classes 2 --input 1x3xSIZExSIZE` of each first: predictions are by
 * what this machine's profile knows. The steps of a model and size are interleaved; a step during
 * which something else used the machine is taken again.
 */
import Table from 'cli-table3'
import { type Contender, type Skipped, startTilefold } from './contender'
import { percent } from '../src/text/format'
import { strategyNames } from '../staging'
import { readCount, readCounts, readModels, readNames, readNumbers, readOptions } from './options'
import { discardedText, runInterleaved } from './rounds'
import { runMain } from './run-main'

interface Row {
  readonly model: string
  readonly size: number
  readonly strategy: string
  /** The budget over plain's memory. */
  readonly fraction: number
  readonly predictedMs: number
  readonly medianMs: number
  /** Predicted over measured. */
  readonly ratio: number
  readonly stepMs: readonly number[]
  readonly discarded: number
}

interface Wanted {
  readonly strategy: string
  readonly fraction: number
}

const measure = async (
  model: string,
  size: number,
  wanted: readonly Wanted[],
  common: readonly string[],
  rounds: number
): Promise<readonly (Row | Skipped)[]> => {
  const started: (readonly [Wanted, Contender | Skipped])[] = []
  for (const one of wanted) {
    const within = one.strategy === 'plain' ? [] : ['--strategy', one.strategy, '--fraction', `${one.fraction}`]
    const name = `${model}, ${size}x${size}, ${one.strategy}, ${percent(one.fraction)}`
    started.push([one, await startTilefold(name, ['--model', model, '--size', `${size}`, ...common, ...within])])
  }
  const running = started.flatMap(([one, contender]) => ('step' in contender ? [{ one, contender }] : []))
  const taken = await runInterleaved(
    running.map(({ contender }) => contender),
    rounds
  )
  const rows = running.map(({ one, contender: { predictedMs } }, index): Row => {
    const { steps, medianMs, discarded } = taken[index]!
    const stepMs = steps.map(({ ms }) => ms)
    return { model, size, ...one, predictedMs: predictedMs!, medianMs, ratio: predictedMs! / medianMs, stepMs, discarded }
  })
  return [...rows, ...started.flatMap(([, contender]) => ('reason' in contender ? [contender] : []))]
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(3)} s`

const report = (rows: readonly Row[], skipped: readonly Skipped[]): string => {
  const table = new Table({
    head: ['model', 'size', 'strategy', 'of plain', 'predicted', 'median step', 'predicted / measured'],
    style: { head: [], border: [] }
  })
  rows.forEach(({ model, size, strategy, fraction, predictedMs, medianMs, ratio }) =>
    table.push([model, `${size}x${size}`, strategy, percent(fraction), seconds(predictedMs), seconds(medianMs), ratio.toFixed(2)])
  )
  return [table.toString(), ...skipped.map(({ name, reason }) => `${name}: skipped, ${reason}`), ...discardedText(rows)].join('\n')
}

const main = async (): Promise<void> => {
  const { values } = readOptions({
    options: {
      models: { type: 'string', default: 'vgg16,darknet19' },
      sizes: { type: 'string', default: '512,1024' },
      strategies: { type: 'string', default: 'sft' },
      fractions: { type: 'string', default: '0.3333,0.2' },
      link: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      threads: { type: 'string', default: '2' },
      batch: { type: 'string', default: '1' },
      momentum: { type: 'string', default: '0.9' },
      json: { type: 'boolean', default: false }
    }
  })
  const link = values.link === undefined ? [] : ['--link', values.link]
  const common = ['--threads', values.threads, '--batch', values.batch, '--momentum', values.momentum, ...link]
  const fractions = readNumbers('--fractions', values.fractions)
  const strategies = readNames('--strategies', values.strategies, strategyNames)
  const [sizes, rounds] = [readCounts('--sizes', values.sizes), readCount('--rounds', values.rounds)]
  const wanted = [
    { strategy: 'plain', fraction: 1 },
    ...fractions.flatMap((fraction) => strategies.map((strategy) => ({ strategy, fraction })))
  ]
  const measured: (Row | Skipped)[] = []
  for (const model of readModels('--models', values.models))
    for (const size of sizes) measured.push(...(await measure(model, size, wanted, common, rounds)))
  const rows = measured.filter((one): one is Row => 'ratio' in one)
  const skipped = measured.filter((one): one is Skipped => 'reason' in one)
  // A part of plain's memory may be less than the weights take.
  if (skipped.some(({ name }) => name.includes(' plain,'))) process.exitCode = 1
  process.stdout.write(`${values.json ? JSON.stringify({ rows, skipped }) : report(rows, skipped)}\n`)
}

runMain(main)
