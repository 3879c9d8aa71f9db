import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as E from 'fp-ts/Either'
import { type ProcessResult, describeEnd, runProgram } from './bounded'
import { lanes, untimedAtOnce } from './at-once'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import { type Refusal, refusal, timeIsUp } from './refusal'
import { tiledModule } from './tiled-module'

/** What compute-sanitizer says of some steps. */
export interface Sanitized {
  readonly tool: 'memcheck' | 'racecheck'
  readonly net: string
  readonly precision: CheckPrecision
  readonly found: E.Either<Refusal, Found>
}

interface Found {
  readonly errors: number
  readonly seconds: number
  /** Its first words on the errors, and how the steps ended where they did not run to their end. */
  readonly words: readonly string[]
}

const name = 'compute-sanitizer'

/**
 * Races are looked for in our kernels alone, by a part of their names: NVIDIA's own synchronise by
 * means that it takes for none.
 */
const tools = [
  { tool: 'memcheck', options: [] },
  { tool: 'racecheck', options: ['--kernel-name', 'kns=tilefold'] }
] as const

/**
 * Steps in tiles, with batch normalisation, and with joins, resizing and a class for each pixel;
 * the third step is a graph's.
 */
const nets = [
  [tiledModule(64), '--input', '1x3x64x64'],
  ['resnet18', '--input', '2x3x64x64', '--strategy', 'plain'],
  ['deeplabv3plus', '--input', '2x3x64x64', '--strategy', 'plain']
] as const

/** On PATH, or in a CUDA toolkit's folder. */
const sanitizer = (): string | undefined => {
  const toolkits = existsSync('/usr/local') ? readdirSync('/usr/local').filter((folder) => folder.startsWith('cuda')) : []
  const folders = [...(process.env.PATH ?? '').split(':'), ...toolkits.map((folder) => join('/usr/local', folder, 'bin'))]
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

const cli = join(__dirname, '..', '..', 'src', 'cli.js')

const mostWords = 8

/** Neither its banner, nor where the host was, nor that it counts. */
const isOfAnError = (words: string): boolean =>
  words !== '' && !/^(COMPUTE-SANITIZER|Saved host backtrace|Host Frame|in \/|\w+ SUMMARY:|Target application returned)/.test(words)

const wordsOf = (ended: ProcessResult): readonly string[] => {
  const all = [...(ended.stdout + ended.stderr).matchAll(/^={9}(.*)$/gm)].map(([, words]) => words!.trim()).filter(isOfAnError)
  return [...all.slice(0, mostWords), ...(ended.status === 0 ? [] : [`The steps: ${describeEnd(ended)}`])]
}

type Tool = (typeof tools)[number]

const run = async (
  program: string,
  { tool, options }: Tool,
  [net, ...setup]: (typeof nets)[number],
  precision: CheckPrecision,
  seconds: number
): Promise<Sanitized['found']> => {
  const step = [cli, 'bench', net, '--device', 'cuda', '--precision', precision, ...setup, '--steps', '3']
  const ended = await runProgram(program, ['--tool', tool, ...options, '--target-processes', 'all', process.execPath, ...step], seconds)
  // One of each process.
  const summaries = [...(ended.stdout + ended.stderr).matchAll(/(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)/g)]
  const errors = summaries.reduce((sum, [, count]) => sum + Number(count), 0)
  // Steps that did not run to their end are not clean; what was found in them stands.
  return errors > 0 || (summaries.length > 0 && ended.status === 0)
    ? E.right({ errors, seconds: ended.seconds, words: errors > 0 ? wordsOf(ended) : [] })
    : E.left(refusal(describeEnd(ended)))
}

/** The networks that are checked: in a quick check one for each precision, another for each. */
const netsOf = (mode: Check['mode'], precisions: readonly CheckPrecision[], precision: CheckPrecision) =>
  mode === 'quick' ? [nets[precisions.indexOf(precision) % nets.length]!] : nets

/**
 * Memory and race checks of whole steps, several at once. Throws where the machine has no
 * compute-sanitizer.
 */
export const runSanitizer = async ({ device, mode, precisions, scale }: Check, deadline: Deadline): Promise<readonly Sanitized[]> => {
  if (device !== 'cuda') throw new Error(`${name} checks GPUs, not the ${device} device`)
  const program = sanitizer()
  if (program === undefined) throw new Error(`there is no ${name} on PATH or in /usr/local/cuda*/bin`)
  const oneOfSome = lanes(untimedAtOnce)
  const check = async (tool: Tool, net: (typeof nets)[number], precision: CheckPrecision): Promise<Sanitized> => ({
    tool: tool.tool,
    net: basename(net[0], '.js'),
    precision,
    found: await oneOfSome(async () =>
      deadline.isOver() ? E.left(timeIsUp) : run(program, tool, net, precision, deadline.atMost(2 * scale.mostSeconds))
    )
  })
  return Promise.all(
    tools.flatMap((tool) =>
      precisions.flatMap((precision) => netsOf(mode, precisions, precision).map((net) => check(tool, net, precision)))
    )
  )
}
