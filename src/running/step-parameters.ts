import type { StepParameters } from '../../native'

/** Parameters of a run that learns nothing and draws nothing, so that no other values differ. */
export const noUpdate: StepParameters = { learningRate: 0, step: 0, seed: 0 }
