import * as t from 'io-ts'
import { type Failure, exitStatus } from './index'

/** Codec of a failure as one process tells it another. */
export const failureJson = t.readonly(
  t.intersection([t.type({ code: t.keyof(exitStatus), message: t.string }), t.partial({ smallestFeasibleBudgetBytes: t.number })]),
  'failure'
)

/** What another process is told of a failure. */
export const toFailureJson = ({ code, message, smallestFeasibleBudgetBytes }: Failure): t.TypeOf<typeof failureJson> => ({
  ...{ code, message },
  ...(smallestFeasibleBudgetBytes !== undefined && { smallestFeasibleBudgetBytes })
})
