import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { test } from 'uvu'
import type { Ended } from './command-line'

/** Open MPI's launcher; undefined where there is none. */
export const mpirun = ['mpirun.openmpi', 'mpirun'].find((name) =>
  /Open MPI/.test(spawnSync(name, ['--version'], { encoding: 'utf8' }).stdout ?? '')
)
if (mpirun === undefined) console.log("tests of Open MPI's launcher are skipped: there is no mpirun; install openmpi-bin")
export const hasLauncher = mpirun !== undefined
/** A test that needs Open MPI's launcher. */
export const withLauncher = hasLauncher ? test : test.skip

/** Runs the command on so many ranks, which Open MPI starts. */
export const launch = (
  size: number,
  args: readonly string[],
  onStart: (launcher: ChildProcess) => void = () => undefined,
  environment: Readonly<Record<string, string>> = {}
): Promise<Ended & { readonly milliseconds: number }> =>
  new Promise((resolve, reject) => {
    const started = performance.now()
    const asRoot = process.getuid?.() === 0 ? ['--allow-run-as-root'] : []
    const child = spawn(mpirun!, [...asRoot, '--oversubscribe', '--bind-to', 'none', '-n', `${size}`, process.execPath, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment }
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, stdout, stderr, milliseconds: performance.now() - started }))
    onStart(child)
  })

/** Processes of the command whose arguments hold a text, launchers aside, by their ids. */
export const ranksWith = (text: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const [program = '', ...args] = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
        return program === process.execPath && args.some((one) => one.includes(text))
      } catch {
        return false
      }
    })
    .map(Number)

/** The newest state in a folder, by its step; 0 where there is none. */
export const newestStep = (state: string): number =>
  existsSync(state) ? Math.max(0, ...readdirSync(state).map((name) => Number(/^step-(\d+)\.safetensors$/.exec(name)?.[1] ?? 0))) : 0
