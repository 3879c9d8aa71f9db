import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { formatBytes } from '../../src/text/format'
import { median } from '../median'
import type { Batch } from './batches'
import { arenaText } from './benchmark-tables'
import { type Row, nanosecondsPerPixel } from './benchmark'
import type { CheckPrecision } from './check-options'
import { mostBesideBytes, mostBesideDifference } from './driver-memory'
import { type Compared, compareSteps, workloadText } from './network-tables'
import type { Parity } from './parity'
import { type Refusal, refusal } from './refusal'
import { type Report, parityGroups } from './report'
import type { Sanitized } from './sanitizer'
import { percent } from './table'
import { all, byPrecision, byRow, type Figure, type Finding, getFound, judge, notRun, sum, type Verdict } from './verdict'

const suite = ({ check, suite: part }: Report): Verdict => {
  const figure = pipe(
    getFound(part),
    E.map((files): Figure => {
      const [passed, failed] = [sum(files.map((file) => file.passed)), sum(files.map((file) => file.failed))]
      return { text: `${passed} of ${passed + failed} tests pass`, holds: failed === 0 }
    })
  )
  return judge(1, 'the device suite', 'every test passes', [{ of: check.device, figure }])
}

const mostOfPytorchsError = 2

/** The worse of whole and tiled, over PyTorch's largest. */
const errorOfPytorchs = (group: readonly Parity[]): E.Either<Refusal, number> =>
  pipe(
    E.Do,
    E.apS('whole', all(group.map(({ tilefold }) => tilefold.whole))),
    E.apS('tiled', all(group.map(({ tilefold }) => tilefold.tiled))),
    E.apS('pytorch', all(group.map(({ pytorch }) => pytorch))),
    E.map(({ whole, tiled, pytorch }) => Math.max(median(whole), median(tiled)) / Math.max(...pytorch))
  )

const parity = (report: Report): Verdict =>
  judge(
    1,
    "VGG-16's gradients, whole and in tiles: median error against float64 over PyTorch's largest",
    `at most ${mostOfPytorchsError}`,
    byPrecision(report, (precision) =>
      pipe(
        getFound(report.parity),
        E.map((rows) => parityGroups(rows.filter((row) => row.precision === precision))),
        E.chain((groups) => (groups.length === 0 ? notRun : all(groups.map(errorOfPytorchs)))),
        E.map((ratios) => ({
          text: ratios.map((ratio) => ratio.toFixed(2)).join(' and '),
          holds: ratios.every((ratio) => ratio <= mostOfPytorchsError)
        }))
      )
    )
  )

const sanitized = (report: Report, tool: Sanitized['tool']): Verdict =>
  judge(
    1,
    `compute-sanitizer's ${tool}`,
    'no error',
    byPrecision(report, (precision) =>
      pipe(
        getFound(report.sanitizer),
        E.chain((rows) => all(rows.filter((row) => row.tool === tool && row.precision === precision).map(({ found }) => found))),
        E.map((found) => sum(found.map(({ errors }) => errors))),
        E.map((errors) => ({ text: `${errors} errors`, holds: errors === 0 }))
      )
    )
  )

/** A plan counts to the byte, a device in pages. */
const mostUnplannedBytes = 4096

const plannedMemory = (report: Report): Verdict =>
  judge(
    2,
    'the peak memory of each training step beside its plan',
    `within ${formatBytes(mostUnplannedBytes)}`,
    byPrecision(report, (precision) =>
      pipe(
        getFound(report.benchmarks),
        E.chain((rows) => {
          const apart = rows.flatMap(({ timing, precision: own }) =>
            own === precision && E.isRight(timing) && timing.right.peakBytes !== null && timing.right.plannedPeakBytes !== null
              ? [Math.abs(timing.right.peakBytes - timing.right.plannedPeakBytes)]
              : []
          )
          const most = Math.max(...apart)
          return apart.length === 0
            ? E.left(refusal('no step ran'))
            : E.right({ text: `${formatBytes(most)} apart at most, ${apart.length} steps`, holds: most <= mostUnplannedBytes })
        })
      )
    )
  )

const driver = (report: Report): Verdict => {
  const figure = pipe(
    getFound(report.driverMemory),
    E.chain(all),
    E.map((rows): Figure => {
      const beside = rows.map(({ besideBytes }) => besideBytes)
      const [least, most] = [Math.min(...beside), Math.max(...beside)]
      return {
        text: rows.map(({ arenaBytes, besideBytes }) => `${formatBytes(besideBytes)} beside ${formatBytes(arenaBytes)}`).join(', '),
        holds: most <= mostBesideBytes && most - least <= mostBesideDifference
      }
    })
  )
  return judge(
    2,
    'what the driver counts beside the arena',
    `at most ${formatBytes(mostBesideBytes)}, and within ${formatBytes(mostBesideDifference)} whatever the arena`,
    [{ of: report.check.precisions[0]!, figure }]
  )
}

const mostOfPytorchsStep = 0.9

/** A workload's finding by what is made of its steps. */
const ofWorkloads = (report: Report, figure: (compared: Compared) => E.Either<Refusal, Figure>): readonly Finding[] =>
  pipe(
    getFound(report.networks),
    E.map((rows) =>
      compareSteps(rows).map((one) => ({ of: `${one.rows[0].precision} ${workloadText(one.rows[0])}`, figure: figure(one) }))
    ),
    E.map((findings) => (report.networks?.isUnfinished ? [...findings, { of: 'others', figure: notRun }] : findings)),
    E.getOrElse((refused): readonly Finding[] => [{ of: report.check.device, figure: E.left(refused) }])
  )

const networks = (report: Report): Verdict =>
  judge(
    4,
    "networks' steps over the faster of PyTorch's, eager and compiled",
    `at most ${mostOfPytorchsStep.toFixed(2)}`,
    ofWorkloads(report, ({ ms, pytorchMs }) => {
      const plain = ms.get('plain')
      if (plain === undefined || pytorchMs === undefined) return E.left(refusal('one of both did not run'))
      return E.right({ text: (plain / pytorchMs).toFixed(2), holds: plain / pytorchMs <= mostOfPytorchsStep })
    })
  )

const mostOfPlain = 1.35

const fifths = (report: Report): Verdict =>
  judge(
    4,
    "networks' steps in a fifth of plain's memory over plain's",
    `at most ${mostOfPlain}`,
    ofWorkloads(report, ({ ms }) => {
      const [plain, fifth] = [ms.get('plain'), ms.get('in a fifth')]
      if (plain === undefined || fifth === undefined) return E.left(refusal('it does not fit, or did not run'))
      return E.right({ text: (fifth / plain).toFixed(2), holds: fifth / plain <= mostOfPlain })
    })
  )

const mostOfPytorchsPixel = 1.5

/** The fastest of these per pixel. */
const fastest = (rows: readonly Row[]): { readonly row: Row; readonly nanoseconds: number } | undefined =>
  rows
    .flatMap((row) => (E.isRight(row.timing) ? [{ row, nanoseconds: nanosecondsPerPixel(row, row.timing.right) }] : []))
    .sort((a, b) => a.nanoseconds - b.nanoseconds)[0]

const pixels = (report: Report): Verdict => {
  const { cells } = report.check.scale
  const size = Math.max(...cells.map((cell) => cell.size))
  const arenas = [...new Set(cells.flatMap((cell) => (cell.size === size && cell.arenaBytes !== null ? [cell.arenaBytes] : [])))]
  const figure = (precision: CheckPrecision, arenaBytes: number): E.Either<Refusal, Figure> =>
    pipe(
      getFound(report.benchmarks),
      E.map((rows) => rows.filter((row) => row.precision === precision)),
      E.chain((rows) => {
        const tried = rows.filter((row) => !row.isPytorch && row.size === size && row.arenaBytes === arenaBytes)
        const [ours, theirs] = [fastest(tried), fastest(rows.filter((row) => row.arenaBytes === null))]
        if (ours === undefined)
          return tried.map(({ timing }) => timing).find(E.isLeft) ?? E.left(refusal(`${report.check.mode} leaves it out`))
        if (theirs === undefined) return E.left(refusal('plain PyTorch has no time to compare with'))
        const ratio = ours.nanoseconds / theirs.nanoseconds
        const text = `${ratio.toFixed(2)} (${ours.nanoseconds.toFixed(1)} ns over ${theirs.nanoseconds.toFixed(1)} ns at ${theirs.row.size}²)`
        return E.right({ text, holds: ratio <= mostOfPytorchsPixel })
      })
    )
  return judge(
    3,
    `VGG-16 at ${size}x${size}: time per pixel over plain PyTorch's best on the whole card`,
    `at most ${mostOfPytorchsPixel}`,
    report.check.precisions.flatMap((precision) =>
      arenas.map((arenaBytes) => ({ of: `${precision} in ${arenaText(arenaBytes)}`, figure: figure(precision, arenaBytes) }))
    )
  )
}

const [leastOfBestRate, goalOfBestRate] = [0.6, 0.7]

const batches = (report: Report): Verdict => {
  const { network, sizes } = report.check.scale.batches
  const largest = Math.max(...sizes)
  const best = (rows: readonly Batch[]): number =>
    Math.max(0, ...rows.flatMap(({ measured }) => (E.isRight(measured) ? [measured.right.imagesPerSecond] : [])))
  return judge(
    4,
    `${network.name}: images a second at batch ${largest} over our own best`,
    `at least ${leastOfBestRate.toFixed(2)} (the goal is ${goalOfBestRate.toFixed(2)})`,
    byPrecision(report, (precision) =>
      pipe(
        getFound(report.batches),
        E.map((rows) => rows.filter((row) => row.precision === precision && !row.isPytorch)),
        E.chain((rows) => {
          const tried = rows.filter(({ batch }) => batch === largest)
          const [rate, most] = [best(tried), best(rows)]
          if (rate === 0) return tried.map(({ measured }) => measured).find(E.isLeft) ?? notRun
          // A batch alone is its own best.
          if (rows.every(({ batch, measured }) => batch === largest || E.isLeft(measured))) return E.left(refusal('no other batch ran'))
          return E.right({
            text: `${(rate / most).toFixed(2)} (${rate.toFixed(0)} over ${most.toFixed(0)})`,
            holds: rate / most >= leastOfBestRate
          })
        })
      )
    )
  )
}

const mostOffPrediction = 0.15

const predictions = (report: Report): Verdict =>
  judge(
    5,
    'predicted over measured step of VGG-16, by a measured profile',
    `from ${1 - mostOffPrediction} to ${1 + mostOffPrediction}`,
    byRow(report, report.predictions, (withProfile) =>
      pipe(
        all(withProfile.predictions),
        E.map((rows): Figure => {
          const ratios = rows.map(({ predictedMs, measuredMs }) => predictedMs / measuredMs)
          return {
            text: rows.map(({ strategy }, index) => `${ratios[index]!.toFixed(2)} ${strategy}`).join(', '),
            holds: ratios.every((ratio) => Math.abs(ratio - 1) <= mostOffPrediction)
          }
        })
      )
    )
  )

const overlap = (report: Report): Verdict =>
  judge(
    5,
    "a swapped step's transfers that pass while it computes",
    'reported',
    byRow(report, report.overlap, ({ hidden, movedBytes }) =>
      E.right({ text: movedBytes === 0 ? 'nothing was moved' : `${percent(hidden)} of ${formatBytes(movedBytes)}`, holds: true })
    )
  )

const mostOfKernels = 1.1

const tiles = ({ check, ...report }: Report): Verdict =>
  judge(
    6,
    `VGG-16 at ${check.scale.tiledSize}x${check.scale.tiledSize} in 16x16 tiles: the step over what its kernels take alone`,
    `at most ${mostOfKernels.toFixed(2)}`,
    byRow({ check, ...report }, report.launchOverhead, ({ ofKernels }) =>
      E.right({ text: ofKernels.toFixed(3), holds: ofKernels <= mostOfKernels })
    )
  )

/** Every verdict on a report, in the order of the goals. */
export const judgeReport = (report: Report): readonly Verdict[] => [
  suite(report),
  parity(report),
  sanitized(report, 'memcheck'),
  sanitized(report, 'racecheck'),
  plannedMemory(report),
  driver(report),
  networks(report),
  fifths(report),
  pixels(report),
  batches(report),
  predictions(report),
  overlap(report),
  tiles(report)
]
