/**
 * Checks Tilefold on this machine's GPU and measures it beside PyTorch: `./gpu-check [quick|full]`
 * in the bundle of bundle.ts; compiled code alone. Exit status: 0 where suite and parity hold and
 * compute-sanitizer, where there is one, found nothing, 1 where not, 2 for usage and where there is
 * no GPU.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import * as E from 'fp-ts/Either'
import { errorReason } from '../../src/failure'
import { runBatches } from './batches'
import { runBenchmarks } from './benchmark'
import { type Check, checkOptions, type PartName, partsBesidePytorch, usage } from './check-options'
import type { Deadline } from './deadline'
import { runDriverMemory } from './driver-memory'
import { gpuMissing } from './find-gpu'
import { runLaunchOverhead } from './launch-overhead'
import { markdown, verdictTable } from './markdown'
import { compileWorkloads, runNetworks } from './networks'
import { runOverlap } from './overlap'
import { makeManifest } from './packages'
import { runParity } from './parity'
import { runPredictions } from './predictions'
import { type Pytorch, startPytorch } from './pytorch'
import { refusal } from './refusal'
import { type Part, type Report, holds, plain } from './report'
import { runSanitizer } from './sanitizer'
import { makeSchedule, type Schedule } from './schedule'
import { runSuite } from './suite'
import { judgeReport } from './verdicts'

const say = (text: string): void => void process.stderr.write(`${text}\n`)

/** Whatever goes wrong in one part is that part's result; `keep` has what it finds meanwhile. */
const part = async <A>(title: string, run: (keep: (found: A) => void) => Promise<A>, keep: (part: Part<A>) => void): Promise<Part<A>> => {
  say(`${title} ...`)
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const found = await run((some) => keep({ seconds: seconds(), isUnfinished: true, found: E.right(some) })).then(E.right, (thrown) =>
    E.left(refusal(errorReason(thrown)))
  )
  return { seconds: seconds(), found }
}

const paths = { json: resolve('gpu-check.json'), markdown: resolve('gpu-check.md') }
type Texts = readonly (readonly [path: string, text: string])[]

const textsOf = (report: Report): Texts => [
  [paths.json, `${JSON.stringify(plain({ ...report, verdicts: judgeReport(report) }), null, 2)}\n`],
  [paths.markdown, markdown(report)]
]

/** Writes results; where one cannot be, nothing ends but a sentence says so. */
const writeTexts = (texts: Texts): boolean =>
  texts
    .map(([path, text]) => {
      try {
        writeFileSync(path, text)
        return true
      } catch (thrown) {
        say(`${path} cannot be written (${errorReason(thrown)}): results are written into the working folder`)
        return false
      }
    })
    .every(Boolean)

/** After each part and each row of it, so that a check that is ended leaves what it has. */
const write = (report: Report): Report => {
  writeTexts(textsOf(report))
  return report
}

type Found<Name extends PartName> = NonNullable<Report[Name]> extends Part<infer A> ? A : never
type RunPart<A> = (deadline: Deadline, keep: (rows: A) => void) => Promise<A>

const emptyReport = (check: Check): Report => ({
  version: makeManifest(join(__dirname, '..', '..')).version,
  date: new Date().toISOString(),
  check,
  pytorch: E.left(refusal('not run'))
})

const runCheck = async (begun: Report, { until, postpone }: Schedule): Promise<Report> => {
  const { check } = begun
  let report = begun
  const run = async <Name extends PartName>(name: Name, title: string, found: RunPart<Found<Name>>): Promise<void> => {
    const keep = (some: Part<Found<Name>>): void => void (report = write({ ...report, [name]: some }))
    if (check.parts.includes(name)) keep(await part(title, (rows) => found(until(name), rows), keep))
  }
  const compiled = check.compile && check.parts.includes('networks') ? compileWorkloads(check) : []
  // Torch takes its time to load from a cold disk; the suite is not timed.
  const [pytorch] = await Promise.all([
    check.parts.some((name) => partsBesidePytorch.includes(name))
      ? startPytorch(check.python, check.device)
      : E.left(refusal('no part that was asked for needs it')),
    run('suite', 'device suite', (end) => runSuite(check, end))
  ])
  if (E.isLeft(pytorch)) say(`no PyTorch: ${pytorch.left.message}`)
  report = write({ ...report, pytorch: E.map(({ version, device, memoryBytes }: Pytorch) => ({ version, device, memoryBytes }))(pytorch) })
  try {
    await run('parity', 'parity', (end) => runParity(check, pytorch, end))
    await run('sanitizer', 'compute-sanitizer', (end) => runSanitizer(check, end))
    const ready = performance.now()
    await Promise.all(compiled.map(({ peer }) => peer))
    // Compiling has minutes of its own: what was waited for it is no part's.
    postpone((performance.now() - ready) / 1000)
    // First of all that is timed: later plans choose by the times that it measures.
    await run('predictions', 'profiles', (end, keep) => runPredictions(check, end, keep))
    const profiles = report.predictions !== undefined && E.isRight(report.predictions.found) ? report.predictions.found.right : []
    await run('networks', 'networks', (end, keep) => runNetworks(check, pytorch, compiled, end, keep))
    await run('benchmarks', 'training steps', (end, keep) => runBenchmarks(check, pytorch, end, keep))
    await run('launchOverhead', '16 x 16 tiles', (end, keep) => runLaunchOverhead(check, end, keep))
    await run('overlap', 'transfers', (end, keep) => runOverlap(check, profiles, end, keep))
    await run('batches', `${check.scale.batches.network.name} in batches`, (end, keep) => runBatches(check, pytorch, end, keep))
    await run('driverMemory', "the driver's memory", (end) => runDriverMemory(check, pytorch, end))
    return report
  } finally {
    if (E.isRight(pytorch)) pytorch.right.close()
    // Those whose turn never came.
    compiled.forEach(({ peer }) => void peer.then((one) => E.isRight(one) && one.right.close()))
  }
}

/** What starting, writing and ending take of the time that was promised. */
const slackSeconds = 15

const main = async (args: readonly string[]): Promise<number> => {
  const check = checkOptions(args)
  if (E.isLeft(check)) {
    say(`${check.left}.`)
    return 2
  }
  if (check.right === undefined) {
    say(usage)
    return 0
  }
  // The device cuda looks for cuDNN and cuBLAS beside each python3 on PATH.
  if (check.right.python.includes('/')) process.env.PATH = `${dirname(resolve(check.right.python))}:${process.env.PATH ?? ''}`
  const seconds = Math.max(1, check.right.minutes * 60 - slackSeconds)
  const schedule = makeSchedule(check.right, seconds)
  const missing = check.right.device === 'cuda' ? await gpuMissing(Math.min(seconds, 2 * check.right.scale.mostSeconds)) : undefined
  if (missing !== undefined) {
    say(missing)
    return 2
  }
  // Before minutes of a GPU are spent on what would then be lost.
  const begun = emptyReport(check.right)
  if (!writeTexts(textsOf(begun))) return 2
  // Profiles of its own: what was measured here before decides nothing.
  const cache = mkdtempSync(join(tmpdir(), 'tilefold-profiles-'))
  process.once('exit', () => rmSync(cache, { recursive: true, force: true }))
  process.env.XDG_CACHE_HOME = cache
  const report = await runCheck(begun, schedule)
  say(verdictTable(judgeReport(report)))
  process.stdout.write(`${paths.json}\n${paths.markdown}\n`)
  return holds(report) ? 0 : 1
}

// Programs that run end with this one.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
process.once('SIGHUP', () => process.exit(129))
// A Python that does not end when it is asked to holds nothing up.
void main(process.argv.slice(2)).then((status) => process.exit(status))
