/**
 * Every placement over public instances and over Programs of ours:
 *
 *     npx ts-node bench/placement.ts [--size 1024] [--json] [FILE.csv ...]
 *
 * Files are id,lower,upper,size rows (default: those of the tests). The Programs train VGG-16, VGG-19 and DarkNet-19 (batch 1, SGD with
 * momentum) on the reference device's layouts, by `plain` and in half and a third of what plain needs. Chunks of `virtual` are a page
 * for files, and what CUDA maps at least for Programs.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import * as E from 'fp-ts/Either'
import { builtIn } from '../models'
import { readBuffers } from '../src/buffer-file'
import { page } from '../src/library/place'
import { formatBytes, formatMilliseconds } from '../src/sizes'
import { type AllocatorName, type Lifetime, type StageRequest, allocators, maxLive, referenceModel, unusableFreeSpace } from '../staging'
import { alignment } from '../staging/placement/placement'
import { leastCudaChunk } from '../staging/placement/virtual'
import { decide } from '../staging/stage'

const names = Object.keys(allocators) as readonly AllocatorName[]

interface Instance {
  readonly name: string
  readonly lifetimes: readonly Lifetime[]
  readonly alignment: number
  /** Of `virtual`. */
  readonly chunkBytes: number
}

interface Row {
  readonly instance: string
  readonly buffers: number
  readonly maxLive: number
  readonly placement: AllocatorName
  /** Of the most bytes live at once. */
  readonly ratio: number
  readonly unusableFreeSpace: number
  readonly ms: number
}

const must = <A>(result: E.Either<{ readonly message: string }, A>): A => {
  if (E.isRight(result)) return result.right
  process.stderr.write(`${result.left.message}\n`)
  process.exit(2)
}

const fromFile = async (path: string): Promise<Instance> => ({
  name: basename(path, '.csv'),
  lifetimes: must(await readBuffers(path)()),
  alignment: 1,
  chunkBytes: page
})

const networks = ['vgg16', 'vgg19', 'darknet19'] as const
const shares = [1, 1 / 2, 1 / 3]

const programs = (size: number): readonly Instance[] =>
  networks.flatMap((network) => {
    const request: StageRequest = {
      model: builtIn[network]!({ classes: 2, head: 'gap' }),
      input: [1, 3, size, size],
      device: referenceModel('float32'),
      strategy: 'plain',
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
      source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
    }
    const { plain } = must(decide(request))
    return shares.map((share): Instance => {
      const budget = Math.floor(share * plain.peakBytes())
      const { chosen } = share === 1 ? { chosen: plain } : must(decide({ ...request, strategy: 'auto', budget }))
      return { name: `${network} in ${Math.round(100 * share)}%`, lifetimes: chosen.lifetimes(), alignment, chunkBytes: leastCudaChunk }
    })
  })

const measure = ({ name, lifetimes, alignment, chunkBytes }: Instance, placement: AllocatorName): Row => {
  const started = performance.now()
  const placed = allocators[placement](lifetimes, { alignment, chunkBytes })
  const ms = performance.now() - started
  const most = maxLive(lifetimes, alignment).bytes
  return {
    instance: name,
    buffers: lifetimes.length,
    maxLive: most,
    placement,
    ratio: placed.peakBytes / most,
    unusableFreeSpace: unusableFreeSpace(lifetimes, placed),
    ms
  }
}

const print = (rows: readonly Row[]): void => {
  const table = new Table({
    head: ['', 'buffers', 'live at once', ...names.map((name) => `${name}\nheight, U_f, time`)],
    style: { head: [], border: [], compact: true }
  })
  for (const [index, { instance, buffers, maxLive }] of rows.entries())
    if (index % names.length === 0)
      table.push([
        instance,
        buffers,
        formatBytes(maxLive),
        ...rows
          .slice(index, index + names.length)
          .map(({ ratio, unusableFreeSpace, ms }) => `${ratio.toFixed(3)}  ${unusableFreeSpace.toFixed(3)}  ${formatMilliseconds(ms)}`)
      ])
  console.log(`${table}`)
}

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { size: { type: 'string', default: '1024' }, json: { type: 'boolean' } }
  })
  const folder = join(__dirname, '..', 'test', 'staging', 'instances')
  const examples = readdirSync(folder).filter((name) => name.endsWith('.csv'))
  const files = positionals.length > 0 ? positionals : examples.map((name) => join(folder, name))
  const instances = [...(await Promise.all(files.map(fromFile))), ...programs(Number(values.size))]
  const rows = instances.flatMap((instance) => names.map((name) => measure(instance, name)))
  if (values.json) console.log(JSON.stringify(rows))
  else print(rows)
}

void main()
