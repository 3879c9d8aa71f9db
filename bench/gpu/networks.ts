import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { median } from '../median'
import type { Check, CheckPrecision } from './check-options'
import type { Deadline } from './deadline'
import type { Keep } from './keep'
import { type Pytorch, startPytorch } from './pytorch'
import { prepareCompiled, stepPrepared, trainPytorch, ways } from './pytorch-training'
import { type Refusal, timeIsUp, unlessOver } from './refusal'
import { setupOf, tilefold } from './tilefold'
import type { Workload } from './workload'

/** Who takes steps, and in which part of plain's memory. */
export type Contender = 'plain' | 'in a fifth' | 'PyTorch' | 'PyTorch, compiled'

/** One contender's step of one workload, or why there is none. */
export interface NetworkStep extends Workload {
  readonly precision: CheckPrecision
  readonly contender: Contender
  readonly timing: E.Either<
    Refusal,
    {
      readonly medianMs: number
      /** null where nobody predicts or counts. */
      readonly predictedMs: number | null
      readonly peakBytes: number | null
    }
  >
}
type Timing = NetworkStep['timing']

const classes = 2

/** The first steps warm up: the second makes a graph. */
const warming = 2

const Benched = t.type({ stepMs: t.readonlyArray(t.number), predictedStepMs: t.number, peakDeviceBytes: t.number })

const ours = { plain: ['--strategy', 'plain'], 'in a fifth': ['--strategy', 'auto', '--budget', '20%'] } as const

const byTilefold = async (
  { device, scale: { steps } }: Check,
  { model, batch, size }: Workload,
  precision: CheckPrecision,
  contender: keyof typeof ours,
  seconds: number
): Promise<Timing> => {
  const setup = setupOf({ classes, device, precision, batch, size })
  const args = ['bench', model, ...setup, ...ours[contender], '--no-measure', '--steps', `${steps + warming}`]
  return pipe(
    await tilefold(Benched, args, seconds),
    E.map(({ stepMs, predictedStepMs, peakDeviceBytes }: t.TypeOf<typeof Benched>) => ({
      medianMs: median(stepMs.slice(warming)),
      predictedMs: predictedStepMs,
      peakBytes: peakDeviceBytes
    }))
  )
}

const [, channelsLast] = ways.plain

const trainingOf = (workload: Workload, precision: CheckPrecision) => ({ ...workload, classes, precision, memoryBytes: null }) as const

const timingOf = ({ ms, peakBytes }: { readonly ms: readonly number[]; readonly peakBytes: number | null }) => ({
  medianMs: median(ms.slice(warming)),
  predictedMs: null,
  peakBytes
})

/** A workload's step by torch.compile, in a process of its own that compiled it meanwhile. */
export interface CompiledPeer extends Workload {
  readonly precision: CheckPrecision
  readonly peer: Promise<E.Either<Refusal, Pytorch>>
}

/** Those that a GPU has tensor cores for, where there are any among them. */
const timedPrecisions = (precisions: readonly CheckPrecision[]): readonly CheckPrecision[] =>
  precisions.some((one) => one !== 'float32') ? precisions.filter((one) => one !== 'float32') : precisions

/** What torch.compile takes of a network at most, many at once. */
const compileSeconds = 240

/** Lets torch.compile work at every workload at once, beside what is not timed. */
export const compileWorkloads = ({ python, device, precisions, scale: { workloads } }: Check): readonly CompiledPeer[] =>
  timedPrecisions(precisions).flatMap((precision) =>
    workloads.map((workload) => ({
      ...workload,
      precision,
      peer: (async () => {
        const peer = await startPytorch(python, device)
        if (E.isLeft(peer)) return peer
        const prepared = await prepareCompiled(peer.right, channelsLast, trainingOf(workload, precision), compileSeconds)
        if (E.isLeft(prepared)) peer.right.close()
        return E.map(() => peer.right)(prepared)
      })()
    }))
  )

/**
 * Steps of networks as they are and in a fifth of plain's memory, planned without a profile,
 * beside PyTorch's in channels_last, as it is and by torch.compile; turn by turn. A GPU's in tf32
 * and bf16.
 */
export const runNetworks = async (
  check: Check,
  pytorch: E.Either<Refusal, Pytorch>,
  compiled: readonly CompiledPeer[],
  deadline: Deadline,
  keep: Keep<NetworkStep>
): Promise<readonly NetworkStep[]> => {
  const { precisions, scale } = check
  const { workloads, steps, mostSeconds } = scale
  const rows: NetworkStep[] = []
  for (const precision of timedPrecisions(precisions))
    for (const workload of workloads) {
      const take = async (contender: Contender, run: (seconds: number) => Promise<Timing>): Promise<void> => {
        const timing = deadline.isOver() ? E.left(timeIsUp) : unlessOver(deadline, await run(deadline.atMost(mostSeconds)))
        rows.push({ ...workload, precision, contender, timing })
        keep(rows)
      }
      for (const contender of ['plain', 'in a fifth'] as const)
        await take(contender, (seconds) => byTilefold(check, workload, precision, contender, seconds))
      if (E.isLeft(pytorch)) continue
      await take('PyTorch', async (seconds) =>
        E.map(timingOf)(
          await trainPytorch(pytorch.right, channelsLast, { ...trainingOf(workload, precision), steps: steps + warming }, seconds)
        )
      )
      const own = compiled.find(
        (one) => one.model === workload.model && one.batch === workload.batch && one.size === workload.size && one.precision === precision
      )
      if (own === undefined) continue
      await take('PyTorch, compiled', async (seconds) => {
        const peer = await own.peer
        if (E.isLeft(peer)) return peer
        const stepped = await stepPrepared(peer.right, steps + warming, seconds)
        peer.right.close()
        return E.map(timingOf)(stepped)
      })
    }
  return rows
}
