import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { parseArgs } from 'node:util'
import { errorReason } from '../../src/failure'
import { type Mode, type Scale, modes, chooseScale } from './scale'

/** What a GPU is checked in, in this order: float32 last, whose steps take the longest. */
const gpuPrecisions = ['tf32', 'bf16', 'float32'] as const

/** A precision in which a GPU is checked. */
export type CheckPrecision = (typeof gpuPrecisions)[number]

/**
 * The share of the whole time that is kept for each part, in the order in which they run: what one
 * does not take the next ones may.
 */
export const shares = {
  suite: 0.2,
  parity: 0.07,
  sanitizer: 0.08,
  predictions: 0.1,
  networks: 0.19,
  benchmarks: 0.14,
  launchOverhead: 0.06,
  overlap: 0.04,
  batches: 0.09,
  driverMemory: 0.03
} as const

/** A part of the check. */
export type PartName = keyof typeof shares

/** All parts, in the order in which they run. */
export const partNames = Object.keys(shares) as readonly PartName[]

/** Parts that measure beside PyTorch, or ask it what the driver counts. */
export const partsBesidePytorch: readonly PartName[] = ['parity', 'networks', 'benchmarks', 'batches', 'driverMemory']

/** How the check is called, and what it does. */
export const usage = `gpu-check [${modes.join('|')}] [--parts PART,...] [--precision ${gpuPrecisions.join('|')}]
          [--compile] [--python python3] [--minutes N] [--device cuda|cpu]

Runs the device suite, compares gradients with float64, measures and records the GPU, and times VGG-16 and growing batches of ResNet-50 beside
the PyTorch that python3 has, and what tiles, transfers and memory cost; quick takes at most 8 minutes, tiny goes through everything at tiny
sizes, as --device cpu does, to test the check. --parts leaves out all others of ${partNames.join(', ')};
overlap takes predictions with it, which measure the link.
--compile lets torch.compile work at the networks first, in up to four minutes more. Writes gpu-check.json, gpu-check.md, which begins with verdicts, and for each precision
gpu-check-PRECISION.json, a device file, into the working folder.`

/** What is checked, and how much of it. */
export interface Check {
  readonly mode: Mode
  readonly device: 'cuda' | 'cpu'
  readonly precisions: readonly CheckPrecision[]
  /** In the order in which they run. */
  readonly parts: readonly PartName[]
  /** Whether PyTorch's networks are compiled too. */
  readonly compile: boolean
  readonly python: string
  readonly minutes: number
  readonly scale: Scale
}

const oneOf = <const A extends string>(what: string, text: string, values: readonly A[]): E.Either<string, A> =>
  pipe(
    E.right(values.find((value) => value === text)),
    E.chain((found) => (found === undefined ? E.left(`${what} is ${text}, not ${values.join(' or ')}`) : E.right(found)))
  )

const options = {
  precision: { type: 'string' },
  parts: { type: 'string', default: partNames.join(',') },
  compile: { type: 'boolean', default: false },
  python: { type: 'string', default: 'python3' },
  minutes: { type: 'string' },
  device: { type: 'string', default: process.env.TILEFOLD_CHECK_DEVICE ?? 'cuda' },
  help: { type: 'boolean', default: false }
} as const

/** The command line of a check; undefined where it asks for help. */
export const checkOptions = (args: readonly string[]): E.Either<string, Check | undefined> =>
  pipe(
    E.tryCatch(() => parseArgs({ args: [...args], options, allowPositionals: true }), errorReason),
    E.chain(({ values: { precision, parts, compile, python, minutes, device: deviceName, help }, positionals }) =>
      help
        ? E.right(undefined)
        : pipe(
            E.Do,
            E.bind('mode', () =>
              positionals.length > 1
                ? E.left(`give ${modes.join(' or ')}, not ${positionals.join(' ')}`)
                : oneOf('the mode', positionals[0] ?? 'quick', modes)
            ),
            E.bind('device', () => oneOf('--device', deviceName, ['cuda', 'cpu'])),
            E.bind('precisions', ({ device }): E.Either<string, readonly CheckPrecision[]> => {
              if (device === 'cpu')
                return precision === undefined || precision === 'float32'
                  ? E.right(['float32'])
                  : E.left(`--precision ${precision}: the cpu computes in float32`)
              return precision === undefined
                ? E.right(gpuPrecisions)
                : E.map((one: CheckPrecision) => [one])(oneOf('--precision', precision, gpuPrecisions))
            }),
            E.bind('parts', () =>
              pipe(
                parts.split(','),
                E.traverseArray((part) => oneOf('--parts', part, partNames)),
                // Transfers are held beside the link's rates, which profiles have.
                E.map((named) => (named.includes('overlap') ? [...named, 'predictions'] : named)),
                E.map((named) => partNames.filter((part) => named.includes(part)))
              )
            ),
            E.let('scale', ({ device, mode }) => chooseScale(device, mode)),
            E.bind('minutes', ({ scale }) =>
              minutes === undefined || Number(minutes) > 0
                ? E.right(Number(minutes ?? scale.minutes))
                : E.left(`--minutes is ${minutes}, not a number above zero`)
            ),
            E.let('compile', () => compile),
            E.let('python', () => python)
          )
    )
  )
