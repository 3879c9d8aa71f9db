import { tensorText, type BufferIdentity, type NodeBuffer } from '../ir/buffer-identity'
import { memoizePerObject } from '../../memoize'
import type { Buffer, Pool, UnplacedInstruction } from '../ir/builder'
import { collectUses } from '../ir/buffer-uses'

/** A step's code with the positions at which its timepoints begin (see SwapInterval in plan.ts). */
export interface StepCode {
  readonly code: readonly UnplacedInstruction[]
  /** Number of nodes of the graph; there are twice as many timepoints. */
  readonly nodes: number
  readonly timepoints: ReadonlyMap<number, number>
}

/** By timepoint: where it begins, or the next one that comes. */
const timepointStarts = memoizePerObject(
  () => 0,
  ({ code, nodes, timepoints }: StepCode): Int32Array => {
    const starts = new Int32Array(2 * nodes + 1).fill(code.length)
    for (let at = 2 * nodes - 1; at >= 0; at--) starts[at] = timepoints.get(at) ?? starts[at + 1]!
    return starts
  }
)

/**
 * Position of the first instruction of a timepoint, or of the next one that comes: what a tiled
 * segment runs has one timepoint in all.
 */
export const findTimepointStart = (step: StepCode, timepoint: number): number => timepointStarts(step)[timepoint] ?? step.code.length

/** A tensor that backward reads and forward made; positions in the step's code. */
export interface SavedTensor {
  /** Name of the tensor, as plans have it. */
  readonly name: string
  readonly identity: NodeBuffer
  readonly buffer: Buffer
  /** First and last instruction that touches it. */
  readonly from: number
  readonly to: number
  /**
   * The last that writes it, and that uses it at all, in forward; the first that uses it in
   * backward.
   */
  readonly written: number
  readonly forward: number
  readonly backward: number
  /** All that use it in backward. */
  readonly reads: readonly number[]
}

/**
 * Kinds of tensors that a swapSchedule can name (see SwapInterval in plan.ts); statistics and
 * copies of parts stay on the device.
 */
const savedKinds: readonly BufferIdentity['kind'][] = ['output', 'indices', 'input']

const isSwappable = (identity: BufferIdentity): identity is NodeBuffer =>
  savedKinds.includes(identity.kind) && 'node' in identity && (identity.form === 'tile' || identity.form === 'whole')

/**
 * Returns the tensors that a step saves from forward to backward, in the order in which they are
 * made: all that may wait on the host between. Where ranks share rows, and a layer's own are beside
 * what all that reads it needs, the name is the latter's, so that it is on every rank.
 */
export const savedTensors = (step: StepCode, pool: Pick<Pool, 'kernels'>): readonly SavedTensor[] => {
  const backwardStart = findTimepointStart(step, step.nodes)
  const all = collectUses(step.code, pool, isSwappable).flatMap(({ buffer, at, written }) =>
    isSwappable(buffer.identity) ? [{ at, written, buffer, identity: buffer.identity, name: tensorText(buffer.identity) }] : []
  )
  const wholes = new Set(all.filter(({ identity }) => identity.form === 'whole').map(({ name }) => name))
  return all.flatMap(({ at, written, identity, name, buffer }): readonly SavedTensor[] => {
    const reads = at.filter((position) => position >= backwardStart)
    const [forward, backward] = [at.findLast((position) => position < backwardStart), reads[0]]
    if (identity.form !== 'whole' && wholes.has(name)) return []
    if (forward === undefined || backward === undefined || written >= backwardStart) return []
    return [{ name, identity, buffer, from: at[0]!, to: at.at(-1)!, written, forward, backward, reads }]
  })
}
