import { type StdioOptions, spawnSync } from 'node:child_process'

const complete = (command: string, args: readonly string[], stdio: StdioOptions): string => {
  const { status, stdout, error } = spawnSync(command, args, { encoding: 'utf8', stdio, maxBuffer: 2 ** 26 })
  if (error !== undefined) throw new Error(`${command} cannot be run (${error.message}): install it`)
  if (status !== 0) throw new Error(`"${command} ${args.join(' ')}" failed with status ${status}`)
  return stdout
}

/** What a command prints. Throws, naming the command, where it fails or is missing. */
export const output = (command: string, args: readonly string[]): string => complete(command, args, ['ignore', 'pipe', 'inherit'])

/** Runs a command, whose own words go to standard error. Throws, naming the command, where it fails or is missing. */
export const run = (command: string, args: readonly string[]): void => void complete(command, args, ['ignore', 2, 2])

/** Whether a program is on PATH. */
export const isInstalled = (command: string): boolean => spawnSync(command, ['--version'], { stdio: 'ignore' }).error === undefined
