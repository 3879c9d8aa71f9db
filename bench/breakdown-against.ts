/**
 * Where the time of a training step goes, kernel by kernel, Tilefold's beside PyTorch's in
 * channels_last:
 *
 *     npx ts-node bench/breakdown-against.ts [--model resnet50] [--size 512] [--batch 1] [--precisions float32,bf16] [--threads 2] [--rounds 5] [--each] [--disturbed] [--python python3] [--json]
 *
 * Both step in turn (rounds.ts), and of each the fastest step counts. Tilefold's is plain, and its
 * kernels are those of `tilefold bench --breakdown`; PyTorch's (by autocast in bf16) are operators
 * by torch.profiler, and convolutions as oneDNN logs them, of whose time the profiler's own is a
 * part. `each`: below a kind, what it is the sum of. `disturbed`: see against-pytorch.ts.
 */
import { join } from 'node:path'
import { table } from '../src/text/table'
import { start, startTilefold, type Contender, type KernelSum, type Step } from './contender'
import { millisecondsOf, sumsByKind, type KindSum } from './kernel-kinds'
import { readCount, readModel, readNames, readOptions } from './options'
import { discardedText, runInterleaved } from './rounds'
import { runMain } from './run-main'

const { values } = readOptions({
  options: {
    model: { type: 'string', default: 'resnet50' },
    size: { type: 'string', default: '512' },
    batch: { type: 'string', default: '1' },
    precisions: { type: 'string', default: 'float32,bf16' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    each: { type: 'boolean', default: false },
    disturbed: { type: 'boolean', default: false },
    python: { type: 'string', default: 'python3' },
    json: { type: 'boolean', default: false }
  }
})

const model = readModel('--model', values.model)
const rounds = readCount('--rounds', values.rounds)
const precisions = readNames('--precisions', values.precisions, ['float32', 'bf16'])

/** Parts of a kind that take less than this share of a step are not worth a line. */
const leastShare = 0.002

const milliseconds = (ms: number): string => ms.toFixed(1)
const ratio = (ours: number, theirs: number): string => (ours > 0 && theirs > 0 ? (ours / theirs).toFixed(2) : '-')
const launches = (sums: readonly KernelSum[]): string => `${sums.reduce((total, one) => total + one.launches, 0)}`

const eachOf = ({ ours, theirs }: KindSum, least: number): readonly (readonly string[])[] => [
  ...ours.filter(({ ms }) => ms >= least).map((one) => [`  ${one.kernel}`, milliseconds(one.ms), `${one.launches}`, '', '', '']),
  ...theirs.filter(({ ms }) => ms >= least).map((one) => [`  ${one.kernel}`, '', '', milliseconds(one.ms), `${one.launches}`, ''])
]

const text = (ours: Step, theirs: Step, sums: readonly KindSum[]): string => {
  const between = [ours, theirs].map(({ ms, kernels }) => ms - millisecondsOf(kernels!)) as [number, number]
  const line = (name: string, [one, other]: readonly [number, number], counts: readonly [string, string]): readonly string[] => [
    ...[name, milliseconds(one), counts[0], milliseconds(other), counts[1], ratio(one, other)]
  ]
  return table(
    ['', 'Tilefold, ms', 'launches', 'PyTorch, ms', 'launches', 'of PyTorch'],
    [
      ...sums.flatMap((sum) => [
        line(sum.kind, [millisecondsOf(sum.ours), millisecondsOf(sum.theirs)], [launches(sum.ours), launches(sum.theirs)]),
        ...(values.each ? eachOf(sum, leastShare * theirs.ms) : [])
      ]),
      line('between them', between, ['', '']),
      line('the step', [ours.ms, theirs.ms], ['', ''])
    ]
  )
}

const started = (one: Awaited<ReturnType<typeof start>>): Contender => {
  if ('step' in one) return one
  throw new Error(`${one.name}: ${one.reason}`)
}

const compare = async (precision: string): Promise<void> => {
  const common = [...['--model', model, '--size', values.size, '--batch', values.batch], ...['--threads', values.threads]]
  const options = [...common, '--precision', precision, '--breakdown']
  const contenders: Contender[] = []
  try {
    contenders.push(started(await startTilefold('Tilefold', options)))
    const step = join(__dirname, 'pytorch_step.py')
    contenders.push(started(await start('PyTorch', values.python, [step, ...options, '--format', 'channels_last'])))
  } catch (error) {
    contenders.forEach(({ close }) => close())
    throw error
  }
  const taken = await runInterleaved(contenders, rounds, values.disturbed ? Infinity : undefined)
  const [ours, theirs] = taken.map(({ steps }) => steps.reduce((one, other) => (other.ms < one.ms ? other : one))) as [Step, Step]
  const sums = sumsByKind(ours.kernels!, theirs.kernels!)
  const { size, batch, threads } = values
  const of = `${model} at ${batch}x3x${size}x${size}, ${precision}, ${threads} threads, the fastest of ${values.rounds} steps`
  const lines = [of, text(ours, theirs, sums), ...discardedText(taken)]
  process.stdout.write(`${values.json ? JSON.stringify({ of, precision, ours, theirs, sums }) : lines.join('\n')}\n`)
}

const main = async (): Promise<void> => {
  for (const precision of precisions) await compare(precision)
}

runMain(main)
