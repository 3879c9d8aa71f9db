import type { Failure } from '../failure'
import { printable } from '../text/printable'

const sentence = (text: string): string => printable(/[.!?]$/.test(text) ? text : `${text}.`)

const failureReport = ({ code, message, smallestFeasibleBudgetBytes, report }: Failure): object => ({
  ...(code === 'budget'
    ? { feasible: false, ...(report ?? { smallestFeasibleBudgetBytes: smallestFeasibleBudgetBytes ?? null }), reason: sentence(message) }
    : {}),
  error: { code, message: sentence(message) }
})

/**
 * The texts that a failed command writes to standard error, and with --json to standard output too.
 */
export const failureText = (json: boolean, failure: Failure): { readonly error: string; readonly output: string } => ({
  error: `${sentence(failure.message)}\n`,
  output: json ? `${JSON.stringify(failureReport(failure))}\n` : ''
})
