import type { Body } from '../ir/tile-tensor'
import type { TileScope } from '../scope/scope'
import type { BoundSegment, Pass } from './bound-segment'

/** A tile in a pass over its segment: what all code shares that emits for it. */
export interface TilePass {
  readonly scope: TileScope
  readonly bound: BoundSegment
  readonly body: Body
  readonly pass: Pass
}
