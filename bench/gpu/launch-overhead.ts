import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Keep } from './keep'
import type { Refusal } from './refusal'
import { tilefold } from './tilefold'
import { tiledModule } from './tiled-module'

/** A step of VGG-16 in 16 x 16 tiles, and what of it no kernel accounts for. */
export interface LaunchOverhead {
  readonly precision: CheckPrecision
  readonly size: number
  /** Milliseconds of the fastest step. */
  readonly stepMs: number
  /**
   * Milliseconds of all launches that compute, each as long as the kernel takes alone: in rows of
   * launches, on a GPU replayed from a graph.
   */
  readonly kernelMs: number
  readonly launches: number
  /**
   * The step, which on a GPU is a graph's, over its kernels alone; and microseconds a launch
   * between them.
   */
  readonly ofKernels: number
  readonly microsecondsPerLaunch: number
  /**
   * The fastest step of the same net untiled and unlimited, and tiled over untiled forward
   * multiply-adds, minus one.
   */
  readonly untiledMs: E.Either<Refusal, number>
  readonly haloOverhead: E.Either<Refusal, number>
}

const Steps = t.type({ stepMs: t.readonlyArray(t.number) })
const Broken = t.type({ breakdown: t.readonlyArray(t.type({ launches: t.number, predictedMs: t.number, beside: t.boolean })) })
const Planned = t.type({ haloOverhead: t.number })

const fastest = ({ stepMs }: t.TypeOf<typeof Steps>): number => Math.min(...stepMs)

/** What tiling by 16 x 16 costs beside the kernels themselves, in each precision. */
export const runLaunchOverhead = async (
  { device, precisions, scale: { tiledSize: size, steps, mostSeconds } }: Check,
  deadline: Deadline,
  keep: Keep<E.Either<Refusal, LaunchOverhead>>
): Promise<readonly E.Either<Refusal, LaunchOverhead>[]> => {
  const measure = async (precision: CheckPrecision): Promise<E.Either<Refusal, LaunchOverhead>> => {
    const tiled = tiledModule(size)
    const setup = ['--device', device, '--precision', precision, '--input', `1x3x${size}x${size}`]
    const ask = <A>(codec: t.Type<A, unknown>, ...args: readonly string[]) =>
      tilefold(codec, [...args, ...setup], deadline.atMost(mostSeconds))
    const [broken, timed, untiled, plan] = [
      // First: it measures every kernel of its plan, and by these times the others plan the same.
      await ask(Broken, 'bench', tiled, '--steps', '1', '--measure', '--breakdown'),
      await ask(Steps, 'bench', tiled, '--steps', `${steps}`),
      // What follows is told where there is time for it.
      await ask(Steps, 'bench', 'vgg16', '--classes', '2', '--strategy', 'plain', '--steps', `${steps}`),
      await ask(Planned, 'plan', tiled)
    ]
    return pipe(
      E.Do,
      E.apS('timed', timed),
      E.apS('broken', broken),
      E.map(({ timed: steps, broken: { breakdown } }) => {
        const stepMs = fastest(steps)
        const computing = breakdown.filter(({ beside }) => !beside)
        const kernelMs = computing.reduce((sum, { predictedMs }) => sum + predictedMs, 0)
        const launches = computing.reduce((sum, row) => sum + row.launches, 0)
        return {
          precision,
          size,
          stepMs,
          kernelMs,
          launches,
          ofKernels: stepMs / kernelMs,
          microsecondsPerLaunch: ((stepMs - kernelMs) * 1000) / launches,
          untiledMs: E.map(fastest)(untiled),
          haloOverhead: E.map(({ haloOverhead }: t.TypeOf<typeof Planned>) => haloOverhead)(plan)
        }
      })
    )
  }
  const rows: E.Either<Refusal, LaunchOverhead>[] = []
  for (const precision of precisions) {
    rows.push(await measure(precision))
    keep(rows)
  }
  return rows
}
