import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import type { Numbers } from '../running/step-io'
import { openTensorFile, readTensor } from './safetensors'

/** A tensor as a file has it: its type in the words of safetensors, and its shape. */
export interface StoredTensor {
  readonly type: string
  readonly shape: readonly number[]
}

/** A file of weights, of which no tensor is in memory yet. */
export interface WeightFile {
  readonly path: string
  readonly tensors: ReadonlyMap<string, StoredTensor>
  /** Reads one tensor into `target`, of as many elements, and converts it to the target's type. */
  readonly read: (name: string, target: Numbers) => Outcome<void>
}

/** Reads and checks what a weights file says of its tensors. */
export const openWeightFile = (path: string): Outcome<WeightFile> =>
  pipe(
    openTensorFile(path),
    TE.map((file) => ({ path, tensors: file.tensors, read: (name, target) => readTensor(file, name, target) }))
  )
