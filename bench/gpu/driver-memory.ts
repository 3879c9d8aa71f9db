import { spawnSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import type { Check } from './check-options'
import type { Deadline } from './deadline'
import type { Pytorch } from './pytorch'
import { type Refusal, refusal } from './refusal'
import { tilefold } from './tilefold'

/** What the driver counts while a step runs in an arena. */
export interface DriverMemory {
  readonly arenaBytes: number
  /** By how much the used memory of the GPU grows at most, from before the first arena. */
  readonly grownBytes: number
  /** Context, cuDNN's and cuBLAS's handles, and whatever else. */
  readonly besideBytes: number
}

const mebibyte = 2 ** 20
const arenas = [2 ** 30, 8 * 2 ** 30]

/**
 * What a step may take beside its arena, and by how much that may differ between arenas: a
 * constant, but for what libraries load.
 */
export const mostBesideBytes = 1024 * mebibyte
/** The most by which the bytes beside the arena may differ from arena to arena. */
export const mostBesideDifference = 64 * mebibyte

type Counted = E.Either<Refusal, number>

/** Bytes in use on CUDA's device 0, to a mebibyte. */
const countedBySmi = (): Counted => {
  const gpu = process.env.CUDA_VISIBLE_DEVICES?.split(',')[0]?.trim() || '0'
  const { stdout, error } = spawnSync('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits', `--id=${gpu}`], {
    encoding: 'utf8',
    timeout: 5000
  })
  const used = Number.parseInt(stdout ?? '', 10)
  return error === undefined && Number.isFinite(used) ? E.right(used * mebibyte) : E.left(refusal('nvidia-smi cannot be run here'))
}

const Used = t.type({ usedBytes: t.number })

const countedByPytorch = async ({ ask }: Pytorch): Promise<Counted> =>
  E.map(({ usedBytes }: t.TypeOf<typeof Used>) => usedBytes)(await ask(Used, { kind: 'memory' }, 10))

const Benched = t.type({ stepMs: t.readonlyArray(t.number) })

/**
 * VGG-16 in arenas of two sizes, with the driver asked over and over: through PyTorch, which takes
 * no time, or nvidia-smi.
 */
export const runDriverMemory = async (
  { device, precisions, scale: { mostSeconds } }: Check,
  pytorch: E.Either<Refusal, Pytorch>,
  deadline: Deadline
): Promise<readonly E.Either<Refusal, DriverMemory>[]> => {
  if (device !== 'cuda') return [E.left(refusal(`the ${device} device has no driver that counts its memory`))]
  const count = async (): Promise<Counted> => (E.isRight(pytorch) ? countedByPytorch(pytorch.right) : countedBySmi())
  const before = await count()
  if (E.isLeft(before)) return [before]
  /** The most that is counted until `done`. */
  const watch = async (done: Promise<unknown>): Promise<number> => {
    let [most, running] = [before.right, true]
    void done.finally(() => (running = false))
    while (running) {
      const now = await count()
      if (E.isRight(now)) most = Math.max(most, now.right)
      await setTimeout(20)
    }
    return most
  }
  const rows: E.Either<Refusal, DriverMemory>[] = []
  for (const arenaBytes of arenas) {
    const setup = ['--device', device, '--precision', precisions[0]!, '--input', '1x3x256x256', '--budget', `${arenaBytes}`]
    const args = ['bench', 'vgg16', '--classes', '2', ...setup, '--strategy', 'plain', '--steps', '500']
    const benched = tilefold(Benched, args, deadline.atMost(mostSeconds))
    const grownBytes = (await watch(benched)) - before.right
    rows.push(E.map(() => ({ arenaBytes, grownBytes, besideBytes: grownBytes - arenaBytes }))(await benched))
  }
  return rows
}
