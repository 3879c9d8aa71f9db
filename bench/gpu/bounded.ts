import { spawn } from 'node:child_process'

export interface Ended {
  /** null where it was ended from outside. */
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
  readonly seconds: number
}

/** The last line of what a program had to say, or how it ended. */
export const complaintOf = ({ status, stderr, timedOut, seconds }: Ended): string =>
  timedOut ? `it was ended after ${Math.round(seconds)} s` : stderr.trim().split('\n').at(-1) || `it ended with status ${status}`

/** Threads that spin while they wait take the time of those that work, on a machine that does more than this. */
const patient = { OMP_WAIT_POLICY: 'passive' }

/** Runs a program for so many seconds at most; one that does not start ends at once. It ends with this process, and what it started with it. */
export const runProgram = (
  program: string,
  args: readonly string[],
  seconds: number,
  environment: NodeJS.ProcessEnv = {}
): Promise<Ended> =>
  new Promise((resolve) => {
    const started = performance.now()
    // A group of its own, so that what it starts ends with it: a step under a sanitizer, say.
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...patient, ...environment },
      detached: true
    })
    let [stdout, stderr, timedOut] = ['', '', false]
    const kill = (): void => {
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    // Before others, which may remove what it writes to.
    process.prependOnceListener('exit', kill)
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const timer = setTimeout(
      () => {
        timedOut = true
        kill()
      },
      Math.max(0, seconds) * 1000
    )
    const end = (status: number | null): void => {
      clearTimeout(timer)
      process.off('exit', kill)
      resolve({ status, stdout, stderr, timedOut, seconds: (performance.now() - started) / 1000 })
    }
    child.on('error', ({ message }) => {
      stderr += message
      end(null)
    })
    child.on('close', end)
  })

/** Runs a script of the bundle's in a Node of its own. */
export const runNode = (args: readonly string[], seconds: number, environment?: NodeJS.ProcessEnv): Promise<Ended> =>
  runProgram(process.execPath, args, seconds, environment)
