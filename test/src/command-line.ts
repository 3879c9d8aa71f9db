import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export const root = join(__dirname, '..', '..')
export const smallModel = join(__dirname, 'small-model.ts')

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs node with a script and its arguments; `onStart` may send it signals. */
export const runScript = (args: readonly string[], onStart: (child: ChildProcess) => void = () => undefined): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, stdout, stderr }))
    onStart(child)
  })

/** Runs the real command. */
export const tilefold = (args: readonly string[], onStart?: (child: ChildProcess) => void): Promise<Ended> =>
  runScript([join(root, 'src', 'tilefold.js'), ...args], onStart)

/**
 * Arguments with others after them, which take the place of options of the same names: none is
 * taken twice.
 */
export const overriding = (args: readonly string[], more: readonly string[]): readonly string[] => {
  const isGiven = (arg: string | undefined): boolean => arg !== undefined && arg.startsWith('--') && more.includes(arg)
  return [...args.filter((arg, place) => !isGiven(arg) && !isGiven(args[place - 1])), ...more]
}
