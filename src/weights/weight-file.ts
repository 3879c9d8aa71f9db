import type { Outcome } from '../failure'
import type { Target } from './element-types'

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
  readonly read: (name: string, target: Target) => Outcome<void>
  /** Texts that the file has beside its tensors; empty where its format has none. */
  readonly metadata: Readonly<Record<string, string>>
  /** Sentences on what of it is read otherwise than it stands there. */
  readonly notices: readonly string[]
}
