import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { median } from '../median'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Keep } from './keep'
import type { Pytorch } from './pytorch'
import { type Trained, trainPytorch, ways } from './pytorch-training'
import { type Refusal, failedBefore, timeIsUp, unlessOver } from './refusal'
import { setupOf, tilefold } from './tilefold'

/** Images a second of some steps, and the most bytes that they held. */
export interface Throughput {
  readonly imagesPerSecond: number
  /** null where nobody counts them. */
  readonly peakBytes: number | null
  readonly peakHostBytes: number | null
}

/** A network's step with one batch in one arena. */
export interface Batch {
  readonly precision: CheckPrecision
  readonly contender: string
  readonly isPytorch: boolean
  readonly batch: number
  readonly size: number
  readonly arenaBytes: number
  readonly measured: E.Either<Refusal, Throughput>
}

interface Contender {
  readonly name: string
  readonly isPytorch: boolean
  readonly run: (batch: number, precision: CheckPrecision, seconds: number) => Promise<E.Either<Refusal, Throughput>>
}

const classes = 1000

const Benched = t.type({ stepMs: t.readonlyArray(t.number), peakDeviceBytes: t.number, peakHostBytes: t.number })

/** The first step warms up. */
const perSecond = (batch: number, stepMs: readonly number[]): number => (1000 * batch) / median(stepMs.slice(1))

/**
 * The share of the host's free memory that swapping may take: pinned memory that is not there ends
 * more than the step.
 */
const hostShare = 0.6

const byTilefold = ({ device, scale: { batches, steps } }: Check, strategy: string, ...more: readonly string[]): Contender => ({
  name: `Tilefold, ${strategy}`,
  isPytorch: false,
  run: async (batch, precision, seconds) => {
    const { network, size, arenaBytes } = batches
    const setup = setupOf({ classes, device, precision, batch, size })
    // PyTorch too tries out its algorithms. Times of the smallest batch tell those of larger ones.
    const measuring = batch === batches.sizes[0] ? ['--measure'] : []
    const plan = ['--budget', `${arenaBytes}`, '--strategy', strategy, ...more, ...measuring]
    return E.map(({ stepMs, peakDeviceBytes, peakHostBytes }: t.TypeOf<typeof Benched>): Throughput => ({
      imagesPerSecond: perSecond(batch, stepMs),
      peakBytes: peakDeviceBytes,
      peakHostBytes
    }))(await tilefold(Benched, ['bench', network.model, ...setup, ...plan, '--steps', `${steps}`], seconds))
  }
})

const byPytorch = ({ scale: { batches, steps } }: Check, pytorch: Pytorch, way: (typeof ways)['plain'][number]): Contender => ({
  name: way.name,
  isPytorch: true,
  run: async (batch, precision, seconds) => {
    const { network, size, arenaBytes: memoryBytes } = batches
    const training = { model: network.model, classes, batch, size, precision, memoryBytes, steps } as const
    return E.map(({ ms, peakBytes }: Trained): Throughput => ({ imagesPerSecond: perSecond(batch, ms), peakBytes, peakHostBytes: null }))(
      await trainPytorch(pytorch, way, training, seconds)
    )
  }
})

/**
 * A network (ResNet-50, but where the check itself is checked) on images as ImageNet has them, in
 * growing batches within one arena: by recomputation and swapping together, PyTorch as it is, and
 * by swapping as Hayakawa 2020 does; one precision after the other, as far as time does.
 */
export const runBatches = async (
  check: Check,
  pytorch: E.Either<Refusal, Pytorch>,
  deadline: Deadline,
  keep: Keep<Batch>
): Promise<readonly Batch[]> => {
  const { precisions, scale } = check
  const { sizes, size, arenaBytes } = scale.batches
  const swapping = ['--host-budget', `${Math.floor(hostShare * process.availableMemory())}`]
  const contenders = [
    byTilefold(check, 'auto', ...swapping),
    ...(E.isRight(pytorch) ? ways.plain.map((way) => byPytorch(check, pytorch.right, way)) : []),
    byTilefold(check, 'window', ...swapping)
  ]
  const rows: Batch[] = []
  for (const precision of precisions)
    for (const { name, isPytorch, run } of contenders) {
      let failed: Refusal | undefined
      for (const batch of sizes) {
        const measured = deadline.isOver()
          ? E.left(timeIsUp)
          : failed !== undefined
            ? E.left(failed)
            : unlessOver(deadline, await run(batch, precision, deadline.atMost(scale.mostSeconds)))
        if (E.isLeft(measured) && measured.left.isUntried !== true) failed = failedBefore(batch, measured.left)
        rows.push({ precision, contender: name, isPytorch, batch, size, arenaBytes, measured })
        keep(rows)
      }
    }
  return rows
}
