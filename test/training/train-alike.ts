import * as assert from 'uvu/assert'
import { verify, verifyRanks, type Staged } from '../../staging'
import type { Execution } from '../golden/execute'
import { must } from '../must'
import { assertTensorsClose } from '../properties/random-execution'
import type { Batch, Outcome } from './execute'
import { runShards } from './run-shards'

/** By how much numbers may differ, of losses over the larger of them and 1. */
export interface Tolerance {
  readonly tensors: number
  readonly losses: number
}

/** Float64 differs by rounding alone. */
const rounding: Tolerance = { tensors: 1e-12, losses: 1e-12 }

/**
 * Trains on ranks by their Programs, which are proved, to the losses and tensors of one process, in
 * the memory that is planned.
 */
export const assertTrainAlike = async (
  execution: Execution,
  staged: readonly Staged[],
  updates: readonly (readonly Batch[])[],
  alone: Pick<Outcome, 'losses' | 'tensors'>,
  tolerance = rounding
): Promise<void> => {
  staged.forEach(({ program }) => must(verify(program)))
  must(verifyRanks(staged.map(({ program }) => program)))
  const outcomes = await runShards(execution, staged, updates)
  for (const { tensors, staged: own, measuredPeakBytes } of outcomes) {
    assertTensorsClose(tensors, alone.tensors, tolerance.tensors)
    const unused = own.program.peakBytes - measuredPeakBytes
    assert.ok(unused >= 0 && unused < 4096, `${unused} bytes below the peak were not used`)
  }
  alone.losses.forEach((loss, step) => {
    const sum = outcomes.reduce((whole, { losses }) => whole + losses[step]!, 0)
    assert.ok(Math.abs(sum - loss) <= tolerance.losses * Math.max(1, Math.abs(loss)), `step ${step}: loss ${sum} is not ${loss}`)
  })
}
