/**
 * Predicted and measured training steps, plain and by sft in a third and a fifth of plain's memory:
 *
 *     npx ts-node bench/predictions.ts [--models vgg16,darknet19] [--sizes 512,1024] [--batch 1] [--momentum 0.9] [--rounds 5] [--threads 2] [--json]
 *
 * Run `tilefold profile MODEL --classes 2 --input 1x3xSIZExSIZE` of each first: predictions are by what this machine's profile knows. The three
 * steps of a model and size are interleaved; a step during which something else used the machine is taken again.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { type Contender, type Skipped, startTilefold } from './contender'
import { discardedText, interleaved } from './rounds'

interface Row {
  readonly model: string
  readonly size: number
  readonly memory: string
  readonly predictedMs: number
  readonly medianMs: number
  /** Predicted over measured. */
  readonly ratio: number
  readonly stepMs: readonly number[]
  readonly discarded: number
}

const memories = [
  { memory: 'plain', options: [] },
  { memory: 'a third', options: ['--fraction', '0.3333'] },
  { memory: 'a fifth', options: ['--fraction', '0.2'] }
] as const

const measure = async (model: string, size: number, common: readonly string[], rounds: number): Promise<readonly (Row | Skipped)[]> => {
  const started: (Contender | Skipped)[] = []
  for (const { memory, options } of memories)
    started.push(await startTilefold(memory, ['--model', model, '--size', `${size}`, ...common, ...options]))
  const contenders = started.filter((one): one is Contender => 'step' in one)
  const taken = await interleaved(contenders, rounds)
  const rows = contenders.map(({ name, predictedMs }, index): Row => {
    const { steps, medianMs, discarded } = taken[index]!
    const stepMs = steps.map(({ ms }) => ms)
    return { model, size, memory: name, predictedMs: predictedMs!, medianMs, ratio: predictedMs! / medianMs, stepMs, discarded }
  })
  const skipped = started.flatMap((one) => ('reason' in one ? [{ ...one, name: `${model}, ${size}x${size}, ${one.name}` }] : []))
  return [...rows, ...skipped]
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(3)} s`

const report = (rows: readonly Row[], skipped: readonly Skipped[]): string => {
  const table = new Table({
    head: ['model', 'size', 'memory', 'predicted', 'median step', 'predicted / measured'],
    style: { head: [], border: [] }
  })
  rows.forEach(({ model, size, memory, predictedMs, medianMs, ratio }) =>
    table.push([model, `${size}x${size}`, memory, seconds(predictedMs), seconds(medianMs), ratio.toFixed(2)])
  )
  return [table.toString(), ...skipped.map(({ name, reason }) => `${name}: skipped, ${reason}`), ...discardedText(rows)].join('\n')
}

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      models: { type: 'string', default: 'vgg16,darknet19' },
      sizes: { type: 'string', default: '512,1024' },
      rounds: { type: 'string', default: '5' },
      threads: { type: 'string', default: '2' },
      batch: { type: 'string', default: '1' },
      momentum: { type: 'string', default: '0.9' },
      json: { type: 'boolean', default: false }
    }
  })
  const common = ['--threads', values.threads, '--batch', values.batch, '--momentum', values.momentum]
  const measured: (Row | Skipped)[] = []
  for (const model of values.models.split(','))
    for (const size of values.sizes.split(',')) measured.push(...(await measure(model, Number(size), common, Number(values.rounds))))
  const rows = measured.filter((one): one is Row => 'ratio' in one)
  const skipped = measured.filter((one): one is Skipped => 'reason' in one)
  // A part of plain's memory may be less than the weights take.
  if (skipped.some(({ name }) => name.endsWith(' plain'))) process.exitCode = 1
  process.stdout.write(`${values.json ? JSON.stringify({ rows, skipped }) : report(rows, skipped)}\n`)
}

void main()
