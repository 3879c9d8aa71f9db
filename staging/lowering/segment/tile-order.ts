import { isCrossed, sentRows } from '../../graph/crossing-rows'
import { findEdgeTiles, type RowsOfTensor } from '../../graph/edge-tiles'
import { findShard } from '../../graph/shard'
import type { SharedTensor } from '../../graph/shared-tensor'
import type { Body, WholeTensor } from '../ir/tile-tensor'
import { createBody } from '../scope/regions'
import type { ModelScope } from '../scope/scope'
import type { Pass } from '../tile/bound-segment'
import type { Reductions } from './reductions'
import { sendRowsBeside } from './send-rows'
import type { RowsOf, SegmentCode } from './segment-code'

/** The order in which a pass over a segment runs its tiles. */
export interface TileOrder {
  readonly bodies: readonly Body[]
  /** How many bodies come before what is sent. */
  readonly edges: number
  /** Begins to send what those have made for other ranks. */
  readonly send: () => void
}

interface Leaving {
  readonly tensor: number
  readonly whole: WholeTensor
  readonly shared: SharedTensor
}

const inOrder = ({ bodies }: SegmentCode): TileOrder => ({ bodies, edges: 0, send: () => undefined })

/** Edge tiles, then what is sent of them, then all others. */
const edgesFirst = (scope: ModelScope, code: SegmentCode, what: RowsOf, leaving: readonly Leaving[]): TileOrder => {
  const { graph } = scope
  const shard = findShard(graph, code.segment)!
  const wanted = leaving.flatMap(({ tensor, shared }) =>
    sentRows(shared, shard.index, what === 'outputs' ? 'holder' : 'owner').map(({ rows }): RowsOfTensor => ({
      tensor,
      of: what === 'outputs' ? 'owned' : 'held',
      rows
    }))
  )
  const parts = code.bodies.map(({ runs: [batch, rows, columns] }) => {
    const { edges, inner } = findEdgeTiles(graph, code.segment.from, [rows], wanted)
    return [edges, inner].map((runs) => runs.map((run) => createBody([batch, run, columns])))
  })
  const [edges, inner] = [0, 1].map((kind) => parts.flatMap((kinds) => kinds[kind]!)) as [Body[], Body[]]
  return {
    bodies: [...edges, ...inner],
    edges: edges.length,
    send: () => leaving.forEach(({ tensor, whole, shared }) => sendRowsBeside(scope, code, what, tensor, whole, shared, shard))
  }
}

/** Whether the tiles of a segment may run in another order, while rows travel. */
const mayReorder = ({ graph }: ModelScope, { segment, edgeTilesFirst }: SegmentCode): boolean =>
  edgeTilesFirst && segment.grid.H > 1 && findShard(graph, segment) !== undefined

/**
 * The order forward: where rows of outputs are for other ranks, the tiles that make them come
 * first, and the rows travel while the others are computed.
 */
export const orderForward = (scope: ModelScope, code: SegmentCode, pass: Pass): TileOrder => {
  const leaving = code.ends.outputs.filter(pass.writes).flatMap((tensor): readonly Leaving[] => {
    const { tensor: whole, shared } = code.boundaries.get(tensor) ?? {}
    return whole === undefined || shared === undefined || shared.isSummed || !isCrossed(shared) ? [] : [{ tensor, whole, shared }]
  })
  return mayReorder(scope, code) && leaving.length > 0 ? edgesFirst(scope, code, 'outputs', leaving) : inOrder(code)
}

/**
 * The order backward: where rows of the gradient of an input are for other ranks, and nothing is
 * added to it after this segment, the tiles that find them come first.
 */
export const orderBackward = (scope: ModelScope, code: SegmentCode, { pending }: Reductions): TileOrder => {
  const { segment, ends, boundaries } = code
  const isLastToAdd = (tensor: number): boolean =>
    scope.graph.readers[tensor]!.every((reader) => reader >= segment.from) && pending.every((one) => one.tensor !== tensor)
  const leaving = ends.inputs.filter(isLastToAdd).flatMap((tensor): readonly Leaving[] => {
    const { gradient: whole, shared } = boundaries.get(tensor) ?? {}
    return whole === undefined || shared === undefined || shared.isSummed || !isCrossed(shared) ? [] : [{ tensor, whole, shared }]
  })
  return mayReorder(scope, code) && leaving.length > 0 ? edgesFirst(scope, code, 'gradients', leaving) : inOrder(code)
}
