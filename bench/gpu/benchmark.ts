import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { median } from '../median'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Pytorch } from './pytorch'
import { type Refusal, refusal, timeIsUp } from './refusal'
import type { Cell } from './scale'
import { tilefold } from './tilefold'

/** Some steps in one go. */
interface Turn {
  /** Milliseconds of each step; the first warms up. */
  readonly stepMs: readonly number[]
  /** null where nobody counts them. */
  readonly peakBytes: number | null
}

interface Contender {
  readonly name: string
  readonly isPytorch: boolean
  readonly turn: (cell: Cell, precision: CheckPrecision, steps: number, seconds: number) => Promise<E.Either<Refusal, Turn>>
}

export interface Timing {
  readonly medianMs: number
  /** Of every step that counts, in the order in which they were taken. */
  readonly stepMs: readonly number[]
  /** Of the median of the fastest of PyTorch's ways in the same arena; null where none ran. */
  readonly ofPytorch: number | null
  readonly peakBytes: number | null
}

export interface Row extends Cell {
  readonly precision: CheckPrecision
  readonly contender: string
  readonly timing: E.Either<Refusal, Timing>
}

const Benched = t.type({ stepMs: t.readonlyArray(t.number), peakDeviceBytes: t.number })
const Trained = t.type({ ms: t.readonlyArray(t.number), peakBytes: t.union([t.number, t.null]) })

const byTilefold = (device: string, strategy: string): Contender => ({
  name: `Tilefold, ${strategy}`,
  isPytorch: false,
  turn: async ({ size, arenaBytes }, precision, steps, seconds) => {
    const setup = ['--device', device, '--precision', precision, '--input', `1x3x${size}x${size}`, '--budget', `${arenaBytes}`]
    const answer = await tilefold(
      Benched,
      ['bench', 'vgg16', '--classes', '2', ...setup, '--strategy', strategy, '--steps', `${steps}`],
      seconds
    )
    return E.map(({ stepMs, peakDeviceBytes }: t.TypeOf<typeof Benched>): Turn => ({ stepMs, peakBytes: peakDeviceBytes }))(answer)
  }
})

/** PyTorch's ways to train within less memory, each as pytorch_peer.py knows it. */
const ways = [
  { name: 'PyTorch, plain', mode: 'plain', segments: 0, format: 'nchw' },
  { name: 'PyTorch, plain, channels_last', mode: 'plain', segments: 0, format: 'channels_last' },
  { name: 'PyTorch, checkpoint_sequential 4', mode: 'checkpoint', segments: 4, format: 'nchw' },
  { name: 'PyTorch, save_on_cpu', mode: 'offload', segments: 0, format: 'nchw' }
] as const

const byPytorch = ({ ask }: Pytorch, { name, ...way }: (typeof ways)[number]): Contender => ({
  name,
  isPytorch: true,
  turn: async ({ size, arenaBytes }, precision, steps, seconds) => {
    const answer = await ask(Trained, { kind: 'train', ...way, size, precision, memoryBytes: arenaBytes, steps }, seconds)
    return E.map(({ ms, peakBytes }: t.TypeOf<typeof Trained>): Turn => ({ stepMs: ms, peakBytes }))(answer)
  }
})

/** All turns of a contender in one cell, or what ended them. */
const timingOf = (turns: readonly E.Either<Refusal, Turn>[]): E.Either<Refusal, Omit<Timing, 'ofPytorch'>> =>
  pipe(
    E.sequenceArray(turns),
    E.map((all) => {
      const stepMs = all.flatMap((turn) => turn.stepMs.slice(1))
      const peaks = all.flatMap(({ peakBytes }) => (peakBytes === null ? [] : [peakBytes]))
      return { medianMs: median(stepMs), stepMs, peakBytes: peaks.length > 0 ? Math.max(...peaks) : null }
    })
  )

/** One cell: every contender has its turn in every round, unless it failed before. */
const runCell = async (
  { scale: { rounds, steps: usualSteps, mostSeconds } }: Check,
  cell: Cell,
  precision: CheckPrecision,
  contenders: readonly Contender[],
  failedBefore: ReadonlyMap<string, Refusal>,
  deadline: Deadline
): Promise<readonly Row[]> => {
  const steps = cell.isLarge === true ? 2 : usualSteps
  const turns = new Map(
    contenders.map(({ name }): [string, E.Either<Refusal, Turn>[]] => {
      const before = failedBefore.get(name)
      return [name, before === undefined ? [] : [E.left(before)]]
    })
  )
  for (let round = 0; round < rounds; round += 1)
    for (const { name, turn } of contenders) {
      const taken = turns.get(name)!
      if (taken.some(E.isLeft)) continue
      // Rounds that time does not allow are left out; one is enough for a figure.
      if (deadline.isOver() && taken.length > 0) continue
      taken.push(deadline.isOver() ? E.left(timeIsUp) : await turn(cell, precision, steps, deadline.atMost(mostSeconds)))
    }
  const timings = contenders.map(({ name }) => timingOf(turns.get(name)!))
  const pytorch = timings.flatMap((timing, index) => (contenders[index]!.isPytorch && E.isRight(timing) ? [timing.right.medianMs] : []))
  return contenders.map(({ name }, index) => ({
    ...cell,
    precision,
    contender: name,
    timing: E.map((timing: Omit<Timing, 'ofPytorch'>): Timing => ({
      ...timing,
      ofPytorch: pytorch.length > 0 ? timing.medianMs / Math.min(...pytorch) : null
    }))(timings[index]!)
  }))
}

const strategies = ['plain', 'sft', 'auto']

/** VGG-16's training step in growing images, by Tilefold's strategies and PyTorch's ways, each in the same arena, turn by turn. */
export const runBenchmarks = async (check: Check, pytorch: E.Either<Refusal, Pytorch>, deadline: Deadline): Promise<readonly Row[]> => {
  const contenders = [
    ...strategies.map((strategy) => byTilefold(check.device, strategy)),
    ...(E.isRight(pytorch) ? ways.map((way) => byPytorch(pytorch.right, way)) : [])
  ]
  const rows: Row[] = []
  for (const [index, precision] of check.precisions.entries()) {
    const isLast = index === check.precisions.length - 1
    const share = deadline.shared(check.precisions.length - index)
    const cells = check.scale.cells.filter(({ isLarge }) => isLarge !== true || isLast)
    for (const arenaBytes of new Set(cells.map((cell) => cell.arenaBytes))) {
      // What failed in an image is not tried in a larger one.
      const failed = new Map<string, Refusal>()
      for (const cell of cells.filter((one) => one.arenaBytes === arenaBytes)) {
        const found = await runCell(check, cell, precision, contenders, failed, share)
        found.forEach(({ contender, timing }) => {
          if (E.isLeft(timing) && timing.left !== timeIsUp && !failed.has(contender))
            failed.set(contender, refusal(`not tried: it failed at ${cell.size}`, timing.left.outOfMemory))
        })
        rows.push(...found)
      }
    }
  }
  return rows
}
