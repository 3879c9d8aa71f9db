import { receivedRows, sentRows, isCrossed, type Crossing, type Receiver } from '../../graph/crossing-rows'
import type { Shard } from '../../graph/graph'
import type { SharedTensor } from '../../graph/shared-tensor'
import type { WholeTensor } from '../ir/tile-tensor'
import { wholePart } from '../scope/regions'
import type { ModelScope } from '../scope/scope'
import { copyRows, startExchange, type Sent, type StartedExchange } from './exchange'
import type { RowsOf, SegmentCode } from './segment-code'

const toSent =
  (whole: WholeTensor, other: Receiver) =>
  ({ images, rows, ...ranks }: Crossing): Sent => {
    const size = [images.to - images.from, rows.to - rows.from, whole.extents[3]] as const
    return { rank: ranks[other], part: { tensor: whole, region: { from: [images.from, rows.from, 0], size, advance: [0, 0, 0] } } }
  }

/** Begins to send rows of a tensor from one of each pair of ranks to the other. */
const startRows = (scope: ModelScope, whole: WholeTensor, shared: SharedTensor, { count, index }: Shard, to: Receiver): StartedExchange => {
  const from = to === 'holder' ? 'owner' : 'holder'
  const sends = sentRows(shared, index, to).map(toSent(whole, to))
  const receives = receivedRows(shared, index, to).map(toSent(whole, from))
  return startExchange(scope, count, sends, receives)
}

/** Once rows are there, their holder takes them, or their owner adds them. */
const takeRows = (scope: ModelScope, { received, done }: StartedExchange, to: Receiver): void => {
  scope.builder.wait('compute', done)
  for (const { tile, part } of received) copyRows(scope, wholePart(tile), part, to === 'holder' ? 0 : 1)
}

/** Rows of a tensor go from one of each pair of ranks to the other, which takes or adds them. */
export const sendRows = (scope: ModelScope, whole: WholeTensor, shared: SharedTensor, shard: Shard, to: Receiver): void => {
  if (isCrossed(shared)) takeRows(scope, startRows(scope, whole, shared, shard, to), to)
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
    takeRows(scope, started, to)
  })
}

/** Waits for the rows of a tensor that are on the way, if any, and takes or adds them. */
export const receiveRows = ({ rowsOnTheWay }: Pick<SegmentCode, 'rowsOnTheWay'>, what: RowsOf, tensor: number): boolean => {
  const take = rowsOnTheWay[what].get(tensor)
  take?.()
  return rowsOnTheWay[what].delete(tensor)
}
