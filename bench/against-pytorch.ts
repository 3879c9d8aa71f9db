/**
 * VGG-16's training step, Tilefold against PyTorch eager, interleaved in one run:
 *
 *     npx ts-node bench/against-pytorch.ts [--size 1024] [--rounds 5] [--threads 2] [--python python3] [--json]
 *
 * Each contender is a process of its own that steps when it is told to, one at a time; the first round is not counted.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'

interface Step {
  readonly ms: number
  readonly loss: number
  readonly peakBytes: number
}

interface Contender {
  readonly name: string
  /** Tilefold's arena, bytes. */
  readonly arenaBytes: number | null
  readonly step: () => Promise<Step>
  readonly close: () => void
}

interface Skipped {
  readonly name: string
  readonly reason: string
}

interface Row {
  readonly name: string
  readonly medianMs: number
  /** Of the faster of PyTorch's memory formats; null without PyTorch. */
  readonly ofPytorch: number | null
  readonly peakBytes: number
  readonly arenaBytes: number | null
  readonly stepMs: readonly number[]
}

/** Starts a process that prints one JSON line when ready, and one for each line that it reads. */
const start = async (name: string, command: string, parameters: readonly string[]): Promise<Contender | Skipped> => {
  const child: ChildProcess = spawn(command, parameters, { stdio: ['pipe', 'pipe', 'pipe'] })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  let complaint = ''
  child.stderr!.on('data', (text) => (complaint += String(text)))
  const failed = new Promise<never>((_, reject) => {
    child.on('error', (error) => reject(new Error(error.message)))
    child.on('close', (status) => reject(new Error(complaint.trim().split('\n').at(-1) || `it ended with status ${status}`)))
  })
  failed.catch(() => undefined)
  const next = async (): Promise<unknown> => {
    const line = await Promise.race([lines.next(), failed])
    return line.done === true ? failed : (JSON.parse(line.value) as unknown)
  }
  const step = async (): Promise<Step> => {
    child.stdin!.write('\n')
    return (await next()) as Step
  }
  return next().then(
    (ready) => ({
      name,
      arenaBytes: (ready as { readonly arenaBytes?: number }).arenaBytes ?? null,
      step,
      close: () => child.stdin!.end()
    }),
    (error: Error) => ({ name, reason: error.message })
  )
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2
}

const measure = async (contenders: readonly Contender[], rounds: number): Promise<readonly Row[]> => {
  const steps = contenders.map((): Step[] => [])
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, contender] of contenders.entries()) {
      const step = await contender.step()
      if (round > 0) steps[index]!.push(step)
    }
  const medians = steps.map((taken) => median(taken.map(({ ms }) => ms)))
  const pytorch = Math.min(...medians.filter((_, index) => contenders[index]!.name.startsWith('PyTorch')))
  return contenders.map(({ name, arenaBytes }, index) => ({
    name,
    arenaBytes,
    medianMs: medians[index]!,
    ofPytorch: Number.isFinite(pytorch) ? medians[index]! / pytorch : null,
    peakBytes: Math.max(...steps[index]!.map(({ peakBytes }) => peakBytes)),
    stepMs: steps[index]!.map(({ ms }) => ms)
  }))
}

const mebibytes = (bytes: number | null): string => (bytes === null ? '-' : `${(bytes / 2 ** 20).toFixed(0)} MiB`)

const report = (rows: readonly Row[], skipped: readonly Skipped[]): string => {
  const table = new Table({ head: ['', 'median step', 'of PyTorch', 'arena', 'peak memory'], style: { head: [], border: [] } })
  rows.forEach(({ name, medianMs, ofPytorch, arenaBytes, peakBytes }) =>
    table.push([name, `${(medianMs / 1000).toFixed(2)} s`, ofPytorch?.toFixed(2) ?? '-', mebibytes(arenaBytes), mebibytes(peakBytes)])
  )
  return [table.toString(), ...skipped.map(({ name, reason }) => `${name}: skipped, ${reason.replace(/\.$/, '')}.`)].join('\n')
}

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
    await start('Tilefold, a fifth of plain', process.execPath, [...tilefold, '--fraction', '0.2']),
    await start('PyTorch, NCHW', values.python, [...pytorch, '--format', 'nchw']),
    await start('PyTorch, channels_last', values.python, [...pytorch, '--format', 'channels_last'])
  ]
  const contenders = started.filter((one): one is Contender => 'step' in one)
  const skipped = started.filter((one): one is Skipped => 'reason' in one)
  const rows = await measure(contenders, Number(values.rounds)).finally(() => contenders.forEach(({ close }) => close()))
  if (skipped.some(({ name }) => name.startsWith('Tilefold'))) process.exitCode = 1
  process.stdout.write(`${values.json ? JSON.stringify({ size: Number(values.size), rows, skipped }) : report(rows, skipped)}\n`)
}

void main()
