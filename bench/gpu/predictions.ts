import { resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { median } from '../median'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Keep } from './keep'
import { type Refusal, timeIsUp } from './refusal'
import { setupOf, tilefold } from './tilefold'

/** A step of VGG-16 as its plan predicts it from a measured profile, and as it is. */
export interface Prediction {
  readonly precision: CheckPrecision
  readonly size: number
  readonly strategy: string
  readonly budget: string
  readonly predictedMs: number
  /** Median of the steps after the first two: the second one makes a graph. */
  readonly measuredMs: number
}

/** A profile of one precision, what it took, and what it left. */
export interface Profiled {
  readonly precision: CheckPrecision
  readonly kernels: number
  readonly seconds: number
  readonly linkBytesPerSecond: { readonly toDevice: number; readonly toHost: number }
  /** From which this GPU's plans can be made anywhere; null where the device is none. */
  readonly deviceFile: string | null
  readonly predictions: readonly E.Either<Refusal, Prediction>[]
}

const Profile = t.type({ measured: t.number, linkBytesPerSecond: t.type({ toDevice: t.number, toHost: t.number }) })
const Benched = t.type({ stepMs: t.readonlyArray(t.number), predictedStepMs: t.number })

const warming = 2

/**
 * Measures VGG-16's kernels, records the GPU, and holds predicted beside measured steps, in each
 * precision.
 */
export const runPredictions = async (
  { device, precisions, scale: { predictedSize: size, predictedPercent, steps, mostSeconds } }: Check,
  deadline: Deadline,
  keep: Keep<E.Either<Refusal, Profiled>>
): Promise<readonly E.Either<Refusal, Profiled>[]> => {
  const least = `${predictedPercent}%`
  const cases = [
    { strategy: 'plain', budget: '100%' },
    { strategy: 'auto', budget: least }
  ] as const
  const rows: E.Either<Refusal, Profiled>[] = []
  for (const precision of precisions) {
    const setup = ['vgg16', ...setupOf({ classes: 2, device, precision, batch: 1, size })]
    const deviceFile = device === 'cuda' ? resolve(`gpu-check-${precision}.json`) : null
    const started = performance.now()
    const out = deviceFile === null ? [] : ['--out', deviceFile]
    const profile = await tilefold(Profile, ['profile', ...setup, '--budget', least, ...out], deadline.atMost(2 * mostSeconds))
    const seconds = (performance.now() - started) / 1000
    const predictions: E.Either<Refusal, Prediction>[] = []
    for (const { strategy, budget } of E.isLeft(profile) ? [] : cases) {
      const args = ['bench', ...setup, '--strategy', strategy, '--budget', budget, '--steps', `${steps + warming}`]
      const benched = deadline.isOver() ? E.left(timeIsUp) : await tilefold(Benched, args, deadline.atMost(mostSeconds))
      predictions.push(
        pipe(
          benched,
          E.map(({ stepMs, predictedStepMs: predictedMs }: t.TypeOf<typeof Benched>) => ({
            precision,
            size,
            strategy,
            budget,
            predictedMs,
            measuredMs: median(stepMs.slice(warming))
          }))
        )
      )
    }
    rows.push(
      E.map(({ measured: kernels, linkBytesPerSecond }: t.TypeOf<typeof Profile>) => ({
        precision,
        kernels,
        seconds,
        linkBytesPerSecond,
        deviceFile,
        predictions
      }))(profile)
    )
    keep(rows)
  }
  return rows
}
