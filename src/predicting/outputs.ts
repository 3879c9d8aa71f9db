import type { StepIoEntry } from '../../staging/program/program'
import type { StepIo } from '../../native'

/** What was predicted of an image: the values that a step hands out, or those of several as one. */
export interface Outputs {
  readonly entries: readonly StepIoEntry[]
  readonly io: Pick<StepIo, 'view' | 'parts' | 'leaveToFile'>
}
