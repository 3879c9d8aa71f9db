import type { Outcome } from '../failure'
import type { Validation } from './best'
import type { StepReport } from './step-report'

/** How a training ended. */
export type Ending = 'finished' | 'failed' | 'interrupted'

/** Is told of a training as it goes. */
export interface Tracker {
  readonly step: (report: StepReport) => Outcome<void>
  readonly validation: (validation: Validation) => Outcome<void>
  readonly close: (ending: Ending) => Promise<void>
}
