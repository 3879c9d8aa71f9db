import { ranksOfGroup } from '../../plans/mesh'
import { toldMesh } from '../../plans/told-mesh'
import type { TrainingRequest } from '../request'

/** Whether ranks share the images of micro-batches, or their rows. */
export const splitsMicroBatch = ({ options, ranks }: Pick<TrainingRequest, 'options' | 'ranks'>): boolean =>
  ranks !== undefined && ranksOfGroup(toldMesh(options, ranks.size)) > 1

/** Which micro-batches of an update a rank runs: from the one of its group on every so manyth. */
export const getMicroBatchShare = ({
  options,
  ranks
}: Pick<TrainingRequest, 'options' | 'ranks'>): { readonly first: number; readonly every: number } => {
  if (ranks === undefined) return { first: 0, every: 1 }
  const mesh = toldMesh(options, ranks.size)
  return { first: Math.floor(ranks.rank / ranksOfGroup(mesh)), every: mesh.microBatches }
}
