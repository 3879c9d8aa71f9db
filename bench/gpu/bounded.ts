import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'

/** How a process ended, and what it wrote. */
export interface ProcessResult {
  /** null where it was ended from outside. */
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
  readonly seconds: number
}

/** The last line of what a program had to say; of Node's own words on what was thrown, that. */
const lastWords = (stderr: string): string => {
  const lines = stderr.trim().split('\n')
  const last = lines.at(-1)!
  return /^Node\.js v[\d.]+$/.test(last) ? (lines.findLast((line) => /^\w*Error\b.*: /.test(line)) ?? last) : last
}

/** The last line of what a program had to say, or how it ended. */
export const describeEnd = ({ status, stderr, timedOut, seconds }: ProcessResult): string =>
  timedOut
    ? `it was ended after ${Math.round(seconds)} s`
    : lastWords(stderr) ||
      (status === null ? 'it was ended from outside, as Linux does where memory runs out' : `it ended with status ${status}`)

/** Where memory runs out, Linux ends this process in place of the check. */
export const endsFirst = (process: number | undefined): void => {
  try {
    writeFileSync(`/proc/${process}/oom_score_adj`, '1000')
  } catch {
    // It has ended, or the system has no such file.
  }
}

/** Ends a process that has a group of its own, and what it started. */
export const killGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/**
 * Threads that spin while they wait take the time of those that work, on a machine that does more
 * than this.
 */
const patient = { OMP_WAIT_POLICY: 'passive' }

/** Ends what runs. Before other listeners, which may remove what it writes to. */
const running = new Set<() => void>()
process.prependOnceListener('exit', () => running.forEach((kill) => kill()))

/**
 * Runs a program for so many seconds at most; one that does not start ends at once. It ends with
 * this process, and what it started with it.
 */
export const runProgram = (
  program: string,
  args: readonly string[],
  seconds: number,
  environment: NodeJS.ProcessEnv = {}
): Promise<ProcessResult> =>
  new Promise((resolve) => {
    const started = performance.now()
    // A group of its own, so that what it starts ends with it: a step under a sanitizer, say.
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...patient, ...environment },
      detached: true
    })
    endsFirst(child.pid)
    let [stdout, stderr, timedOut] = ['', '', false]
    const kill = (): void => killGroup(child)
    running.add(kill)
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
      running.delete(kill)
      resolve({ status, stdout, stderr, timedOut, seconds: (performance.now() - started) / 1000 })
    }
    child.on('error', ({ message }) => {
      stderr += message
      end(null)
    })
    child.on('close', end)
  })

/** Runs a script of the bundle's in a Node of its own. */
export const runNode = (args: readonly string[], seconds: number, environment?: NodeJS.ProcessEnv): Promise<ProcessResult> =>
  runProgram(process.execPath, args, seconds, environment)
