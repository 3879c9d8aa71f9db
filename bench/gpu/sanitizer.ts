import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { complaintOf, runProgram } from './bounded'
import type { Check } from './check-options'
import type { Deadline } from './deadline'
import { type Refusal, refusal, timeIsUp } from './refusal'

/** What compute-sanitizer says of some steps. */
export interface Sanitized {
  readonly tool: string
  readonly net: string
  readonly errors: number
  readonly seconds: number
}

const name = 'compute-sanitizer'
const tools = ['memcheck', 'racecheck'] as const

/** Steps in 16 x 16 tiles, and with batch normalisation; the third one is a graph's. */
const nets = [
  [join(__dirname, 'tiled-vgg16.js'), '--input', '1x3x64x64'],
  ['resnet18', '--input', '2x3x64x64', '--strategy', 'plain']
] as const

/** On PATH, or in a CUDA toolkit's folder. */
const sanitizer = (): string | undefined => {
  const toolkits = existsSync('/usr/local') ? readdirSync('/usr/local').filter((folder) => folder.startsWith('cuda')) : []
  const folders = [...(process.env.PATH ?? '').split(':'), ...toolkits.map((folder) => join('/usr/local', folder, 'bin'))]
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

const cli = join(__dirname, '..', '..', 'src', 'cli.js')

const run = async (
  program: string,
  tool: string,
  [net, ...setup]: (typeof nets)[number],
  seconds: number
): Promise<E.Either<Refusal, Sanitized>> => {
  const step = [cli, 'bench', net, '--device', 'cuda', ...setup, '--steps', '3']
  const ended = await runProgram(program, ['--tool', tool, '--target-processes', 'all', process.execPath, ...step], seconds)
  // One of each process.
  const summaries = [...(ended.stdout + ended.stderr).matchAll(/(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)/g)]
  const errors = summaries.reduce((sum, [, count]) => sum + Number(count), 0)
  // Steps that did not run to their end are not clean; what was found in them stands.
  return errors > 0 || (summaries.length > 0 && ended.status === 0)
    ? E.right({ tool, net, errors, seconds: ended.seconds })
    : E.left(refusal(`${tool} of ${net}: ${complaintOf(ended)}`))
}

/** Memory and race checks of whole steps, where the machine has compute-sanitizer. */
export const runSanitizer = async ({ device, scale }: Check, deadline: Deadline): Promise<readonly E.Either<Refusal, Sanitized>[]> => {
  if (device !== 'cuda') return [E.left(refusal(`${name} checks GPUs, not the ${device} device`))]
  const program = sanitizer()
  if (program === undefined) return [E.left(refusal(`there is no ${name} on PATH or in /usr/local/cuda*/bin`))]
  const rows: E.Either<Refusal, Sanitized>[] = []
  for (const tool of tools)
    for (const net of nets)
      rows.push(deadline.isOver() ? E.left(timeIsUp) : await run(program, tool, net, deadline.atMost(scale.mostSeconds)))
  return rows
}
