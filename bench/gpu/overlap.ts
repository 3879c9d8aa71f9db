import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { median } from '../median'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Keep } from './keep'
import type { Refusal } from './refusal'
import type { Profiled } from './predictions'
import { setupOf, tilefold } from './tilefold'

/** How much of what a step transfers passes while it computes. */
export interface Overlap {
  readonly precision: CheckPrecision
  readonly strategy: string
  readonly budget: string
  readonly stepMs: number
  /** Milliseconds of the step that keeps everything: no transfer but its image's. */
  readonly plainMs: number
  readonly movedBytes: number
  /**
   * Milliseconds that the transfers alone take, one after the other, at the measured rates of the
   * link.
   */
  readonly transferMs: number
  /** The share of transferMs that does not lengthen the step, 0 to 1. */
  readonly hidden: number
}

const Benched = t.type({ stepMs: t.readonlyArray(t.number) })
const Compared = t.type({ rows: t.readonlyArray(t.type({ movedBytes: t.union([t.number, t.null]) })) })

const strategy = 'window'
const warming = 2

/** Times VGG-16 swapped by the window of Hayakawa 2020, and the same step without swapping. */
export const runOverlap = async (
  { device, scale: { predictedSize: size, swappedPercent, steps, mostSeconds } }: Check,
  profiles: readonly E.Either<Refusal, Profiled>[],
  deadline: Deadline,
  keep: Keep<E.Either<Refusal, Overlap>>
): Promise<readonly E.Either<Refusal, Overlap>[]> => {
  const budget = `${swappedPercent}%`
  const rows: E.Either<Refusal, Overlap>[] = []
  for (const profile of profiles) {
    if (E.isLeft(profile)) {
      rows.push(profile)
      continue
    }
    const { precision, linkBytesPerSecond } = profile.right
    const setup = ['vgg16', ...setupOf({ classes: 2, device, precision, batch: 1, size })]
    const bench = (...args: readonly string[]) =>
      tilefold(Benched, ['bench', ...setup, ...args, '--steps', `${steps + warming}`], deadline.atMost(mostSeconds))
    const [swapped, whole, compared] = [
      await bench('--strategy', strategy, '--budget', budget),
      await bench('--strategy', 'plain'),
      await tilefold(Compared, ['compare', ...setup, '--strategies', strategy, '--budgets', budget], deadline.atMost(mostSeconds))
    ]
    rows.push(
      pipe(
        E.Do,
        E.apS('swapped', swapped),
        E.apS('whole', whole),
        E.apS('compared', compared),
        E.map(({ swapped, whole, compared }) => {
          const [stepMs, plainMs] = [median(swapped.stepMs.slice(warming)), median(whole.stepMs.slice(warming))]
          const movedBytes = compared.rows[0]?.movedBytes ?? 0
          const rate = 2 / (1 / linkBytesPerSecond.toDevice + 1 / linkBytesPerSecond.toHost)
          const transferMs = (1000 * movedBytes) / rate
          const hidden = transferMs === 0 ? 0 : 1 - Math.max(0, stepMs - plainMs) / transferMs
          return { precision, strategy, budget, stepMs, plainMs, movedBytes, transferMs, hidden }
        })
      )
    )
    keep(rows)
  }
  return rows
}
