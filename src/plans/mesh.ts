import { type Training, microBatches } from '../../staging'
import type { SetupGraph } from './plan-network'

/** How ranks share an update: micro-batches beside each other, and parts of each image. */
export interface Mesh {
  readonly microBatches: number
  readonly rows: number
  /** Each rank keeps, and updates by, its slices of the optimizer state alone. */
  readonly shardsOptimizer?: true
}

const sharesText = ({ microBatches, rows }: Mesh): string => {
  const beside = `${microBatches} micro-batches beside each other`
  if (rows === 1 && microBatches > 1) return beside
  return microBatches === 1 ? `rows of each image, ${rows} parts` : `${beside}, and rows of each image, ${rows} parts`
}

/** How ranks share an update, in words. */
export const meshText = (mesh: Mesh): string => `${sharesText(mesh)}${mesh.shardsOptimizer ? '; the optimizer state is sharded' : ''}`

/** A training on a mesh, as the rank at an index has it of those that share rows. */
export const trainingOnMesh = (
  objective: Training,
  { microBatches: ranks, rows: count, shardsOptimizer }: Mesh,
  index: number
): Training => ({
  ...objective,
  ...(shardsOptimizer && { shardOptimizer: shardsOptimizer }),
  // Of one micro-batch there are no groups.
  ...((count === 1 || microBatches(objective) > 1) && { ranks }),
  ...(count > 1 && { shard: { count, index } })
})

/** A setup's training on a mesh, as the rank at an index has it of those that share rows. */
export const onMesh = (built: SetupGraph, mesh: Mesh, index: number): SetupGraph =>
  built.objective.kind === 'train' ? { ...built, objective: trainingOnMesh(built.objective, mesh, index) } : built

/** How ranks share the updates of a training. */
export const makeMesh = ({ shard, ranks, shardOptimizer }: Training): Mesh => ({
  microBatches: ranks ?? 1,
  rows: shard?.count ?? 1,
  ...(shardOptimizer && { shardsOptimizer: shardOptimizer })
})
