import { spawnSync } from 'node:child_process'
import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import type { Check } from './check-options'
import type { Deadline } from './deadline'
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

/** Bytes in use on CUDA's device 0, to a mebibyte. */
const usedBytes = (): E.Either<Refusal, number> => {
  const gpu = process.env.CUDA_VISIBLE_DEVICES?.split(',')[0]?.trim() || '0'
  const { stdout, error } = spawnSync('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits', `--id=${gpu}`], {
    encoding: 'utf8',
    timeout: 5000
  })
  const used = Number.parseInt(stdout ?? '', 10)
  return error === undefined && Number.isFinite(used) ? E.right(used * mebibyte) : E.left(refusal('nvidia-smi cannot be run here'))
}

const Benched = t.type({ stepMs: t.readonlyArray(t.number) })

/** VGG-16 in arenas of two sizes, with the driver asked over and over. */
export const runDriverMemory = async (
  { device, scale: { mostSeconds } }: Check,
  deadline: Deadline
): Promise<readonly E.Either<Refusal, DriverMemory>[]> => {
  if (device !== 'cuda') return [E.left(refusal(`the ${device} device has no driver that counts its memory`))]
  const before = usedBytes()
  if (E.isLeft(before)) return [before]
  const rows: E.Either<Refusal, DriverMemory>[] = []
  for (const arenaBytes of arenas) {
    let most = before.right
    const timer = setInterval(() => {
      const now = usedBytes()
      if (E.isRight(now)) most = Math.max(most, now.right)
    }, 100)
    const setup = ['--device', device, '--input', '1x3x256x256', '--strategy', 'plain', '--budget', `${arenaBytes}`]
    const benched = await tilefold(Benched, ['bench', 'vgg16', '--classes', '2', ...setup, '--steps', '200'], deadline.atMost(mostSeconds))
    clearInterval(timer)
    const grownBytes = most - before.right
    rows.push(E.map(() => ({ arenaBytes, grownBytes, besideBytes: grownBytes - arenaBytes }))(benched))
  }
  return rows
}
