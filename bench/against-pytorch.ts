/**
 * A model's training step, Tilefold against PyTorch eager (torchvision's model of the name),
 * interleaved in one run:
 *
 *     npx ts-node bench/against-pytorch.ts [--model vgg16] [--size 1024] [--batch 1] [--rounds 5] [--threads 1,2,all] [--exact-kernels] [--plain] [--precision float32,bf16] [--disturbed] [--python python3] [--json]
 *     npx ts-node bench/against-pytorch.ts --targets [--model resnet50,unet] [--size 128] [--threads 1,2,all] ...
 *
 * Each contender is a process of its own that steps when it is told to, one at a time; the first
 * round is not counted, and a step during which something else used the machine is taken again.
 * PyTorch's keep the memory that they free, by two settings of glibc's.
 * Both also in bf16, PyTorch's by autocast, and PyTorch compiled. `exact-kernels`: Tilefold without
 * Winograd too, plain and in a fifth. `plain`: nothing in less memory, neither Tilefold nor
 * PyTorch's checkpoints (which only vgg16 has). `precision`: these alone, but PyTorch in
 * float32, which others are compared with: by autocast it takes minutes for a step without AVX-512
 * BF16. Below the table stand the machine's own rates, and beside each step of Tilefold's what it
 * takes of the limit that they set (machine-limit.ts).
 * `targets`: the networks and sizes of targets.ts, one after the other, and what is asked of them
 * in a table at the end. `disturbed`: all steps count, so that the script can be tried on a machine
 * that others use, which makes no figures.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { errorReason } from '../src/failure'
import {
  autocastName,
  comparisonText,
  measure,
  type Comparison,
  type Memory,
  type Precision,
  tilefoldName,
  tilingCosts
} from './comparison'
import { type Contender, type Skipped, start, startTilefold } from './contender'
import { measureRates } from './machine-limit'
import { must } from './must'
import { readCount, readModel, readNames, readOptions } from './options'
import { targetLines, targets, targetsText } from './targets'

const { values } = readOptions({
  options: {
    model: { type: 'string' },
    size: { type: 'string' },
    batch: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string' },
    targets: { type: 'boolean', default: false },
    'exact-kernels': { type: 'boolean', default: false },
    plain: { type: 'boolean', default: false },
    precision: { type: 'string', default: 'float32,bf16' },
    disturbed: { type: 'boolean', default: false },
    python: { type: 'string', default: 'python3' },
    json: { type: 'boolean', default: false }
  }
})

const both = ['float32', 'bf16'] as const
const asked = readNames('--precision', values.precision, both)
const precisions = both.filter((one) => asked.includes(one))
const rounds = readCount('--rounds', values.rounds)

const say = (text: string): void => void process.stdout.write(`${text}\n`)
/** What is under way, of runs that take hours. */
const sayProgress = (text: string): void => void process.stderr.write(`${text}\n`)

interface Network {
  readonly model: string
  readonly size: number
  readonly batch: number
}

type Started = Contender | Skipped
type Starting = (name: string, ...options: readonly string[]) => Promise<Started>

const fractions: { readonly [M in Memory]: readonly string[] } = {
  plain: [],
  'a fifth of plain': ['--fraction', '0.2'],
  'a third of plain': ['--fraction', '0.3333'],
  'half of plain': ['--fraction', '0.5']
}

const startOurs = async (by: Starting): Promise<readonly Started[]> => {
  const started: Started[] = []
  const add = async (memory: Memory, precision: Precision, kernels: 'all' | 'exact' = 'all'): Promise<boolean> => {
    const options = [...fractions[memory], '--precision', precision, ...(kernels === 'exact' ? ['--exact-kernels'] : [])]
    const one = await by(tilefoldName(memory, precision, kernels), ...options)
    started.push(one)
    return 'step' in one
  }
  for (const precision of precisions) {
    await add('plain', precision)
    if (values.plain) continue
    if (values.targets) {
      // A third is asked for only where weights forbid a fifth, and where they forbid both a half
      // is better than nothing.
      for (const memory of ['a fifth of plain', 'a third of plain', 'half of plain'] as const) if (await add(memory, precision)) break
    } else {
      await add('a third of plain', precision)
      await add('a fifth of plain', precision)
    }
  }
  if (values['exact-kernels']) await add('plain', 'float32', 'exact')
  if (values['exact-kernels'] && !values.plain) await add('a fifth of plain', 'float32', 'exact')
  return started
}

/**
 * Lets glibc keep what PyTorch frees: given back to the kernel after each step, it is got again
 * page by page.
 */
const keepsMemory = { MALLOC_TRIM_THRESHOLD_: `${2 ** 40}`, MALLOC_MMAP_THRESHOLD_: `${2 ** 40}` }

/**
 * PyTorch's checkpoint_sequential at the numbers of segments among which its best is, by memory or
 * by time.
 */
const pytorchSegments = [2, 3, 4, 6]

const startTheirs = async (by: Starting, model: string): Promise<readonly Started[]> => {
  const channelsLast = ['--format', 'channels_last'] as const
  // All stand in memory at once, and targets are of channels_last alone.
  const started = values.targets ? [] : [await by('PyTorch, NCHW', '--format', 'nchw')]
  const byAutocast = ['--precision', 'bf16'] as const
  started.push(await by('PyTorch, channels_last', ...channelsLast))
  if (precisions.includes('bf16')) started.push(await by(autocastName, ...channelsLast, ...byAutocast))
  started.push(await by('PyTorch, channels_last, compiled', ...channelsLast, '--compile'))
  if (precisions.includes('bf16')) started.push(await by(`${autocastName}, compiled`, ...channelsLast, ...byAutocast, '--compile'))
  if (values.plain || values.targets || model !== 'vgg16' || !started.some((one) => 'step' in one)) return started
  for (const segments of pytorchSegments)
    started.push(await by(`PyTorch, channels_last, checkpoint_sequential ${segments}`, ...channelsLast, '--segments', `${segments}`))
  return started
}

const compare = async ({ model, size, batch }: Network, threads: number): Promise<Comparison> => {
  const common = ['--model', model, '--size', `${size}`, '--batch', `${batch}`, '--threads', `${threads}`]
  const rates = must(measureRates(threads))
  const beginning = (name: string): void => sayProgress(`${model}, ${threads} threads: ${name} begins`)
  const ours: Starting = (name, ...more) => {
    beginning(name)
    return startTilefold(name, [...common, '--rates', JSON.stringify(rates), ...more])
  }
  const theirs: Starting = (name, ...more) => {
    beginning(name)
    return start(name, values.python, [join(__dirname, 'pytorch_step.py'), ...common, ...more], keepsMemory)
  }
  const started = [...(await startOurs(ours)), ...(await startTheirs(theirs, model))]
  const contenders = started.filter((one): one is Contender => 'step' in one)
  const skipped = started.filter((one): one is Skipped => 'reason' in one)
  const rows = await measure(contenders, rounds, values.disturbed ? Infinity : undefined)
  return { model, size, batch, threads, rates, rows, skipped }
}

/** What is compared: of the targets, those of the models that are named. */
const networks = (): readonly Network[] => {
  const size = values.size === undefined ? undefined : readCount('--size', values.size)
  const batch = values.batch === undefined ? undefined : readCount('--batch', values.batch)
  if (!values.targets) return [{ model: readModel('--model', values.model ?? 'vgg16'), size: size ?? 1024, batch: batch ?? 1 }]
  const known = targets.map(({ model }) => model)
  const named = values.model === undefined ? known : readNames('--model', values.model, known)
  return targets
    .filter(({ model }) => named.includes(model))
    .map((target) => ({ model: target.model, size: size ?? target.size, batch: batch ?? target.batch }))
}

/** Each number once: `all` is as many threads as there are, which may be one of the others. */
const threadCounts = (): readonly number[] => {
  const named = (values.threads ?? (values.targets ? '1,2,all' : '2')).split(',')
  return [...new Set(named.map((one) => (one === 'all' ? availableParallelism() : readCount('--threads', one))))]
}

const main = async (): Promise<void> => {
  const all: Comparison[] = []
  for (const network of networks())
    for (const threads of threadCounts())
      try {
        const one = await compare(network, threads)
        all.push(one)
        const unexpected = one.skipped.filter(({ name }) => name.startsWith('Tilefold') && !(values.targets && / of plain/.test(name)))
        if (unexpected.length > 0) process.exitCode = 1
        say(values.json ? JSON.stringify({ ...one, tiling: tilingCosts(one.rows) }) : comparisonText(one))
      } catch (error) {
        // Hours of others stand before and behind it.
        process.exitCode = 1
        sayProgress(`${network.model}, ${threads} threads: ${errorReason(error)}`)
      }
  if (!values.targets) return
  const lines = all.flatMap(targetLines)
  say(values.json ? JSON.stringify({ targets: lines }) : `what is asked at two threads, and what was seen\n${targetsText(lines)}`)
}

void main()
