/**
 * Every strategy that offloads over the memory range: relative makespans of networks' chains and of
 * drawn ones.
 */
import { join } from 'node:path'
import { chain } from '../src'
import { formatMilliseconds } from '../src/text/format'
import { table } from '../src/text/table'
import { randomStream } from '../src/numbers/random'
import { relativeMakespans, swapStrategies } from './chain-timeline'
import { must } from './must'
import { readCount, readOptions } from './options'
import {
  leastBytes,
  chooseOffload,
  offloadStrategies,
  scheduleInOrder,
  peakBytes,
  type Chain,
  type OffloadStrategy
} from '../staging/chain'

/** Shares of the way from the least memory to M_peak. */
const shares = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

/** What the paper found for DYNPROG on ResNets, DenseNets and Inception (section 6.2). */
const paperMost = 1.2

const device = join(__dirname, '..', 'devices', 'v100-16gb.json') as `${string}.json`

const networks = async (): Promise<readonly Chain[]> => {
  const wanted = (['vgg16', 'vgg19'] as const).flatMap((model) =>
    (
      [
        [32, 3, 224, 224],
        [2, 3, 1024, 1024]
      ] as const
    ).map((input) => ({ model, input, device }))
  )
  return Promise.all(
    wanted.map(async (options) => {
      const made = must(await chain(options)()).chain
      return { ...made, name: `${made.name}, ${options.input.join('x')}` }
    })
  )
}

/**
 * Stages that shrink to half at every quarter of the chain, as residual networks do, each drawn
 * around that; or sizes over two decades.
 */
const drawn = (stages: number, kind: 'shrinking' | 'uneven'): Chain => {
  const { uniform } = randomStream(stages, `chain ${kind}`)
  let draws = 0
  const factor = (spread: number): number => spread ** (2 * uniform(draws++) - 1)
  const scale = (i: number): number => (kind === 'uneven' ? factor(10) : factor(1.5) / 2 ** Math.floor((4 * i) / stages))
  const megabytes = (most: number): number => Math.round(1e6 * most)
  return {
    name: `${stages} stages, ${kind}`,
    stages: Array.from({ length: stages }, (_, i) => {
      const x = megabytes(80 * scale(i))
      const u_F = 2 * factor(kind === 'uneven' ? 5 : 1.5)
      return { name: `${i}`, u_F, u_B: 2 * u_F, x, y: x, ex_F: megabytes(5 * uniform(draws++)), ex_B: megabytes(10 * uniform(draws++)) }
    }),
    output: { x: 0, y: 0 },
    beta: 12.2e9
  }
}

interface Row {
  readonly chain: string
  readonly strategy: string
  /** By share of the memory range; null where nothing fits. */
  readonly relativeMakespans: readonly (number | null)[]
  /**
   * Relative makespans of the strategies of Beaumont 2020 where transfers may be interrupted, for
   * the activations that they chose. Of dynprog no ordered schedule is below it, but for the
   * rounding to slots.
   */
  readonly relaxed: readonly number[]
  /** The longest of all memories. */
  readonly planningMs: number
}

const memoriesOf = (chain: Chain): readonly number[] => {
  const [least, most] = [leastBytes(chain), peakBytes(chain)]
  return shares.map((share) => Math.floor(least + share * (most - least)))
}

const swapRowOf = (chain: Chain, strategy: string): Row => {
  const started = performance.now()
  const relative = relativeMakespans(chain, strategy)
  const planningMs = performance.now() - started
  return {
    chain: chain.name,
    strategy,
    relativeMakespans: memoriesOf(chain).map((memory) => relative(memory) ?? null),
    relaxed: [],
    planningMs
  }
}

const rowOf = (chain: Chain, strategy: OffloadStrategy, slots: number): Row => {
  const points = memoriesOf(chain).map((memory) => {
    const started = performance.now()
    const { schedule, lowerBound } = must(chooseOffload({ chain, memory, strategy, slots }))
    const planningMs = performance.now() - started
    const relaxed = scheduleInOrder(chain, memory, schedule.offload, 'bytes')!.makespan
    return { relative: schedule.makespan / lowerBound, relaxed: relaxed / lowerBound, planningMs }
  })
  return {
    chain: chain.name,
    strategy,
    relativeMakespans: points.map(({ relative }) => relative),
    relaxed: points.map(({ relaxed }) => relaxed),
    planningMs: Math.max(...points.map(({ planningMs }) => planningMs))
  }
}

const report = (rows: readonly Row[]): string => {
  const head = ['chain', 'strategy', ...shares.map((share) => `${100 * share}%`), 'planned in']
  const cells = rows.map(({ chain, strategy, relativeMakespans, planningMs }, index) => [
    rows[index - 1]?.chain === chain ? '' : chain,
    strategy,
    ...relativeMakespans.map((ratio) => ratio?.toFixed(3) ?? ''),
    formatMilliseconds(planningMs)
  ])
  const points = rows
    .filter(({ strategy }) => strategy === 'dynprog')
    .flatMap(({ relativeMakespans, relaxed }) =>
      relativeMakespans.map((relative, index) => ({ relative: relative!, relaxed: relaxed[index]! }))
    )
  const over = points.filter(({ relative }) => relative >= paperMost)
  const most = Math.max(...points.map(({ relative }) => relative))
  const inherent = over.filter(({ relaxed }) => relaxed >= paperMost)
  return [
    table(head, cells),
    'Makespan over lower bound, at shares of the way from the least memory to M_peak; empty where nothing fits.',
    `The paper finds dynprog below ${paperMost} throughout, on its networks. Here it is at ${most.toFixed(3)} at most, and at ${paperMost} or above in ${over.length} of ${points.length}; in ${inherent.length} of these its relaxation is too, so that the bound is what cannot be reached.`
  ].join('\n')
}

const main = async (): Promise<void> => {
  const { values } = readOptions({ options: { slots: { type: 'string', default: '500' }, json: { type: 'boolean', default: false } } })
  const slots = readCount('--slots', values.slots)
  const lengths = [50, 100, 150, 200]
  const chains = [
    ...(await networks()),
    ...(['shrinking', 'uneven'] as const).flatMap((kind) => lengths.map((length) => drawn(length, kind)))
  ]
  const rows = chains.flatMap((one) => [
    ...offloadStrategies.map((strategy) => rowOf(one, strategy, slots)),
    ...swapStrategies.map((strategy) => swapRowOf(one, strategy))
  ])
  process.stdout.write(`${values.json ? JSON.stringify({ shares, rows }) : report(rows)}\n`)
}

void main()
