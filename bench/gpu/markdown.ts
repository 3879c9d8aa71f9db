import * as E from 'fp-ts/Either'
import { formatBytes, formatMilliseconds } from '../../src/sizes'
import { median } from '../median'
import type { Row } from './benchmark'
import type { LaunchOverhead } from './launch-overhead'
import type { Error64, Parity } from './parity'
import { type Refusal, timeIsUp } from './refusal'
import { type Part, type Report, holds, parityGroups, parityHolds } from './report'
import type { Tested } from './suite'

const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|')

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const suiteTable = (tested: readonly Tested[]): string =>
  table(
    ['test file', 'passed', 'failed', 'seconds', ''],
    tested.map(({ file, passed, failed, seconds, complaint = '' }) => [file, `${passed}`, `${failed}`, seconds.toFixed(1), complaint])
  )

const summary = (errors: readonly Error64[]): string => {
  const refused = errors.find(E.isLeft)
  if (refused !== undefined) return refused.left.message
  const values = errors.flatMap((error) => (E.isRight(error) ? [error.right] : []))
  return `${median(values).toExponential(2)} (largest ${Math.max(...values).toExponential(2)})`
}

const parityTable = (rows: readonly Parity[]): string =>
  table(
    ['precision', 'input', 'seeds', 'float64 by', 'Tilefold, whole', 'Tilefold, 16x16 tiles', 'PyTorch', 'holds'],
    parityGroups(rows).map((group) => {
      const { precision, size, exactBy } = group[0]!
      return [
        precision,
        `1x3x${size}x${size}`,
        `${group.length}`,
        exactBy,
        summary(group.map(({ tilefold }) => tilefold.whole)),
        summary(group.map(({ tilefold }) => tilefold.tiled)),
        summary(group.map(({ pytorch }) => pytorch)),
        parityHolds(group) ? 'yes' : 'no'
      ]
    })
  )

const benchmarkTable = (rows: readonly Row[]): string =>
  table(
    ['precision', 'arena', 'input', 'contender', 'median step', 'of PyTorch', 'peak memory', 'why not'],
    rows.map(({ precision, arenaBytes, size, contender, timing }) => [
      ...[precision, formatBytes(arenaBytes), `1x3x${size}x${size}`, contender],
      ...(E.isRight(timing)
        ? [
            formatMilliseconds(timing.right.medianMs),
            timing.right.ofPytorch?.toFixed(2) ?? '-',
            timing.right.peakBytes === null ? '-' : formatBytes(timing.right.peakBytes),
            ''
          ]
        : ['-', '-', '-', timing.left.message])
    ])
  )

const failureTable = (rows: readonly Row[]): string => {
  const keys = [...new Set(rows.map(({ precision, arenaBytes, contender }) => JSON.stringify([precision, arenaBytes, contender])))]
  return table(
    ['precision', 'arena', 'contender', 'largest input that ran', 'first that did not'],
    keys.map((key) => {
      const [precision, arenaBytes, contender] = JSON.parse(key) as readonly [string, number, string]
      const own = rows.filter((row) => row.precision === precision && row.arenaBytes === arenaBytes && row.contender === contender)
      const ran = own.filter(({ timing }) => E.isRight(timing)).at(-1)
      const failed = own.find(({ timing }) => E.isLeft(timing) && timing.left !== timeIsUp)
      return [
        precision,
        formatBytes(arenaBytes),
        contender,
        ran === undefined ? '-' : `${ran.size}²`,
        failed === undefined ? '-' : `${failed.size}²`
      ]
    })
  )
}

const launchTable = (rows: readonly E.Either<Refusal, LaunchOverhead>[]): string =>
  table(
    ['precision', 'input', 'step in tiles', 'untiled', 'halo', 'launches', 'their kernels', 'between launches', 'a launch', 'why not'],
    rows.map((row) => {
      if (E.isLeft(row)) return [...Array.from({ length: 9 }, () => '-'), row.left.message]
      const { precision, size, stepMs, untiledMs, haloOverhead, launches, kernelMs, share, microsecondsPerLaunch } = row.right
      return [
        ...[precision, `1x3x${size}x${size}`, formatMilliseconds(stepMs)],
        ...[E.isRight(untiledMs) ? formatMilliseconds(untiledMs.right) : untiledMs.left.message, percent(haloOverhead), `${launches}`],
        ...[formatMilliseconds(kernelMs), percent(share), `${microsecondsPerLaunch.toFixed(2)} µs`, '']
      ]
    })
  )

const section = <A>(title: string, part: Part<A> | undefined, show: (found: A) => string): string => {
  const [time, body] =
    part === undefined
      ? ['', 'Not run.']
      : [` (${part.seconds.toFixed(0)} s)`, E.isRight(part.found) ? show(part.found.right) : `Could not run: ${part.found.left.message}.`]
  return `## ${title}${time}\n\n${body}\n`
}

/** The whole check for people. */
export const markdown = (report: Report): string => {
  const { version, date, check, pytorch } = report
  const peer = E.isRight(pytorch)
    ? `${pytorch.right.version} on ${pytorch.right.device}${pytorch.right.memoryBytes === null ? '' : ` (${formatBytes(pytorch.right.memoryBytes)})`}`
    : `no PyTorch: ${pytorch.left.message}`
  return [
    `# Tilefold ${version}: gpu-check ${check.mode} on ${check.device}, ${date}\n`,
    `Beside ${peer}. The device suite and parity ${holds(report) ? 'hold' : 'do not hold'}.\n`,
    section('Device suite', report.suite, suiteTable),
    section('Parity: ‖g − g64‖ / ‖g64‖ of VGG-16', report.parity, parityTable),
    section('Training steps of VGG-16, batch 1', report.benchmarks, (rows) => `${benchmarkTable(rows)}\n\n${failureTable(rows)}`),
    section('16 x 16 tiles', report.launchOverhead, launchTable)
  ].join('\n')
}
