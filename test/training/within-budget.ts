import { isLeft, isRight } from 'fp-ts/Either'
import * as assert from 'uvu/assert'
import { type Mesh, plannedRank, ranksOfGroup } from '../../src/plans/mesh'
import { stage, type Staged, type StageRequest, type StrategyName, type Training } from '../../staging'
import { requestFor, type Execution } from '../golden/execute'
import { must } from '../must'

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
  if (!all.every(isRight)) return undefined
  const staged = all.map(must)
  for (const { program } of staged) assert.ok(program.peakBytes <= bytes, `${program.peakBytes} bytes are planned within ${bytes}`)
  return staged
}
