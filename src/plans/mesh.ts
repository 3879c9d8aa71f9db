import * as t from 'io-ts'
import { type Objective, type Training, microBatches } from '../../staging'

/** How ranks share an update: micro-batches beside each other, and parts of each. */
export interface Mesh {
  readonly microBatches: number
  /** Parts into which the rows of each image are shared. */
  readonly rows: number
  /** Parts into which the images of each micro-batch are shared; 1 where absent. */
  readonly images?: number
  /** Each rank keeps, and updates by, its slices of the optimizer state alone. */
  readonly shardsOptimizer?: true
}

/** Codec of a mesh. */
export const meshCodec = t.readonly(
  t.intersection([t.type({ microBatches: t.Int, rows: t.Int }), t.partial({ images: t.Int, shardsOptimizer: t.literal(true) })]),
  'mesh'
)

/** Ranks that share a micro-batch. */
export const ranksOfGroup = ({ rows, images = 1 }: Mesh): number => rows * images

const sharesText = (mesh: Mesh): string => {
  const { microBatches, rows, images = 1 } = mesh
  if (microBatches * images * rows === 1) return 'alone'
  return [
    ...(microBatches > 1 ? [`${microBatches} micro-batches beside each other`] : []),
    ...(images > 1 ? [`images of each micro-batch, ${images} parts`] : []),
    ...(rows > 1 ? [`rows of each image, ${rows} parts`] : [])
  ].join(', and ')
}

/** How ranks share an update, in words. */
export const meshText = (mesh: Mesh): string => `${sharesText(mesh)}${mesh.shardsOptimizer ? '; the optimizer state is sharded' : ''}`

/** A training on a mesh, as the rank at an index has it of those that share a micro-batch. */
export const trainingOnMesh = (objective: Training, mesh: Mesh, index: number): Training => {
  const { microBatches: ranks, images = 1, shardsOptimizer } = mesh
  const count = ranksOfGroup(mesh)
  return {
    ...objective,
    ...(shardsOptimizer && { shardOptimizer: shardsOptimizer }),
    // Of one micro-batch there are no groups.
    ...((count === 1 || microBatches(objective) > 1) && { ranks }),
    ...(count > 1 && { shard: { count, index, ...(images > 1 && { images }) } })
  }
}

/**
 * The rank of a group that is planned for: the earlier of the two in the middle of those with the
 * first images, which have rows of others on either side; earlier ranks have no fewer.
 */
export const plannedRank = ({ rows }: Mesh): number => (rows - 1) >> 1

/** A setup's training on a mesh, as the rank at an index of a group has it. */
export const onMesh = <B extends { readonly objective: Objective }>(built: B, mesh: Mesh, index: number): B =>
  built.objective.kind === 'train' ? { ...built, objective: trainingOnMesh(built.objective, mesh, index) } : built

/** How ranks share what a step is for; undefined where one process has it all. */
export const meshOf = (objective: Objective): Mesh | undefined =>
  objective.kind === 'train' && (objective.shard ?? objective.ranks) !== undefined ? makeMesh(objective) : undefined

/** How ranks share the updates of a training. */
export const makeMesh = ({ shard, ranks, shardOptimizer }: Training): Mesh => ({
  microBatches: ranks ?? 1,
  rows: (shard?.count ?? 1) / (shard?.images ?? 1),
  ...(shard?.images !== undefined && shard.images > 1 && { images: shard.images }),
  ...(shardOptimizer && { shardsOptimizer: shardOptimizer })
})
