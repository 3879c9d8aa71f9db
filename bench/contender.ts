import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { errorReason } from '../src/failure'

/** What launches of one kind took in a step. */
export interface KernelSum {
  readonly kernel: string
  readonly launches: number
  readonly ms: number
}

/** One step of a contender: milliseconds, its loss, and the most bytes that it held. */
export interface Step {
  readonly ms: number
  readonly loss: number
  readonly peakBytes: number
  /**
   * What other processes used of the machine meanwhile: processor seconds over this step's
   * wall-clock seconds.
   */
  readonly disturbance: number
  /** Where its time went, of a contender that was started with `--breakdown`. */
  readonly kernels?: readonly KernelSum[]
}

/** A training step that is timed against others, in a process of its own. */
export interface Contender {
  readonly name: string
  /** Tilefold's arena, bytes. */
  readonly arenaBytes: number | null
  /** Tilefold's prediction of a step. */
  readonly predictedMs: number | null
  /** The limit of its step by the machine's rates, where they were given. */
  readonly limitMs: number | null
  readonly step: () => Promise<Step>
  readonly close: () => void
}

/** A contender that did not start, and why. */
export interface Skipped {
  readonly name: string
  readonly reason: string
}

/** Linux counts processor time in hundredths of a second. */
const ticksPerSecond = 100

/**
 * Seconds that all processors worked since the machine started, whatever they ran, and that a
 * hypervisor took away.
 */
const machineSeconds = (): number => {
  const [user, nice, system, , , interrupts, softInterrupts, stolen] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user! + nice! + system! + interrupts! + softInterrupts! + stolen!) / ticksPerSecond
}

const processSeconds = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The process's name stands in parentheses and may hold spaces; user and system time are fields
  // 14 and 15.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/**
 * Starts a process that prints one JSON line when ready, and one for each line that it reads.
 * `environment`: what it has beside this process's.
 */
export const start = async (
  name: string,
  command: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>> = {}
): Promise<Contender | Skipped> => {
  const child: ChildProcess = spawn(command, parameters, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...environment } })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  let complaint = ''
  child.stderr!.on('data', (text) => (complaint += String(text)))
  // Where it ended, `close` says why; a line that it can no longer read says nothing more.
  child.stdin!.on('error', () => undefined)
  const failed = new Promise<never>((_, reject) => {
    child.on('error', (error) => reject(new Error(error.message)))
    child.on('close', (status, signal) =>
      reject(new Error(complaint.trim().split('\n').at(-1) || `it ended with ${signal ?? `status ${status}`}`))
    )
  })
  failed.catch(() => undefined)
  const next = async (): Promise<unknown> => {
    const line = await Promise.race([lines.next(), failed])
    return line.done === true ? failed : (JSON.parse(line.value) as unknown)
  }
  const others = (): number => machineSeconds() - processSeconds(child.pid!)
  const step = async (): Promise<Step> => {
    // Of a process that has ended nothing is counted any more: why it did says more.
    if (child.exitCode !== null || child.signalCode !== null) return failed
    const before = others()
    child.stdin!.write('\n')
    const taken = (await next()) as Omit<Step, 'disturbance'>
    return { ...taken, disturbance: Math.max(0, others() - before) / (taken.ms / 1000) }
  }
  try {
    const {
      arenaBytes = null,
      predictedMs = null,
      limitMs = null
    } = (await next()) as { readonly arenaBytes?: number; readonly predictedMs?: number; readonly limitMs?: number }
    // The first step warms up.
    await step()
    return { name, arenaBytes, predictedMs, limitMs, step, close: () => child.stdin!.end() }
  } catch (error) {
    return { name, reason: errorReason(error) }
  }
}

/** Starts Tilefold with options of tilefold_step.ts, whose types were checked with this file's. */
export const startTilefold = (name: string, options: readonly string[]): Promise<Contender | Skipped> =>
  start(name, process.execPath, ['-r', 'ts-node/register/transpile-only', join(__dirname, 'tilefold_step.ts'), ...options])
