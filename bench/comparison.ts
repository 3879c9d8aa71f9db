import Table from 'cli-table3'
import { discardedText, runInterleaved } from './rounds'
import type { Contender, Skipped } from './contender'
import type { MachineRates } from './machine-limit'

export type Precision = 'float32' | 'bf16'

/** What memory a step of Tilefold's has. */
export type Memory = 'plain' | 'a fifth of plain' | 'a third of plain' | 'half of plain'

/** The name of the contender that is Tilefold so. */
export const tilefoldName = (memory: Memory, precision: Precision, kernels: 'all' | 'exact' = 'all'): string =>
  ['Tilefold', memory, ...(precision === 'bf16' ? ['bf16'] : []), ...(kernels === 'exact' ? ['exact kernels'] : [])].join(', ')

/** PyTorch's contender by autocast. */
export const autocastName = 'PyTorch, channels_last, bf16 by autocast'

/** A contender's steps beside those of the others. */
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

/** All contenders of one network's step at some threads, and the machine's own rates. */
export interface Comparison {
  readonly model: string
  readonly size: number
  readonly batch: number
  readonly threads: number
  readonly rates: MachineRates
  readonly rows: readonly Row[]
  readonly skipped: readonly Skipped[]
}

/** Steps of all contenders in turn (runInterleaved). */
export const measure = async (contenders: readonly Contender[], rounds: number, most: number | undefined): Promise<readonly Row[]> => {
  const taken = await runInterleaved(contenders, rounds, most)
  const eager = taken.filter((_, index) => /^PyTorch, (NCHW|channels_last)$/.test(contenders[index]!.name))
  const fastest = Math.min(...eager.map(({ medianMs }) => medianMs))
  const autocast = taken[contenders.findIndex(({ name }) => name === autocastName)]?.medianMs
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
const tilings = (['all', 'exact'] as const).map((kernels) => ({
  kernels,
  tiled: tilefoldName('a fifth of plain', 'float32', kernels),
  untiled: tilefoldName('plain', 'float32', kernels)
}))

interface TilingCost {
  readonly kernels: string
  /** The median step over that of the same kernels untiled. */
  readonly ofUntiled: number
}

/** What tiling itself costs, where both were measured. */
export const tilingCosts = (rows: readonly Row[]): readonly TilingCost[] =>
  tilings.flatMap(({ kernels, tiled, untiled }) => {
    const [one, other] = [tiled, untiled].map((wanted) => rows.find(({ name }) => name === wanted))
    return one === undefined || other === undefined ? [] : [{ kernels: `${kernels} kernels`, ofUntiled: one.medianMs / other.medianMs }]
  })

const mebibytes = (bytes: number | null): string => (bytes === null ? '-' : `${(bytes / 2 ** 20).toFixed(0)} MiB`)
const seconds = (milliseconds: number | null): string => (milliseconds === null ? '-' : `${(milliseconds / 1000).toFixed(2)} s`)

const ratesText = ({ float32, bf16, bytes }: MachineRates): string => {
  const [products, halves, copies] = [float32, bf16, bytes].map((rate) => (rate / 1e9).toFixed(0))
  return `the machine: products ${products} GFLOP/s in float32 and ${halves} in bf16, copies ${copies} GB/s`
}

/** A comparison as a table, with the machine's rates below it. */
export const comparisonText = ({ model, size, batch, threads, rates, rows, skipped }: Comparison): string => {
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
    `${model} at ${batch}x3x${size}x${size}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`,
    table.toString(),
    ratesText(rates),
    ...tilingCosts(rows).map(
      ({ kernels, ofUntiled }) => `a fifth of plain, ${kernels}: ${ofUntiled.toFixed(2)} of the same kernels untiled`
    ),
    ...skipped.map(({ name, reason }) => `${name}: skipped, ${reason.replace(/\.$/, '')}.`),
    ...discardedText(rows)
  ].join('\n')
}
