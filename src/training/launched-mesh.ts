import type { DecodedTrainOptions } from '../option-tables/train-options'
import { type Mesh, ranksOfGroup } from '../plans/mesh'
import type { TrainingRequest } from './request'

/**
 * How so many ranks share the updates of a training: those of a group share a micro-batch, one
 * after the other, and groups share micro-batches. A number is a fraction where the ranks make no
 * such groups.
 */
export const launchedMesh = (
  { shardRows, shardImages, shardOptimizer }: Pick<DecodedTrainOptions, 'shardRows' | 'shardImages' | 'shardOptimizer'>,
  size: number
): Mesh => {
  const told = (parts: number | boolean): number => (typeof parts === 'number' ? parts : 1)
  const images = shardImages === true ? size / told(shardRows) : told(shardImages)
  const rows = shardRows === true ? size / images : told(shardRows)
  return { microBatches: size / (rows * images), rows, ...(images !== 1 && { images }), ...(shardOptimizer && { shardsOptimizer: true }) }
}

/** Whether ranks share the images of micro-batches, or their rows. */
export const splitsMicroBatch = ({ options, ranks }: Pick<TrainingRequest, 'options' | 'ranks'>): boolean =>
  ranks !== undefined && ranksOfGroup(launchedMesh(options, ranks.size)) > 1

/** Which micro-batches of an update a rank runs: from the one of its group on every so manyth. */
export const getMicroBatchShare = ({
  options,
  ranks
}: Pick<TrainingRequest, 'options' | 'ranks'>): { readonly first: number; readonly every: number } => {
  if (ranks === undefined) return { first: 0, every: 1 }
  const mesh = launchedMesh(options, ranks.size)
  return { first: Math.floor(ranks.rank / ranksOfGroup(mesh)), every: mesh.microBatches }
}
