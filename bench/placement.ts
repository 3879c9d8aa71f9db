/**
 * Every placement over public instances and over Programs of ours:
 *
 *     npx ts-node bench/placement.ts [--size 512] [--networks vgg16,...] [--strategies window,...] [--json] [FILE.csv ...]
 *
 * Files are id,lower,upper,size rows (default: those of the tests). The Programs train networks
 * (batch 1, SGD with momentum) on the reference device's layouts, by each strategy at five budgets
 * from its least to what plain needs. `virtual` has the smallest pages for files; Programs are
 * lowered for it, with pages of 64 KiB and of what CUDA maps at least.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import Table from 'cli-table3'
import { builtIn } from '../models'
import { readBuffers } from '../src/commands/research/buffer-file'
import { defaultPageSize } from '../src/commands/research/place'
import { formatBytes, formatMilliseconds } from '../src/text/format'
import { type AllocatorName, type Lifetime, type StageRequest, allocators, maxLive, referenceModel, unusableFreeSpace } from '../staging'
import { lower, type Lowered } from '../staging/lowering'
import { alignment } from '../staging/placement/placement'
import { minCudaPage } from '../staging/placement/virtual'
import { createPlanSearches } from '../staging/search'
import { decide, type Decision } from '../staging/decide'
import { planners, type Planner } from '../staging/strategies'
import { must } from './must'
import { readCount, readModels, readNames, readOptions } from './options'

/** Bytes of the public instances that have a capacity. */
const capacity = 1_048_576

const names = Object.keys(allocators) as readonly AllocatorName[]

interface Instance {
  readonly name: string
  readonly lifetimes: readonly Lifetime[]
  readonly alignment: number
  /** Bytes of a page where the placement is `virtual`. */
  readonly pageBytes: number
}

interface Row {
  readonly instance: string
  readonly buffers: number
  readonly maxLive: number
  readonly placement: AllocatorName
  /** Bytes that the placement takes, over the most bytes live at once. */
  readonly ratio: number
  readonly unusableFreeSpace: number
  readonly ms: number
}

const fromFile = async (path: string): Promise<Instance> => ({
  name: basename(path, '.csv'),
  lifetimes: must(await readBuffers(path)()),
  alignment: 1,
  pageBytes: defaultPageSize
})

const ratioOf = (bytes: number, lifetimes: readonly Lifetime[]): number => bytes / maxLive(lifetimes, alignment).bytes

/**
 * A Program: the bytes that each way to place it takes over the most live at once, and the unusable
 * free space (U_f) of the ways that have one.
 */
interface ProgramRow {
  readonly network: string
  readonly strategy: Planner
  readonly budgetBytes: number
  readonly peakBytes: number
  readonly buffers: number
  readonly maxLive: number
  readonly ratios: Readonly<Record<Way, number>>
  readonly unusableFreeSpace: Readonly<Record<'best-fit' | 'gtbm' | 'static', number>>
  /** Whether `static` is proved to be the lowest, with as many steps as `place` has. */
  readonly optimal: boolean
}

const pageSizes = { 'virtual 64 KiB': 2 ** 16, 'virtual 2 MiB': minCudaPage } as const
const ways = ['best-fit', 'gtbm', 'virtual 64 KiB', 'virtual 2 MiB', 'static'] as const
type Way = (typeof ways)[number]

const requestFor = (network: string, size: number): StageRequest => ({
  model: builtIn[network]!({ classes: 2, head: 'gap' }),
  input: [1, 3, size, size],
  device: referenceModel('float32'),
  strategy: 'plain',
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
})

const rowOf = (network: string, strategy: Planner, budgetBytes: number, { graph, device }: Decision, chosen: Lowered): ProgramRow => {
  const [lifetimes, peakBytes] = [chosen.lifetimes(), chosen.peakBytes()]
  const placed = (name: 'best-fit' | 'gtbm') => allocators[name](lifetimes, { alignment })
  const [bestFit, gtbm] = [placed('best-fit'), placed('gtbm')]
  const inPages = (pageBytes: number): number =>
    ratioOf(lower(graph, { ...chosen.plan, placement: { allocator: 'virtual', pageBytes } }, device).peakBytes(), lifetimes)
  const ratio = ratioOf(peakBytes, lifetimes)
  const isOptimal = (): boolean => {
    const searched = allocators.static(lifetimes, { alignment, stepLimit: 1e6 })
    return searched.optimal && peakBytes <= searched.peakBytes
  }
  const offsets = chosen.program().buffers.map(({ offset }) => offset)
  return {
    ...{ network, strategy, budgetBytes, peakBytes, buffers: lifetimes.length, maxLive: maxLive(lifetimes, alignment).bytes },
    ratios: {
      'best-fit': ratioOf(bestFit.peakBytes, lifetimes),
      gtbm: ratioOf(gtbm.peakBytes, lifetimes),
      'virtual 64 KiB': inPages(pageSizes['virtual 64 KiB']),
      'virtual 2 MiB': inPages(pageSizes['virtual 2 MiB']),
      static: ratio
    },
    unusableFreeSpace: {
      'best-fit': unusableFreeSpace(lifetimes, bestFit),
      gtbm: unusableFreeSpace(lifetimes, gtbm),
      static: unusableFreeSpace(lifetimes, { offsets, peakBytes, optimal: false })
    },
    optimal: ratio <= 1 || isOptimal()
  }
}

/** A strategy's Programs, from its least budget to all that plain needs; each of them once. */
function* programRows(network: string, size: number, chosen: readonly Planner[]): Generator<ProgramRow> {
  const request = requestFor(network, size)
  const decision = must(decide(request))
  const { graph, device, plain } = decision
  for (const strategy of chosen) {
    const answers = createPlanSearches(graph, device, plain).by(strategy)
    const least = answers.least()
    if (least === undefined) continue
    const seen = new Set<Lowered>()
    for (const share of [0, 1 / 4, 1 / 2, 3 / 4, 1]) {
      const budget = Math.floor(least.budget + share * Math.max(0, plain.peakBytes() - least.budget))
      const candidate = answers.within(budget)
      if (candidate === undefined || seen.has(candidate)) continue
      seen.add(candidate)
      yield rowOf(network, strategy, budget, decision, candidate)
    }
  }
}

const measure = ({ name, lifetimes, alignment, pageBytes }: Instance, placement: AllocatorName): Row => {
  const started = performance.now()
  const placed = allocators[placement](lifetimes, { alignment, pageBytes, ...(name.endsWith(`.${capacity}`) && { capacity }) })
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

const print = (head: readonly string[], rows: readonly (readonly string[])[]): void => {
  const table = new Table({ head: [...head], style: { head: [], border: [], compact: true } })
  table.push(...rows.map((row) => [...row]))
  console.log(`${table}`)
}

const printInstances = (rows: readonly Row[]): void =>
  print(
    ['', 'buffers', 'live at once', ...names.map((name) => `${name}\nheight, U_f, time`)],
    rows.flatMap(({ instance, buffers, maxLive }, index) =>
      index % names.length > 0
        ? []
        : [
            [
              instance,
              `${buffers}`,
              formatBytes(maxLive),
              ...rows
                .slice(index, index + names.length)
                .map(
                  ({ ratio, unusableFreeSpace, ms }) => `${ratio.toFixed(3)}  ${unusableFreeSpace.toFixed(3)}  ${formatMilliseconds(ms)}`
                )
            ]
          ]
    )
  )

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** A line for each network and strategy: the mean over its budgets, and the worst. */
const printPrograms = (rows: readonly ProgramRow[]): void => {
  const keys = [...new Set(rows.map(({ network, strategy }) => `${network} ${strategy}`))]
  const cell = (values: readonly number[]): string => `${mean(values).toFixed(3)} ${Math.max(...values).toFixed(3)}`
  print(
    ['', 'Programs', 'least live', ...ways.map((way) => `${way}\nmean worst`), 'U_f best-fit', 'U_f gtbm', 'lowest'],
    keys.map((key) => {
      const of = rows.filter(({ network, strategy }) => `${network} ${strategy}` === key)
      return [
        key,
        `${of.length}`,
        formatBytes(Math.min(...of.map(({ maxLive }) => maxLive))),
        ...ways.map((way) => cell(of.map(({ ratios }) => ratios[way]))),
        ...(['best-fit', 'gtbm'] as const).map((name) => mean(of.map(({ unusableFreeSpace: share }) => share[name])).toFixed(3)),
        `${of.filter(({ optimal }) => optimal).length} of ${of.length}`
      ]
    })
  )
}

const main = async (): Promise<void> => {
  const { values, positionals } = readOptions({
    allowPositionals: true,
    options: {
      size: { type: 'string', default: '512' },
      networks: { type: 'string', default: 'vgg16,vgg19,darknet19,resnet50,inception_v3' },
      strategies: { type: 'string', default: planners.join() },
      json: { type: 'boolean' }
    }
  })
  const [size, networks] = [readCount('--size', values.size), readModels('--networks', values.networks)]
  const chosen = readNames('--strategies', values.strategies, planners)
  const folder = join(__dirname, '..', 'test', 'staging', 'instances')
  const examples = readdirSync(folder).filter((name) => name.endsWith('.csv'))
  const files = positionals.length > 0 ? positionals : examples.map((name) => join(folder, name))
  const instances = await Promise.all(files.map(fromFile))
  const rows = instances.flatMap((instance) => names.map((name) => measure(instance, name)))
  const programs = networks.flatMap((network) => [...programRows(network, size, chosen)])
  if (values.json) console.log(JSON.stringify({ instances: rows, programs }))
  else {
    printInstances(rows)
    printPrograms(programs)
  }
}

void main()
