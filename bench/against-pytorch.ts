/**
 * VGG-16's training step, Tilefold against PyTorch eager, interleaved in one run:
 *
 *     npx ts-node bench/against-pytorch.ts [--size 1024] [--rounds 5] [--threads 2] [--python python3] [--json]
 *
 * Each contender is a process of its own that steps when it is told to, one at a time; the first round is not counted, and a step
 * during which something else used the machine is taken again.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { type Contender, type Skipped, type Step, start } from './contender'
import { median } from './median'

interface Row {
  readonly name: string
  readonly medianMs: number
  /** Of the faster of PyTorch's memory formats; null without PyTorch. */
  readonly ofPytorch: number | null
  /** Of the median; null for PyTorch. */
  readonly predictedMs: number | null
  readonly peakBytes: number
  readonly arenaBytes: number | null
  readonly stepMs: readonly number[]
  /** Steps that were not counted because something else used the machine. */
  readonly discarded: number
}

/** A step counts while everything else on the machine used less than this share of one processor. */
const mostDisturbance = 0.1

/** How often a disturbed step is taken again, before it counts all the same. */
const mostRepeats = 4

interface Taken {
  readonly steps: readonly Step[]
  readonly discarded: number
}

const undisturbed = async (contender: Contender): Promise<Taken> => {
  for (let discarded = 0; ; discarded += 1) {
    const step = await contender.step()
    if (step.disturbance < mostDisturbance || discarded === mostRepeats) return { steps: [step], discarded }
  }
}

const measure = async (contenders: readonly Contender[], rounds: number): Promise<readonly Row[]> => {
  const taken = contenders.map((): Taken => ({ steps: [], discarded: 0 }))
  for (let round = 0; round < rounds; round += 1)
    for (const [index, contender] of contenders.entries()) {
      const { steps, discarded } = await undisturbed(contender)
      const before = taken[index]!
      taken[index] = { steps: [...before.steps, ...steps], discarded: before.discarded + discarded }
    }
  const medians = taken.map(({ steps }) => median(steps.map(({ ms }) => ms)))
  const eager = medians.filter((_, index) => /^PyTorch, (NCHW|channels_last)$/.test(contenders[index]!.name))
  return contenders.map(({ name, arenaBytes, predictedMs }, index) => ({
    name,
    arenaBytes,
    predictedMs,
    medianMs: medians[index]!,
    ofPytorch: eager.length > 0 ? medians[index]! / Math.min(...eager) : null,
    peakBytes: Math.max(...taken[index]!.steps.map(({ peakBytes }) => peakBytes)),
    stepMs: taken[index]!.steps.map(({ ms }) => ms),
    discarded: taken[index]!.discarded
  }))
}

const mebibytes = (bytes: number | null): string => (bytes === null ? '-' : `${(bytes / 2 ** 20).toFixed(0)} MiB`)
const seconds = (milliseconds: number | null): string => (milliseconds === null ? '-' : `${(milliseconds / 1000).toFixed(2)} s`)

const report = (rows: readonly Row[], skipped: readonly Skipped[]): string => {
  const head = ['', 'median step', 'predicted', 'of PyTorch', 'arena', 'peak memory']
  const table = new Table({ head, style: { head: [], border: [] } })
  rows.forEach(({ name, medianMs, predictedMs, ofPytorch, arenaBytes, peakBytes }) =>
    table.push([name, seconds(medianMs), seconds(predictedMs), ofPytorch?.toFixed(2) ?? '-', mebibytes(arenaBytes), mebibytes(peakBytes)])
  )
  const discarded = rows.reduce((sum, row) => sum + row.discarded, 0)
  return [
    table.toString(),
    ...skipped.map(({ name, reason }) => `${name}: skipped, ${reason.replace(/\.$/, '')}.`),
    ...(discarded > 0 ? [`${discarded} steps were taken again, for something else used the machine.`] : [])
  ].join('\n')
}

/** PyTorch's checkpoint_sequential at the numbers of segments among which its best is, by memory or by time. */
const pytorchSegments = [2, 4]

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      size: { type: 'string', default: '1024' },
      rounds: { type: 'string', default: '5' },
      threads: { type: 'string', default: '2' },
      python: { type: 'string', default: 'python3' },
      json: { type: 'boolean', default: false }
    }
  })
  const common = ['--height', values.size, '--width', values.size, '--threads', values.threads]
  const tilefold = ['-r', 'ts-node/register', join(__dirname, 'tilefold_vgg16.ts'), ...common]
  const pytorch = [join(__dirname, 'pytorch_vgg16.py'), ...common]
  const started = [
    await start('Tilefold, plain', process.execPath, tilefold),
    await start('Tilefold, a third of plain', process.execPath, [...tilefold, '--fraction', '0.3333']),
    await start('Tilefold, a fifth of plain', process.execPath, [...tilefold, '--fraction', '0.2']),
    await start('PyTorch, NCHW', values.python, [...pytorch, '--format', 'nchw']),
    await start('PyTorch, channels_last', values.python, [...pytorch, '--format', 'channels_last'])
  ]
  if (started.some((one) => one.name.startsWith('PyTorch') && 'step' in one))
    for (const segments of pytorchSegments)
      started.push(
        await start(`PyTorch, channels_last, checkpoint_sequential ${segments}`, values.python, [
          ...pytorch,
          ...['--format', 'channels_last', '--segments', `${segments}`]
        ])
      )
  const contenders = started.filter((one): one is Contender => 'step' in one)
  const skipped = started.filter((one): one is Skipped => 'reason' in one)
  const rows = await measure(contenders, Number(values.rounds)).finally(() => contenders.forEach(({ close }) => close()))
  if (skipped.some(({ name }) => name.startsWith('Tilefold'))) process.exitCode = 1
  process.stdout.write(`${values.json ? JSON.stringify({ size: Number(values.size), rows, skipped }) : report(rows, skipped)}\n`)
}

void main()
