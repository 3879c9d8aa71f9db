/**
 * An error of staging: bad input, or nothing fits the budget. The message is one sentence, with the
 * layer where one is to blame.
 */
export interface StagingError {
  readonly code: 'input' | 'budget'
  readonly message: string
  readonly layer?: string
  /** Whether the decisions of a given plan are at fault. */
  readonly isOfPlan?: true
  /** Smallest budget in bytes for which the same request succeeds; with code 'budget' only. */
  readonly smallestFeasibleBudgetBytes?: number
}

/** An error of what staging was asked, with the layer where there is one. */
export const inputError = (message: string, layer?: string): StagingError => ({
  code: 'input',
  message,
  ...(layer === undefined ? {} : { layer })
})

/** An error of the decisions of a given plan. */
export const ofPlan = (error: StagingError): StagingError => ({ ...error, isOfPlan: true })
