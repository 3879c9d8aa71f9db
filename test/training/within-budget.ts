import { isLeft, isRight } from 'fp-ts/Either'
import * as assert from 'uvu/assert'
import { type Mesh, plannedRank, ranksOfGroup } from '../../src/plans/mesh'
import { stage, verify, verifyRanks, type Staged, type StageRequest, type StrategyName, type Training } from '../../staging'
import { requestFor, type Execution } from '../golden/execute'
import { must } from '../must'
import { assertTensorsClose } from '../properties/random-execution'
import type { Batch, Outcome } from './execute'
import { runShards } from './run-shards'

/** So fast that small images are shared too. */
const network = { bytesPerSecond: 1e12, latencySeconds: 1e-9 }

/**
 * The Programs of all ranks within a share of what plain needs on one in the middle, or within the
 * least that fits that one; undefined where its plan does not fit the others, which would then be
 * planned for.
 */
export const stageWithin = (
  execution: Execution,
  objective: Training,
  mesh: Mesh,
  share: number,
  strategy: StrategyName = 'auto'
): readonly Staged[] | undefined => {
  const count = ranksOfGroup(mesh)
  const on = (index: number, more: Partial<StageRequest>) => {
    const { device, ...request } = requestFor(execution, { ...objective, shard: { count, index, images: mesh.images ?? 1 } })
    return stage({ ...request, device: { ...device, network }, ...more })
  }
  const middle = plannedRank(mesh)
  const plain = on(middle, { strategy: 'plain' })
  // Of some networks no rank can have rows of its own.
  if (isLeft(plain)) return undefined
  const within = (bytes: number) => on(middle, { strategy, budget: { bytes } })
  const asked = Math.floor(share * plain.right.program.peakBytes)
  const found = within(asked)
  const bytes = isRight(found) ? asked : found.left.smallestFeasibleBudgetBytes!
  assert.ok(bytes >= asked)
  const { plan } = must(isRight(found) ? found : within(bytes))
  const all = Array.from({ length: count }, (_, index) => on(index, { given: plan, budget: { bytes } }))
  return all.every(isRight) ? all.map(must) : undefined
}

/**
 * Trains on ranks by their Programs, to the losses and tensors of one process, in the memory that
 * is planned; float64 differs by rounding alone.
 */
export const assertTrainAlike = async (
  execution: Execution,
  staged: readonly Staged[],
  updates: readonly (readonly Batch[])[],
  alone: Pick<Outcome, 'losses' | 'tensors'>
): Promise<void> => {
  staged.forEach(({ program }) => must(verify(program)))
  must(verifyRanks(staged.map(({ program }) => program)))
  const outcomes = await runShards(execution, staged, updates)
  for (const { tensors, staged: own, measuredPeakBytes } of outcomes) {
    assertTensorsClose(tensors, alone.tensors, 1e-12)
    const unused = own.program.peakBytes - measuredPeakBytes
    assert.ok(own.program.peakBytes <= own.budget! && unused >= 0 && unused < 4096, `${unused} bytes below the peak were not used`)
  }
  alone.losses.forEach((loss, step) => {
    const sum = outcomes.reduce((whole, { losses }) => whole + losses[step]!, 0)
    assert.ok(Math.abs(sum - loss) <= 1e-12 * Math.max(1, Math.abs(loss)), `step ${step}: loss ${sum} is not ${loss}`)
  })
}
