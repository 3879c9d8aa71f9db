import * as E from 'fp-ts/Either'
import { formatBytes, formatMilliseconds } from '../../src/text/format'
import type { Contender, NetworkStep } from './networks'
import { makeRows, table } from './table'

/** The workloads and precisions of some rows, in their order. */
const groupsOf = (rows: readonly NetworkStep[]): readonly (readonly NetworkStep[])[] => {
  const groups = new Map<string, NetworkStep[]>()
  rows.forEach((row) => {
    const name = `${row.precision} ${workloadText(row)}`
    groups.set(name, [...(groups.get(name) ?? []), row])
  })
  return [...groups.values()]
}

/** A workload in words: its model and its input. */
export const workloadText = ({ model, batch, size }: Pick<NetworkStep, 'model' | 'batch' | 'size'>): string =>
  `${model} ${batch}x3x${size}x${size}`

/** One workload in one precision, by those who ran it. */
export interface Compared {
  readonly row: NetworkStep
  /** Milliseconds by contender; absent where it did not run. */
  readonly ms: ReadonlyMap<Contender, number>
  /** Of the faster of PyTorch's ways; undefined where none ran. */
  readonly pytorchMs: number | undefined
}

/** Steps side by side, one entry a workload and precision. */
export const compareSteps = (rows: readonly NetworkStep[]): readonly Compared[] =>
  groupsOf(rows).map((group) => {
    const ms = new Map(group.flatMap(({ contender, timing }) => (E.isRight(timing) ? [[contender, timing.right.medianMs] as const] : [])))
    const theirs = (['PyTorch', 'PyTorch, compiled'] as const).flatMap((name) => ms.get(name) ?? [])
    return { row: group[0]!, ms, pytorchMs: theirs.length === 0 ? undefined : Math.min(...theirs) }
  })

/** Steps of networks as a table in Markdown. */
export const networkTable = (rows: readonly NetworkStep[]): string =>
  table(
    ['network', 'precision', 'contender', 'median step', 'of the faster PyTorch', 'predicted', 'peak memory', 'why not'],
    groupsOf(rows).flatMap((group) => {
      const [{ pytorchMs }] = compareSteps(group) as [Compared]
      return group.map((row) => [
        ...[workloadText(row), row.precision, row.contender],
        ...makeRows([row.timing], 4, ({ medianMs, predictedMs, peakBytes }) => [
          formatMilliseconds(medianMs),
          pytorchMs === undefined ? '-' : (medianMs / pytorchMs).toFixed(2),
          predictedMs === null ? '-' : formatMilliseconds(predictedMs),
          peakBytes === null ? '-' : formatBytes(peakBytes)
        ])[0]!
      ])
    })
  )
