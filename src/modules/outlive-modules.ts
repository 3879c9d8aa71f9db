import { type Failure, exitStatus, inputFailure } from '../failure'

const ended = inputFailure(
  'the process was ended before the command was done: a model or a plan in TypeScript or JavaScript is code that is run; take out its process.exit'
)

const waiting = inputFailure(
  'the command can never be done: a model or a plan in TypeScript or JavaScript is code that is run, and waits for what nothing brings; take out that await'
)

/**
 * A module that is given is code, and may end the process at any time and with any status. That is
 * told `fail` until the returned function is called, and a failing status set by then stays.
 */
export const outliveModules = (fail: (failure: Failure) => void): (() => void) => {
  let crashed = false
  let isIdle = false
  let settled: () => void = () => fail(isIdle ? waiting : ended)
  process.on('uncaughtExceptionMonitor', () => (crashed = true))
  // Not emitted by process.exit, but where nothing is left that could go on.
  process.on('beforeExit', () => (isIdle = true))
  process.on('exit', (status) => {
    if (!crashed && status !== exitStatus.interrupted) settled()
  })
  return () => {
    const status = process.exitCode
    settled = () => {
      if (status !== undefined && status !== 0) process.exitCode = status
    }
  }
}
