import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { median } from '../median'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Keep } from './keep'
import type { Pytorch } from './pytorch'
import { type Trained, type Way, trainPytorch, ways } from './pytorch-training'
import { type Refusal, failedBefore, timeIsUp, unlessOver } from './refusal'
import type { Cell } from './scale'
import { setupOf, tilefold } from './tilefold'

/** Some steps in one go. */
interface Turn {
  /** Milliseconds of each step; the first warms up. */
  readonly stepMs: readonly number[]
  /** null where nobody counts them. */
  readonly peakBytes: number | null
  /** As the plan has it; null where there is none. */
  readonly plannedPeakBytes: number | null
}

interface Contender {
  readonly name: string
  readonly isPytorch: boolean
  /** Whether it has a turn in a cell. */
  readonly takes: (cell: Cell) => boolean
  readonly turn: (cell: Cell, precision: CheckPrecision, steps: number, seconds: number) => Promise<E.Either<Refusal, Turn>>
}

interface Timing {
  readonly medianMs: number
  /** Milliseconds of every step that counts, in the order in which they were taken. */
  readonly stepMs: readonly number[]
  /**
   * medianMs over the median of the fastest of PyTorch's ways in the same arena; null where none
   * ran.
   */
  readonly ofPytorch: number | null
  readonly peakBytes: number | null
  readonly plannedPeakBytes: number | null
}

/** The time of one contender for one image in one arena, or why there is none. */
export interface Row extends Cell {
  readonly precision: CheckPrecision
  readonly contender: string
  readonly isPytorch: boolean
  readonly timing: E.Either<Refusal, Timing>
}

/** Nanoseconds of the median step for each pixel of the image. */
export const nanosecondsPerPixel = ({ size }: Cell, { medianMs }: Timing): number => (1e6 * medianMs) / size ** 2

const classes = 2

const Benched = t.type({ stepMs: t.readonlyArray(t.number), peakDeviceBytes: t.number, predictedPeakBytes: t.number })

const byTilefold = (device: string, strategy: string): Contender => ({
  name: `Tilefold, ${strategy}`,
  isPytorch: false,
  takes: ({ arenaBytes, isLarge }) => arenaBytes !== null && (isLarge !== true || strategy === 'auto'),
  turn: async ({ size, arenaBytes }, precision, steps, seconds) => {
    const setup = [...setupOf({ classes, device, precision, batch: 1, size }), '--budget', `${arenaBytes}`]
    const answer = await tilefold(Benched, ['bench', 'vgg16', ...setup, '--strategy', strategy, '--steps', `${steps}`], seconds)
    return E.map(({ stepMs, peakDeviceBytes, predictedPeakBytes }: t.TypeOf<typeof Benched>): Turn => ({
      stepMs,
      peakBytes: peakDeviceBytes,
      plannedPeakBytes: predictedPeakBytes
    }))(answer)
  }
})

const byPytorch = (pytorch: Pytorch, way: Way): Contender => ({
  name: way.name,
  isPytorch: true,
  takes: ({ arenaBytes }) => arenaBytes !== null || way.mode === 'plain',
  turn: async ({ size, arenaBytes: memoryBytes }, precision, steps, seconds) => {
    const training = { model: 'vgg16', classes, batch: 1, size, precision, memoryBytes, steps } as const
    return E.map(({ ms, peakBytes }: Trained): Turn => ({ stepMs: ms, peakBytes, plannedPeakBytes: null }))(
      await trainPytorch(pytorch, way, training, seconds)
    )
  }
})

const largest = (values: readonly (number | null)[]): number | null => {
  const counted = values.filter((value) => value !== null)
  return counted.length > 0 ? Math.max(...counted) : null
}

/** All turns of a contender in one cell, or what ended them. */
const timingOf = (turns: readonly E.Either<Refusal, Turn>[]): E.Either<Refusal, Omit<Timing, 'ofPytorch'>> =>
  pipe(
    E.sequenceArray(turns),
    E.map((all) => {
      const stepMs = all.flatMap((turn) => turn.stepMs.slice(1))
      return {
        medianMs: median(stepMs),
        stepMs,
        peakBytes: largest(all.map(({ peakBytes }) => peakBytes)),
        plannedPeakBytes: largest(all.map(({ plannedPeakBytes }) => plannedPeakBytes))
      }
    })
  )

/** One cell: every contender has its turn in every round, unless it failed before. */
const runCell = async (
  { scale: { rounds: usualRounds, steps: usualSteps, mostSeconds } }: Check,
  cell: Cell,
  precision: CheckPrecision,
  contenders: readonly Contender[],
  failed: ReadonlyMap<string, Refusal>,
  deadline: Deadline
): Promise<readonly Row[]> => {
  const [rounds, steps, most] = cell.isLarge === true ? [1, 2, 2 * mostSeconds] : [usualRounds, usualSteps, mostSeconds]
  const turns = new Map(
    contenders.map(({ name }): [string, E.Either<Refusal, Turn>[]] => {
      const before = failed.get(name)
      return [name, before === undefined ? [] : [E.left(before)]]
    })
  )
  for (let round = 0; round < rounds; round += 1)
    for (const { name, turn } of contenders) {
      const taken = turns.get(name)!
      if (taken.some(E.isLeft)) continue
      // Rounds that time does not allow are left out; one is enough for a figure.
      if (deadline.isOver() && taken.length > 0) continue
      taken.push(deadline.isOver() ? E.left(timeIsUp) : unlessOver(deadline, await turn(cell, precision, steps, deadline.atMost(most))))
    }
  const timings = contenders.map(({ name }) => timingOf(turns.get(name)!))
  const pytorch = timings.flatMap((timing, index) => (contenders[index]!.isPytorch && E.isRight(timing) ? [timing.right.medianMs] : []))
  return contenders.map(({ name, isPytorch }, index) => ({
    ...cell,
    precision,
    contender: name,
    isPytorch,
    timing: E.map((timing: Omit<Timing, 'ofPytorch'>): Timing => ({
      ...timing,
      ofPytorch: pytorch.length > 0 ? timing.medianMs / Math.min(...pytorch) : null
    }))(timings[index]!)
  }))
}

const strategies = ['plain', 'sft', 'auto']

/**
 * By contender, what ended its first image that did not run in a cell's arena: a larger one is not
 * tried.
 */
const failures = (rows: readonly Row[], { size, arenaBytes }: Cell, precision: CheckPrecision): ReadonlyMap<string, Refusal> => {
  const found = new Map<string, Refusal>()
  rows
    .filter((row) => row.precision === precision && row.arenaBytes === arenaBytes && row.size < size)
    .forEach(({ contender, timing, size: failedSize }) => {
      if (E.isLeft(timing) && timing.left.isUntried !== true) found.set(contender, failedBefore(failedSize, timing.left))
    })
  return found
}

/**
 * VGG-16's training step, by Tilefold's strategies and PyTorch's ways, each in the same arena, turn
 * by turn; and plain PyTorch's on the whole card.
 */
export const runBenchmarks = async (
  check: Check,
  pytorch: E.Either<Refusal, Pytorch>,
  deadline: Deadline,
  keep: Keep<Row>
): Promise<readonly Row[]> => {
  const contenders = [
    ...strategies.map((strategy) => byTilefold(check.device, strategy)),
    ...(E.isRight(pytorch) ? ways.all.map((way) => byPytorch(pytorch.right, way)) : [])
  ]
  const rows: Row[] = []
  for (const cell of check.scale.cells)
    for (const precision of check.precisions.filter((one) => cell.isFast !== true || one !== 'float32')) {
      const taking = contenders.filter(({ takes }) => takes(cell))
      rows.push(...(await runCell(check, cell, precision, taking, failures(rows, cell, precision), deadline)))
      keep(rows)
    }
  return check.precisions.flatMap((precision) => rows.filter((row) => row.precision === precision))
}
