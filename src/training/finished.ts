import { existsSync } from 'node:fs'
import * as E from 'fp-ts/Either'
import * as T from 'fp-ts/Task'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { elementCount } from '../../staging/graph/extents'
import type { Outcome } from '../failure'
import { type TensorFile, openTensorFile, readTensor } from '../weights/safetensors'
import type { TrainedRecord } from './loop'
import type { PreparedTraining } from './prepare'
import { type TrainingRecord, bestSoFar, isExhausted } from './state/record'

const readWhole = (file: TensorFile, name: string): Outcome<Float64Array> => {
  const values = new Float64Array(elementCount(file.tensors.get(name)?.shape ?? []))
  return TE.map(() => values)(readTensor(file, name, values))
}

/** Tells whether a tensor is in both files, and the same. */
const isSameTensor = (one: TensorFile, other: TensorFile, name: string): T.Task<boolean> =>
  pipe(
    TE.Do,
    TE.bind('a', () => readWhole(one, name)),
    TE.bind('b', () => readWhole(other, name)),
    TE.match(
      () => false,
      ({ a, b }) => a.length === b.length && Buffer.compare(Buffer.from(a.buffer), Buffer.from(b.buffer)) === 0
    )
  )

/** Tells whether a file holds the weights of a state: a crash may have left those of others. */
const holdsWeights =
  (path: string, state: TensorFile): T.Task<boolean> =>
  async () => {
    const opened = await openTensorFile(path)()
    if (E.isLeft(opened)) return false
    for (const name of opened.right.tensors.keys()) if (!(await isSameTensor(opened.right, state, name)())) return false
    return true
  }

/** Whether neither steps are left nor the last validation. */
const isComplete = ({ request: { options }, steps, validation }: PreparedTraining, record: TrainingRecord): boolean => {
  const done = record.loss.length
  const isOver = done >= steps || isExhausted(record, options.bestBy ?? 'loss', options.earlyStop)
  return done > 0 && isOver && (validation === undefined || record.validations.at(-1)?.step === done)
}

/**
 * What a training has that is over, all of whose results are where they are wanted: then nothing is
 * left to do. Ranks, the first of which alone reads states, go through it together as ever.
 */
export const findFinished =
  (prepared: PreparedTraining): T.Task<TrainedRecord | undefined> =>
  async () => {
    const { request, state, steps } = prepared
    const { save, best, bestBy = 'loss', report, metrics } = request.options
    if (state?.file === undefined || request.ranks !== undefined || !isComplete(prepared, state.record)) return undefined
    if (![save, report, metrics].every((path) => path === undefined || existsSync(path))) return undefined
    const done = state.record.loss.length
    const isBest = bestSoFar(state.record, bestBy)?.step === done
    for (const path of [save, isBest ? best : undefined])
      if (path !== undefined && !(await holdsWeights(path, state.file)())) return undefined
    const asked = done > steps ? `, where ${steps} are asked for` : ` of ${steps}`
    request.notify(`the training is finished after step ${done}${asked}: ${save ?? state.file.path} holds its weights`)
    return { ...state.record, peakDeviceBytes: 0 }
  }
