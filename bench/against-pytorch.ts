/**
 * A model's training step, Tilefold against PyTorch eager (torchvision's model of the name),
 * interleaved in one run:
 *
 *     npx ts-node bench/against-pytorch.ts [--model vgg16] [--size 1024] [--batch 1] [--rounds 5] [--threads 2] [--exact-kernels] [--plain] [--python python3] [--json]
 *
 * Each contender is a process of its own that steps when it is told to, one at a time; the first
 * round is not counted, and a step during which something else used the machine is taken again.
 * Both also in bf16, PyTorch's by autocast, and PyTorch compiled. `exact-kernels`: Tilefold without
 * Winograd too, plain and in a fifth. `plain`: nothing in less memory, neither Tilefold nor
 * PyTorch's checkpoints (which only vgg16 has). Below the table stand the machine's own rates, and
 * beside each step of Tilefold's what it takes of the limit that they set (machine-limit.ts).
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { type Contender, type Skipped, start, startTilefold } from './contender'
import { type MachineRates, measureRates } from './machine-limit'
import { must } from './must'
import { discardedText, runInterleaved } from './rounds'

interface Row {
  readonly name: string
  readonly medianMs: number
  /** medianMs over that of the faster of PyTorch's memory formats; null without PyTorch. */
  readonly ofPytorch: number | null
  /** medianMs over that of PyTorch's autocast in bf16; null without it. */
  readonly ofAutocast: number | null
  /** The predicted time of a step; null for PyTorch. */
  readonly predictedMs: number | null
  /** medianMs over what the machine's rates of multiplying and copying leave; null for PyTorch. */
  readonly ofLimit: number | null
  readonly peakBytes: number
  readonly arenaBytes: number | null
  readonly stepMs: readonly number[]
  /** Steps that were not counted because something else used the machine. */
  readonly discarded: number
}

const autocastName = 'channels_last, bf16 by autocast'

const measure = async (contenders: readonly Contender[], rounds: number): Promise<readonly Row[]> => {
  const taken = await runInterleaved(contenders, rounds)
  const eager = taken.filter((_, index) => /^PyTorch, (NCHW|channels_last)$/.test(contenders[index]!.name))
  const fastest = Math.min(...eager.map(({ medianMs }) => medianMs))
  const autocast = taken[contenders.findIndex(({ name }) => name === `PyTorch, ${autocastName}`)]?.medianMs
  return taken.map(({ steps, medianMs, discarded }, index) => {
    const { name, arenaBytes, predictedMs, limitMs } = contenders[index]!
    return {
      name,
      arenaBytes,
      predictedMs,
      medianMs,
      ofLimit: limitMs === null ? null : medianMs / limitMs,
      ofPytorch: eager.length > 0 ? medianMs / fastest : null,
      ofAutocast: autocast === undefined ? null : medianMs / autocast,
      peakBytes: Math.max(...steps.map(({ peakBytes }) => peakBytes)),
      stepMs: steps.map(({ ms }) => ms),
      discarded
    }
  })
}

/** Tiled and untiled by the same kernels. */
const tilings = [
  { kernels: 'all kernels', tiled: 'Tilefold, a fifth of plain', untiled: 'Tilefold, plain' },
  { kernels: 'exact kernels', tiled: 'Tilefold, a fifth of plain, exact kernels', untiled: 'Tilefold, plain, exact kernels' }
] as const

interface TilingCost {
  readonly kernels: (typeof tilings)[number]['kernels']
  /** The median step over that of the same kernels untiled. */
  readonly ofUntiled: number
}

const tilingCosts = (rows: readonly Row[]): readonly TilingCost[] =>
  tilings.flatMap(({ kernels, tiled, untiled }) => {
    const [one, other] = [tiled, untiled].map((wanted) => rows.find(({ name }) => name === wanted))
    return one === undefined || other === undefined ? [] : [{ kernels, ofUntiled: one.medianMs / other.medianMs }]
  })

const mebibytes = (bytes: number | null): string => (bytes === null ? '-' : `${(bytes / 2 ** 20).toFixed(0)} MiB`)
const seconds = (milliseconds: number | null): string => (milliseconds === null ? '-' : `${(milliseconds / 1000).toFixed(2)} s`)

const ratesText = ({ float32, bf16, bytes }: MachineRates): string => {
  const [products, halves, copies] = [float32, bf16, bytes].map((rate) => (rate / 1e9).toFixed(0))
  return `the machine: products ${products} GFLOP/s in float32 and ${halves} in bf16 by oneDNN, copies ${copies} GB/s`
}

const report = (rows: readonly Row[], skipped: readonly Skipped[], rates: MachineRates): string => {
  const head = ['', 'median step', 'predicted', 'of limit', 'of PyTorch', 'of its bf16', 'arena', 'peak memory']
  const table = new Table({ head, style: { head: [], border: [] } })
  rows.forEach(({ name, medianMs, predictedMs, ofLimit, ofPytorch, ofAutocast, arenaBytes, peakBytes }) =>
    table.push([
      ...[name, seconds(medianMs), seconds(predictedMs)],
      ...[ofLimit, ofPytorch, ofAutocast].map((ratio) => ratio?.toFixed(2) ?? '-'),
      ...[mebibytes(arenaBytes), mebibytes(peakBytes)]
    ])
  )
  return [
    table.toString(),
    ratesText(rates),
    ...tilingCosts(rows).map(
      ({ kernels, ofUntiled }) => `a fifth of plain, ${kernels}: ${ofUntiled.toFixed(2)} of the same kernels untiled`
    ),
    ...skipped.map(({ name, reason }) => `${name}: skipped, ${reason.replace(/\.$/, '')}.`),
    ...discardedText(rows)
  ].join('\n')
}

/**
 * PyTorch's checkpoint_sequential at the numbers of segments among which its best is, by memory or
 * by time.
 */
const pytorchSegments = [2, 3, 4, 6]

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', default: 'vgg16' },
      size: { type: 'string', default: '1024' },
      batch: { type: 'string', default: '1' },
      rounds: { type: 'string', default: '5' },
      threads: { type: 'string', default: '2' },
      'exact-kernels': { type: 'boolean', default: false },
      plain: { type: 'boolean', default: false },
      python: { type: 'string', default: 'python3' },
      json: { type: 'boolean', default: false }
    }
  })
  const { model, size, batch, threads, plain } = values
  const common = ['--model', model, '--size', size, '--batch', batch, '--threads', threads]
  const rates = must(measureRates(Number(threads)))
  const tilefold = (name: string, ...more: readonly string[]): Promise<Contender | Skipped> =>
    startTilefold(`Tilefold, ${name}`, [...common, '--rates', JSON.stringify(rates), ...more])
  const pytorch = (name: string, ...more: readonly string[]): Promise<Contender | Skipped> =>
    start(`PyTorch, ${name}`, values.python, [join(__dirname, 'pytorch_step.py'), ...common, ...more])
  const started = [await tilefold('plain')]
  if (!plain)
    started.push(await tilefold('a third of plain', '--fraction', '0.3333'), await tilefold('a fifth of plain', '--fraction', '0.2'))
  started.push(await tilefold('plain, bf16', '--precision', 'bf16'))
  if (!plain) started.push(await tilefold('a third of plain, bf16', '--fraction', '0.3333', '--precision', 'bf16'))
  if (values['exact-kernels']) started.push(await tilefold('plain, exact kernels', '--exact-kernels'))
  if (values['exact-kernels'] && !plain)
    started.push(await tilefold('a fifth of plain, exact kernels', '--fraction', '0.2', '--exact-kernels'))
  started.push(await pytorch('NCHW', '--format', 'nchw'), await pytorch('channels_last', '--format', 'channels_last'))
  const channelsLast = ['--format', 'channels_last'] as const
  started.push(await pytorch(autocastName, ...channelsLast, '--precision', 'bf16'))
  started.push(await pytorch('channels_last, compiled', ...channelsLast, '--compile'))
  if (!plain && model === 'vgg16' && started.some((one) => one.name.startsWith('PyTorch') && 'step' in one))
    for (const segments of pytorchSegments)
      started.push(
        await pytorch(`channels_last, checkpoint_sequential ${segments}`, ...['--format', 'channels_last', '--segments', `${segments}`])
      )
  const contenders = started.filter((one): one is Contender => 'step' in one)
  const skipped = started.filter((one): one is Skipped => 'reason' in one)
  const rows = await measure(contenders, Number(values.rounds))
  if (skipped.some(({ name }) => name.startsWith('Tilefold'))) process.exitCode = 1
  process.stdout.write(
    `${values.json ? JSON.stringify({ model, size: Number(size), batch: Number(batch), rates, rows, tiling: tilingCosts(rows), skipped }) : report(rows, skipped, rates)}\n`
  )
}

void main()
