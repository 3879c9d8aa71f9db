import * as E from 'fp-ts/Either'

/** A schedule of the learning rate over the steps. */
export type LearningRateSchedule =
  | { readonly kind: 'constant' }
  | { readonly kind: 'step'; readonly every: number; readonly factor: number }
  | { readonly kind: 'cosine' }

/** The schedule as it is written. */
export const scheduleText = (schedule: LearningRateSchedule): string =>
  schedule.kind === 'step' ? `step:${schedule.every}:${schedule.factor}` : schedule.kind

/**
 * `constant`; `step:EVERY:FACTOR` (times FACTOR after every EVERY steps); `cosine` (to zero over
 * the run); otherwise a sentence.
 */
export const parseSchedule = (text: string): E.Either<string, LearningRateSchedule> => {
  if (text === 'constant' || text === 'cosine') return E.right({ kind: text })
  const [, every, factor] = /^step:(\d+):(\d*\.?\d+)$/.exec(text) ?? []
  return Number(every) > 0 && Number(factor) > 0
    ? E.right({ kind: 'step', every: Number(every), factor: Number(factor) })
    : E.left(`"${text}" is not a schedule: write constant, cosine, or step:EVERY:FACTOR such as step:30:0.1`)
}

/**
 * Returns the learning rate of `step` (from 0) in a run of `steps`; cosine is that of SGDR
 * (Loshchilov and Hutter, 2017), without restarts. Over the first `warmup` steps it rises linearly,
 * from base / warmup to base; the schedule counts from there.
 */
export const learningRate = (schedule: LearningRateSchedule, base: number, step: number, steps: number, warmup = 0): number =>
  step < warmup ? (base * (step + 1)) / warmup : scheduledRate(schedule, base, step - warmup, steps - warmup)

const scheduledRate = (schedule: LearningRateSchedule, base: number, step: number, steps: number): number => {
  switch (schedule.kind) {
    case 'constant':
      return base
    case 'step':
      return base * schedule.factor ** Math.floor(step / schedule.every)
    case 'cosine':
      return (base / 2) * (1 + Math.cos((Math.PI * step) / steps))
  }
}
