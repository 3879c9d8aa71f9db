import * as E from 'fp-ts/Either'
import { groupBy, type NonEmptyArray } from 'fp-ts/NonEmptyArray'
import { pipe } from 'fp-ts/function'
import { formatBytes, formatMilliseconds } from '../../src/text/format'
import type { Contender, NetworkStep } from './networks'
import { makeRows, table } from './table'
import type { Workload } from './workload'

/** A workload in words: its model and its input. */
export const workloadText = ({ model, batch, size }: Workload): string => `${model} ${batch}x3x${size}x${size}`

/** One workload in one precision, by those who ran it. */
export interface Compared {
  readonly rows: NonEmptyArray<NetworkStep>
  /** Milliseconds by contender; absent where it did not run. */
  readonly ms: ReadonlyMap<Contender, number>
  /** Of the faster of PyTorch's ways; undefined where none ran. */
  readonly pytorchMs: number | undefined
}

const compare = (rows: NonEmptyArray<NetworkStep>): Compared => {
  const ms = new Map(rows.flatMap(({ contender, timing }) => (E.isRight(timing) ? [[contender, timing.right.medianMs] as const] : [])))
  const theirs = (['PyTorch', 'PyTorch, compiled'] as const).flatMap((name) => ms.get(name) ?? [])
  return { rows, ms, pytorchMs: theirs.length === 0 ? undefined : Math.min(...theirs) }
}

/** Steps side by side, one entry a workload and precision. */
export const compareSteps = (rows: readonly NetworkStep[]): readonly Compared[] =>
  pipe(
    [...rows],
    groupBy((row) => `${row.precision} ${workloadText(row)}`),
    Object.values<NonEmptyArray<NetworkStep>>,
    (groups) => groups.map(compare)
  )

/** Steps of networks as a table in Markdown. */
export const networkTable = (rows: readonly NetworkStep[]): string =>
  table(
    ['network', 'precision', 'contender', 'median step', 'of the faster PyTorch', 'predicted', 'peak memory', 'why not'],
    compareSteps(rows).flatMap(({ rows: group, pytorchMs }) =>
      group.map((row) => [
        ...[workloadText(row), row.precision, row.contender],
        ...makeRows([row.timing], 4, ({ medianMs, predictedMs, peakBytes }) => [
          formatMilliseconds(medianMs),
          pytorchMs === undefined ? '-' : (medianMs / pytorchMs).toFixed(2),
          predictedMs === null ? '-' : formatMilliseconds(predictedMs),
          peakBytes === null ? '-' : formatBytes(peakBytes)
        ])[0]!
      ])
    )
  )
