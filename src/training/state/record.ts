import type { SeenCrop } from '../../images/seen-crop'
import { type Best, type BestBy, type Validation, findBest } from '../validation/best'

/** The record of a training so far; its length in steps is `loss.length`. */
export interface TrainingRecord {
  /** Mean loss of each step. */
  readonly loss: readonly number[]
  readonly stepMs: readonly number[]
  /** The rate of each step; null where a state of an earlier version does not tell it. */
  readonly learningRate: readonly (number | null)[]
  readonly validations: readonly Validation[]
}

/** The record while it grows; whoever holds it sees it grow. */
export interface GrowingRecord extends TrainingRecord {
  readonly loss: number[]
  readonly stepMs: number[]
  readonly learningRate: (number | null)[]
  readonly validations: Validation[]
  /** Peak of the device's memory, in bytes; absent before the first step of this run. */
  peakDeviceBytes?: number
  /** Crops of the latest validation, where they are to be seen. */
  crops?: readonly SeenCrop[]
}

/** A record that goes on from one, which stays as it is. */
export const continueRecord = ({ loss, stepMs, learningRate, validations }: TrainingRecord): GrowingRecord => ({
  loss: [...loss],
  stepMs: [...stepMs],
  learningRate: [...learningRate],
  validations: [...validations]
})

/** The record before the first step. */
export const emptyRecord: TrainingRecord = { loss: [], stepMs: [], learningRate: [], validations: [] }

/** The record as it was after `steps` steps. */
export const recordAfter = ({ loss, stepMs, learningRate, validations }: TrainingRecord, steps: number): TrainingRecord => ({
  loss: loss.slice(0, steps),
  stepMs: stepMs.slice(0, steps),
  learningRate: learningRate.slice(0, steps),
  validations: validations.filter(({ step }) => step <= steps)
})

/** Tells whether the last `patience` validations brought nothing better. */
export const isExhausted = ({ validations }: TrainingRecord, by: BestBy, patience: number | undefined): boolean =>
  patience !== undefined && (findBest(by, validations)?.since ?? 0) >= patience

/** The best validation of a record; undefined before the first. */
export const bestSoFar = ({ validations }: TrainingRecord, by: BestBy): Best | undefined => findBest(by, validations)
