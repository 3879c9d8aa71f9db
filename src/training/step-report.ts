/** The report that a training makes of each of its steps. */
export interface StepReport {
  /** Number of the step, from 0. */
  readonly step: number
  readonly steps: number
  readonly loss: number
  readonly milliseconds: number
  /** Highest changed byte of the arena after the first step, plus one. */
  readonly peakDeviceBytes: number
}
