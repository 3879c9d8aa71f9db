import { receivedRows, sentRows, isCrossed, type Crossing, type Receiver } from '../../graph/crossing-rows'
import type { Shard } from '../../graph/graph'
import type { SharedTensor } from '../../graph/shared-tensor'
import { equalParts } from '../../graph/equal-parts'
import type { WholeTensor } from '../ir/tile-tensor'
import type { ModelScope } from '../scope/scope'
import { rowsPart, startExchange, type Sent, type StartedExchange } from './exchange'
import { startGatheringRows } from './gather-rows'
import type { RowsOf, SegmentCode } from './segment-code'

const toSent =
  (whole: WholeTensor, other: Receiver) =>
  (crossing: Crossing): Sent => ({ rank: crossing[other], part: rowsPart(whole, crossing) })

/** Begins to send rows of a tensor from one of each pair of ranks to the other, or all to all. */
const startRows = (scope: ModelScope, whole: WholeTensor, shared: SharedTensor, { count, index }: Shard, to: Receiver): StartedExchange => {
  const parts = to === 'holder' && shared.isGathered ? equalParts(shared) : undefined
  if (parts !== undefined) return startGatheringRows(scope, whole, shared.partOf(index).owned, parts)
  const from = to === 'holder' ? 'owner' : 'holder'
  const sends = sentRows(shared, index, to).map(toSent(whole, to))
  const receives = receivedRows(shared, index, to).map(toSent(whole, from))
  return startExchange(scope, count, sends, receives, to === 'holder' ? 0 : 1)
}

/** Once rows are there, their holder takes them, or their owner adds them. */
const takeRows = ({ builder }: ModelScope, { done, take }: StartedExchange): void => {
  builder.wait('compute', done)
  take()
}

/** Rows of a tensor go from one of each pair of ranks to the other, which takes or adds them. */
export const sendRows = (scope: ModelScope, whole: WholeTensor, shared: SharedTensor, shard: Shard, to: Receiver): void => {
  if (isCrossed(shared)) takeRows(scope, startRows(scope, whole, shared, shard, to))
}

/** Begins to send rows of a tensor, while computing goes on until `receiveRows`. */
export const sendRowsBeside = (
  scope: ModelScope,
  { rowsOnTheWay }: Pick<SegmentCode, 'rowsOnTheWay'>,
  what: RowsOf,
  tensor: number,
  ...[whole, shared, shard]: readonly [WholeTensor, SharedTensor, Shard]
): void => {
  const to = what === 'outputs' ? 'holder' : 'owner'
  const started = startRows(scope, whole, shared, shard, to)
  rowsOnTheWay[what].set(tensor, () => {
    // What computes meanwhile must not take the places of what is sent.
    for (const { buffer } of started.sent) scope.builder.wait('compute', started.done, buffer)
    takeRows(scope, started)
  })
}

/** Waits for the rows of a tensor that are on the way, if any, and takes or adds them. */
export const receiveRows = ({ rowsOnTheWay }: Pick<SegmentCode, 'rowsOnTheWay'>, what: RowsOf, tensor: number): boolean => {
  const take = rowsOnTheWay[what].get(tensor)
  take?.()
  return rowsOnTheWay[what].delete(tensor)
}
