import type { Outcome } from '../failure'
import type { Validation } from './validation/best'
import type { SeenCrop } from '../images/seen-crop'
import type { StepReport } from './step-report'

/** How a training ended. */
export type Ending = 'finished' | 'failed' | 'interrupted'

/** Is told of a training as it goes. */
export interface Tracker {
  readonly step: (report: StepReport) => Outcome<void>
  /** `crops` are its first images, made small; none where nobody asked for them. */
  readonly validation: (validation: Validation, crops: readonly SeenCrop[]) => Outcome<void>
  readonly close: (ending: Ending) => Promise<void>
}
