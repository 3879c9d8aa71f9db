/**
 * Why staging refused: bad input, or nothing fits the budget. One sentence, with the layer where
 * one is to blame.
 */
export interface StagingError {
  readonly code: 'input' | 'budget'
  readonly message: string
  readonly layer?: string
  /** With code 'budget': the smallest budget in bytes for which the same request succeeds. */
  readonly smallestFeasibleBudgetBytes?: number
}

export const inputError = (message: string, layer?: string): StagingError => ({
  code: 'input',
  message,
  ...(layer === undefined ? {} : { layer })
})
