import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Refusal } from './refusal'
import { tilefold } from './tilefold'

/** A step of VGG-16 in 16 x 16 tiles, and what of it no kernel accounts for. */
export interface LaunchOverhead {
  readonly precision: CheckPrecision
  readonly size: number
  /** Of the fastest step. */
  readonly stepMs: number
  /** Of all its launches, from a run of its own that measures each. */
  readonly kernelMs: number
  readonly launches: number
  /** Between launches: of the step's time, and microseconds a launch; below zero where measuring each launch costs more. */
  readonly share: number
  readonly microsecondsPerLaunch: number
  /** The fastest step of the same net untiled and unlimited, and tiled over untiled forward multiply-adds, minus one. */
  readonly untiledMs: E.Either<Refusal, number>
  readonly haloOverhead: number
}

const Steps = t.type({ stepMs: t.readonlyArray(t.number) })
const Broken = t.type({ breakdown: t.readonlyArray(t.type({ launches: t.number, measuredMs: t.number })) })
const Planned = t.type({ haloOverhead: t.number })

const tiled = join(__dirname, 'tiled-vgg16.js')
const fastest = ({ stepMs }: t.TypeOf<typeof Steps>): number => Math.min(...stepMs)

/** What tiling by 16 x 16 costs beside the kernels themselves, in each precision. */
export const runLaunchOverhead = async (
  { device, precisions, scale: { tiledSize: size, steps, mostSeconds } }: Check,
  deadline: Deadline
): Promise<readonly E.Either<Refusal, LaunchOverhead>[]> => {
  const measure = async (precision: CheckPrecision): Promise<E.Either<Refusal, LaunchOverhead>> => {
    const setup = ['--device', device, '--precision', precision, '--input', `1x3x${size}x${size}`]
    const ask = <A>(codec: t.Type<A, unknown>, ...args: readonly string[]) =>
      tilefold(codec, [...args, ...setup], deadline.atMost(mostSeconds))
    const [plan, timed, broken, untiled] = [
      await ask(Planned, 'plan', tiled),
      await ask(Steps, 'bench', tiled, '--steps', `${steps}`),
      await ask(Broken, 'bench', tiled, '--steps', `${steps}`, '--breakdown'),
      await ask(Steps, 'bench', 'vgg16', '--classes', '2', '--strategy', 'plain', '--steps', `${steps}`)
    ]
    return pipe(
      E.Do,
      E.apS('plan', plan),
      E.apS('timed', timed),
      E.apS('broken', broken),
      E.map(({ plan: { haloOverhead }, timed: steps, broken: { breakdown } }) => {
        const stepMs = fastest(steps)
        const kernelMs = breakdown.reduce((sum, { measuredMs }) => sum + measuredMs, 0)
        const launches = breakdown.reduce((sum, row) => sum + row.launches, 0)
        return {
          precision,
          size,
          stepMs,
          kernelMs,
          launches,
          share: (stepMs - kernelMs) / stepMs,
          microsecondsPerLaunch: ((stepMs - kernelMs) * 1000) / launches,
          untiledMs: E.map(fastest)(untiled),
          haloOverhead
        }
      })
    )
  }
  const rows: E.Either<Refusal, LaunchOverhead>[] = []
  for (const precision of precisions) rows.push(await measure(precision))
  return rows
}
