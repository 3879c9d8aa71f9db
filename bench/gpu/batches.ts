import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import { median } from '../median'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import { type Refusal, refusal, timeIsUp } from './refusal'
import { tilefold } from './tilefold'

/** ResNet-50's step with one batch in one arena. */
export interface Batch {
  readonly precision: CheckPrecision
  readonly strategy: string
  readonly batch: number
  readonly size: number
  readonly arenaBytes: number
  readonly measured: E.Either<
    Refusal,
    { readonly imagesPerSecond: number; readonly peakDeviceBytes: number; readonly peakHostBytes: number }
  >
}

const Benched = t.type({ stepMs: t.readonlyArray(t.number), peakDeviceBytes: t.number, peakHostBytes: t.number })

/** By recomputation alone, and by swapping as paper 000 does; markdown.ts has its figures. */
const strategies = ['auto', 'window'] as const

/** ResNet-50 on images as ImageNet has them, in growing batches within one arena, in the last of the precisions, which is the fastest. */
export const runBatches = async (
  { device, precisions, scale: { batches, steps, mostSeconds } }: Check,
  deadline: Deadline
): Promise<readonly Batch[]> => {
  const precision = precisions.at(-1)!
  const rows: Batch[] = []
  for (const strategy of strategies) {
    let failed: Refusal | undefined
    for (const batch of batches.sizes) {
      const { model, size, arenaBytes } = batches
      const setup = ['--device', device, '--precision', precision, '--input', `${batch}x3x${size}x${size}`]
      const args = ['bench', model, ...setup, '--budget', `${arenaBytes}`, '--strategy', strategy, '--steps', `${steps}`]
      const answer = deadline.isOver()
        ? E.left(timeIsUp)
        : failed !== undefined
          ? E.left(failed)
          : await tilefold(Benched, args, deadline.atMost(mostSeconds))
      if (E.isLeft(answer) && answer.left !== timeIsUp) failed ??= refusal(`not tried: it failed at ${batch}`, answer.left.outOfMemory)
      const measured = E.map(({ stepMs, ...peaks }: t.TypeOf<typeof Benched>) => ({
        imagesPerSecond: (1000 * batch) / median(stepMs.slice(1)),
        ...peaks
      }))(answer)
      rows.push({ precision, strategy, batch, size, arenaBytes, measured })
    }
  }
  return rows
}
