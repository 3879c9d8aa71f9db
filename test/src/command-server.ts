import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Ended } from './command-line'

/** One process of this file that runs commands, what it was started with, and what it ran last. */
interface Server {
  readonly process: ChildProcess
  readonly environment: string
  last: readonly string[]
}

/**
 * The command line in a process that runs the commands of this file one after the other, and is
 * started anew where the environment has changed, or a command ended it: that one is undefined.
 * What a command does after its answer is seen only where it ends the process before the next one.
 */
export const commandServer = (cli: string, nodeArguments: readonly string[] = []) => {
  let server: Server | undefined
  let before: Promise<unknown> = Promise.resolve()

  const started = (): ChildProcess => {
    const environment = JSON.stringify(process.env)
    if (server?.process.connected === false) {
      const { last } = server
      server = undefined
      throw new Error(`this ended its process after its answer: ${last.join(' ')}`)
    }
    if (server?.environment === environment) return server.process
    server?.process.disconnect()
    const child = fork(join(__dirname, 'commands-in-turn.js'), [cli], {
      execArgv: [...nodeArguments],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
    server = { process: child, environment, last: [] }
    return child
  }

  const runNow = (args: readonly string[]): Promise<Ended | undefined> =>
    new Promise((resolve) => {
      const child = started()
      server!.last = args
      // While it waits it does not keep this process.
      const answered = (answer?: Ended): void => {
        child.removeAllListeners().unref()
        child.channel?.unref()
        if (answer === undefined) server = undefined
        resolve(answer)
      }
      child.ref()
      child.channel?.ref()
      child.once('message', answered).once('exit', () => answered())
      child.send(args)
    })

  return (args: readonly string[]): Promise<Ended | undefined> => {
    const result = before.then(() => runNow(args))
    before = result.catch(() => undefined)
    return result
  }
}
