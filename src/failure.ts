import type { TaskEither } from 'fp-ts/TaskEither'
import type { DeviceError } from '../native'

/**
 * What can go wrong, as a value. `message` is one sentence with the figures and the remedy.
 * input: usage or bad input; budget: does not fit; loss: not finite; missing: a part of the installation;
 * device: the device failed; interrupted: by the user; bug: ours.
 */
export interface Failure {
  readonly code: 'input' | 'budget' | 'loss' | 'missing' | 'device' | 'interrupted' | 'bug'
  readonly message: string
  /** With code budget: the smallest budget that this strategy can meet, where it is known. */
  readonly smallestFeasibleBudgetBytes?: number
  /** With code budget: what --json tells beside the error, where that is more than the budget that would do. */
  readonly report?: object
}

export type Outcome<A> = TaskEither<Failure, A>

/** The process's exit status for each code, as the command line promises. */
export const exitStatus: { readonly [C in Failure['code']]: number } = {
  bug: 1,
  device: 1,
  input: 2,
  missing: 2,
  budget: 3,
  loss: 4,
  interrupted: 130
}

export const inputFailure = (message: string): Failure => ({ code: 'input', message })

/** A machine with less memory than was asked for is no fault of the device's. */
export const deviceFailure = ({ code, message }: DeviceError): Failure => ({ code: code === 'memory' ? 'input' : code, message })

/** Stopped by the user while steps ran; `step` of them are complete. */
export const interrupted = (step: number, steps: number): Failure => ({
  code: 'interrupted',
  message: `interrupted after ${step} of ${steps} steps`
})

/** The first line of what a library or the system threw, for use inside a sentence of ours. */
export const reasonOf = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  // Of "ENOENT: no such file or directory, open '...'" only the middle is for people.
  const [, system] = /^E[A-Z]+: ([^,]+), /.exec(text) ?? []
  return system ?? text.trim().split('\n')[0]!.replace(/\.$/, '')
}
