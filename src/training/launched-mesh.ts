import type { DecodedTrainOptions } from '../option-tables/train-options'
import type { Mesh } from '../plans/mesh'
import type { TrainingRequest } from './request'

/**
 * How so many ranks share the updates of a training: those of a group share rows, one after the
 * other, and groups share micro-batches. Their number is a fraction where the ranks make no such
 * groups.
 */
export const launchedMesh = (
  { shardRows, shardOptimizer }: Pick<DecodedTrainOptions, 'shardRows' | 'shardOptimizer'>,
  size: number
): Mesh => {
  const rows = shardRows === true ? size : shardRows === false ? 1 : shardRows
  return { microBatches: size / rows, rows, ...(shardOptimizer && { shardsOptimizer: true }) }
}

/** Whether ranks share the rows of images. */
export const sharesRows = ({ options, ranks }: Pick<TrainingRequest, 'options' | 'ranks'>): boolean =>
  ranks !== undefined && launchedMesh(options, ranks.size).rows > 1

/** Which micro-batches of an update a rank runs: from the one of its group on every so manyth. */
export const getMicroBatchShare = ({
  options,
  ranks
}: Pick<TrainingRequest, 'options' | 'ranks'>): { readonly first: number; readonly every: number } => {
  if (ranks === undefined) return { first: 0, every: 1 }
  const { microBatches, rows } = launchedMesh(options, ranks.size)
  return { first: Math.floor(ranks.rank / rows), every: microBatches }
}
